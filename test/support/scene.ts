import { expect, onTestFinished } from 'vitest';
import { SyncError } from '../../src/core/errors.ts';
import type { Page } from '../../src/core/ports/source.ts';
import type { FeedName } from '../../src/streams/catalogue.ts';
import { createEnvironment, type EnvironmentModel, type Item } from '../model/environment.ts';
import { comparableRows } from '../model/expected-rows.ts';
import { furnish } from '../model/furnish.ts';
import { createTestMirror, type TestMirror } from '../model/test-mirror.ts';
import { createWorld, type LoggedRequest, type World } from '../model/world.ts';

/** A world with one filled environment, and a mirror that was not synced yet. */
export interface Scene {
  readonly world: World;
  readonly env: EnvironmentModel;
  readonly mirrored: TestMirror;
}

/** Opens a scene. The end of the test closes it, and fails if the world saw a violation. */
export function newScene(fill = furnish): Scene {
  const world = createWorld();
  const env = world.environment();
  fill(env);
  const mirrored = createTestMirror(world);
  onTestFinished(() => {
    try {
      expect(world.violations).toEqual([]);
    } finally {
      mirrored.close();
    }
  });
  return { world, env, mirrored };
}

/** Opens a scene two hours after a first sync. */
export async function syncedScene(fill = furnish): Promise<Scene> {
  const scene = newScene(fill);
  expect((await scene.mirrored.sync()).status).toBe('done');
  scene.world.advance(2 * 3600);
  return scene;
}

/** Fills a second environment like the first. */
export function addSecondEnvironment({ world, env }: Scene): EnvironmentModel {
  const other = createEnvironment('e2', env.stamp);
  world.environments.set('e2', other);
  furnish(other);
  return other;
}

/** Expects the mirror to equal what the token can see, row by row. */
export function expectMirrored({ mirrored, env }: Scene): void {
  const { mirror, world } = comparableRows(mirrored, env);
  expect(mirror).toEqual(world);
}

/** The ids of a table's live rows. */
export function liveIds({ mirrored }: Scene, table: FeedName): unknown[] {
  return mirrored.rows(`select id from ${table} where deleted_at is null order by id`).map((row) => row['id']);
}

export function rowOf({ mirrored }: Scene, table: string, id: string): Record<string, unknown> | undefined {
  return mirrored.rows(`select * from ${table} where id = ?`, id)[0];
}

/** T of a run that starts now. */
export function timeOfRun({ world }: Scene): string {
  const ms = Math.floor((world.nowMs + world.latencyMs) / 1000) * 1000;
  return new Date(ms).toISOString().replace('.000Z', '.000000Z');
}

/** Makes the `nth` request of a collection fail once with this recovery. */
export function failAt({ world }: Scene, path: string, nth = 1, recovery: SyncError['recovery'] = 'stream'): void {
  let count = 0;
  world.beforeRequest = (asked) => {
    if (!asked.path.endsWith(`/${path}`) || ++count !== nth) return;
    throw new SyncError(recovery, `${path} fails at its request ${nth}`);
  };
}

/** Calls `change` at the `nth` request of a collection, before it is answered. */
export function onRequest({ world }: Scene, path: string, nth: number, change: () => void): void {
  let met = 0;
  world.beforeRequest = (asked) => {
    if (asked.path.endsWith(`/${path}`) && ++met === nth) change();
  };
}

export function removeHooks({ world }: Scene): void {
  world.beforeRequest = () => {};
  world.transformPage = (page) => page;
}

/** Changes the items that a collection returns to scans, or to one of its feeds. */
export function transformItems(
  { world }: Scene,
  path: string,
  as: 'scan' | 'synced_since' | 'deleted_since',
  items: (sent: readonly Item[]) => Item[],
): void {
  world.transformPage = (page: Page, asked: LoggedRequest): Page => {
    const way = ['synced_since', 'deleted_since', 'ids', 'asset_ids'].find((name) => name in asked.query) ?? 'scan';
    if (!asked.path.endsWith(`/${path}`) || way !== as) return page;
    return { ...page, items: items(page.items as Item[]) };
  };
}
