import { expect } from 'vitest';
import { openStore } from '../../src/api/open-store.ts';
import { copyMirror } from '../../src/destination/copy-mirror.ts';
import { furnish } from '../model/furnish.ts';
import { createWorld, HOUR, type LoggedRequest, type World } from '../model/world.ts';
import { contentsOf } from './outcome.ts';
import { freshPath } from './scenes.ts';
import { syncFile } from './sync-file.ts';

/** A world in which no time passes. */
export function standing(envIds: readonly string[]): World {
  const world = createWorld(envIds);
  for (const place of world.environments.values()) furnish(place);
  world.advance(2 * HOUR);
  world.latencyMs = 0;
  return world;
}

/** The result of an undisturbed sync in a file, and the requests of that sync and the next. */
export async function quiet(world: World) {
  const path = freshPath();
  const logs: LoggedRequest[][] = [];
  for (let run = 0; run < 2; run += 1) {
    const from = world.log.length;
    const { summary } = await syncFile(path, world, { pageSize: 2 });
    expect(summary).toMatchObject({ status: 'done' });
    logs.push(world.log.slice(from));
  }
  const [first = [], second = []] = logs;
  return { contents: rowsOf(path), first, second };
}

/** Expects a mirror in PostgreSQL to equal the result of the undisturbed sync. */
export async function expectMirrored(db: string, contents: unknown): Promise<void> {
  const path = freshPath();
  const watch = { signal: new AbortController().signal, onProgress: () => {} };
  await copyMirror(await openStore(db), await openStore(path), watch);
  expect(rowsOf(path)).toEqual(contents);
}

/** Without the SQL of the indexes, because a copy creates them again. */
export function rowsOf(path: string): unknown {
  const { schema: _, ...rows } = contentsOf(path);
  return rows;
}
