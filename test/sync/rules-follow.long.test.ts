import fc from 'fast-check';
import { expect, test } from 'vitest';
import { SyncError } from '../../src/core/errors.ts';
import { PLAIN_SYNC } from '../model/commands.ts';
import { putColumn } from '../model/environment.ts';
import { histories } from '../model/histories.ts';
import { simulate } from '../model/simulation.ts';
import type { TestMirror } from '../model/test-mirror.ts';
import { FEED_TABLES } from '../support/catalogue.ts';
import { failAt, type Scene, syncedScene } from '../support/scene.ts';

const timeOf = (mirrored: TestMirror): string =>
  String(mirrored.rows('select max(mirrored_at) mirrored_at from mirror_environments')[0]?.['mirrored_at'] ?? '');
const edgesOf = (mirrored: TestMirror, envId: unknown, id: unknown): string =>
  JSON.stringify(
    mirrored.rows(
      'select upstream_column_id from column_lineage where env_id = ? and downstream_column_id = ? order by 1',
      envId,
      id,
    ),
  );

/** The rows of the feeds changed after a time, columns with their edges, by table and key. */
function changedAfter(mirrored: TestMirror, time: string): Map<string, string> {
  const changed = new Map<string, string>();
  for (const table of FEED_TABLES)
    for (const row of mirrored.rows(`select * from ${table} where mirrored_at > ?`, time)) {
      const edges = table === 'columns' ? edgesOf(mirrored, row['env_id'], row['id']) : '';
      changed.set(`${table} ${row['env_id']} ${row['id']}`, JSON.stringify(row) + edges);
    }
  return changed;
}

/** A reader that copies only what changed since its last read. */
function follow(mirrored: TestMirror): { catchUp(): void; copy: ReadonlyMap<string, string> } {
  const copy = new Map<string, string>();
  let asked = '';
  return {
    copy,
    catchUp() {
      for (const [key, row] of changedAfter(mirrored, asked)) copy.set(key, row);
      asked = timeOf(mirrored);
    },
  };
}

const sorted = (rows: ReadonlyMap<string, string>): unknown[] => [...rows].sort();

test('a reader that follows the mirror’s clock misses no row, deletion or edge (R21)', async () => {
  await fc.assert(
    fc.asyncProperty(histories('all', 16), async (steps) => {
      const { world, mirrored, perform } = simulate(['e1', 'e2']);
      const { catchUp, copy } = follow(mirrored);
      world.transformPage = (page) => {
        catchUp();
        return page;
      };
      try {
        for (const step of [PLAIN_SYNC, ...steps, PLAIN_SYNC]) {
          await perform(step);
          catchUp();
          expect(sorted(copy)).toEqual(sorted(changedAfter(mirrored, '')));
        }
      } finally {
        mirrored.close();
      }
    }),
    { seed: 20261120, numRuns: 20 },
  );
});

/** Ways to end a run after it has committed a page. */
const ENDS: Readonly<Record<string, (scene: Scene, stop: AbortController) => { maxRequests?: number }>> = {
  done: () => ({}),
  problems: (scene) => fail(scene, 'stream'),
  stopped: () => ({ maxRequests: 4 }),
  interrupted: ({ world }, stop) => {
    world.transformPage = (page, { number }) => {
      if (number === 3) stop.abort();
      return page;
    };
    return {};
  },
  refused: (scene) => fail(scene, 'token'),
};

function fail(scene: Scene, recovery: SyncError['recovery']): object {
  failAt(scene, 'columns', 1, recovery);
  return {};
}

test.each(Object.entries(ENDS))('the end of a run moves the mirror’s clock: %s (R21)', async (status, bring) => {
  const scene = await syncedScene();
  const { mirrored, env } = scene;
  // A machine clock behind the mirror's time has no effect.
  mirrored.clockSkewMs = -24 * 3600 * 1000;
  putColumn(env, 'a1.new', 'a1');
  const stop = new AbortController();
  const committed: string[] = [];
  mirrored.afterCommit = () => void committed.push(timeOf(mirrored));
  const wish = bring(scene, stop);
  const summary = await mirrored.sync({ ...wish, concurrency: 1, signal: stop.signal });
  expect(summary.status).toBe(status);
  expect(committed.length).toBeGreaterThan(0);
  expect(timeOf(mirrored) > String(committed.at(-1))).toBe(true);
});

test('a run refused before anything is read moves the mirror’s clock too (R21)', async () => {
  const scene = await syncedScene();
  const before = timeOf(scene.mirrored);
  scene.world.beforeRequest = ({ path }) => {
    if (path === 'environments') throw new SyncError('token', 'the token is refused');
  };
  expect((await scene.mirrored.sync()).status).toBe('refused');
  expect(timeOf(scene.mirrored) > before).toBe(true);
});
