import { describe, expect, test } from 'vitest';
import type { CollectionName } from '../../src/streams/catalogue.ts';
import type { RunSummary } from '../../src/sync/summary.ts';
import { execute, putAsset, putColumn, putColumnEdges, putTest, removeAsset } from '../model/environment.ts';
import { createTestMirror, streamSummary, type TestMirror } from '../model/test-mirror.ts';
import { createWorld, DAY, HOUR, type World } from '../model/world.ts';
import { FEED_ENTRIES, PLAIN_FEEDS } from '../support/catalogue.ts';
import { expectMirrored, failAt, newScene, onRequest, removeHooks, type Scene, syncedScene } from '../support/scene.ts';

/** Runs with this request limit until one is not stopped. */
async function inSlices({ mirrored, world }: Scene, maxRequests: number, options = {}) {
  const asked: string[] = [];
  for (let run = 1; ; run++) {
    const summary = await mirrored.sync({ maxRequests, pageSize: 2, ...options });
    expect(summary.requests).toBeLessThanOrEqual(maxRequests);
    asked.push(...mirrored.requests().map(({ path, query, cursor }) => JSON.stringify([path, query, cursor])));
    if (summary.status !== 'stopped') return { summary, asked, runs: run };
    world.advance(HOUR);
  }
}

test.each([2, 3, 7])(
  'with --max-requests %i, runs continue one cycle, which reads no page twice and ends done (R6)',
  async (max) => {
    const scene = newScene();
    const { summary, asked, runs } = await inSlices(scene, max);
    expect(summary).toMatchObject({ status: 'done', cycle: 1, run: runs });
    const counted = asked.filter((line) => !line.includes('asset-health-scores'));
    expect(new Set(counted).size).toBe(counted.length);
    expect(asked.filter((line) => line.includes('_since'))).toEqual([]);
    expectMirrored(scene);
  },
);

test('with --max-requests, the run after the end of a cycle begins a new one', async () => {
  const scene = await syncedScene();
  const { summary } = await inSlices(scene, 4);
  putColumn(scene.env, 'a1.c9', 'a1');
  const next = await scene.mirrored.sync();
  expect(next.cycle).toBe(next.run);
  expect(next.run).toBe((summary.run ?? 0) + 1);
  expectMirrored(scene);
});

test('with --max-requests, streams finished in the cycle are not read again, and no round is repeated (R6)', async () => {
  const scene = await syncedScene();
  scene.world.advance(DAY);
  const { asked, runs } = await inSlices(scene, 5);
  expect(runs).toBeGreaterThan(1);
  for (const stream of FEED_ENTRIES.map(({ path }) => path.join('/')))
    expect(
      asked.filter((line) => line.startsWith(`["e1/${stream}",{"synced_since"`) && line.endsWith(',null]')),
    ).toHaveLength(1);
});

test('with --max-requests, a cycle with --full scans every stream once', async () => {
  const scene = await syncedScene();
  const { summary, asked } = await inSlices(scene, 6, { full: true });
  expect(summary.status).toBe('done');
  for (const stream of ['assets', 'columns', 'column-lineage'])
    expect(asked.filter((line) => line.includes(`"e1/${stream}",{"limit":2},null`))).toHaveLength(1);
  expectMirrored(scene);
});

test('with --max-requests, a round begun in an earlier cycle is followed by another one in the new cycle', async () => {
  const scene = newScene();
  scene.world.beforeRequest = ({ path, cursor }) => {
    if (path === 'e1/columns' && cursor !== null) throw new Error('crash');
  };
  await expect(scene.mirrored.sync({ pageSize: 2, concurrency: 1 })).rejects.toThrow('crash');
  scene.world.beforeRequest = () => {};
  scene.world.advance(DAY);
  putColumn(scene.env, 'a1.c1', 'a1', { data_type: 'changed since' });
  const { summary } = await inSlices(scene, 5);
  expect(summary).toMatchObject({ status: 'done', cycle: 2 });
  expectMirrored(scene);
});

/** A run whose parent stream fails at once while others finish, then a run that ends the cycle. */
async function inTwo(scene: Scene, leader: string, maxRequests: number): Promise<[RunSummary, RunSummary]> {
  failAt(scene, leader);
  const first = await scene.mirrored.sync({ maxRequests, concurrency: 1 });
  expect(first.status).toBe('stopped');
  expect(streamSummary(first, leader as CollectionName).status).toBe('failed');
  removeHooks(scene);
  const second = await scene.mirrored.sync();
  expect(second).toMatchObject({ status: 'done', cycle: first.cycle });
  return [first, second];
}

/**
 * The cycle leaves no work and the mirror is accurate. Rows in `left` are read again after the overlap (R18, R22).
 */
async function expectPaid(scene: Scene, left: readonly object[] = []): Promise<void> {
  const marks = (): unknown => scene.mirrored.rows('select stream, id from marks');
  expect(scene.mirrored.rows('select stream, id from marks where left_by_run is null')).toEqual([]);
  expect(marks()).toEqual(left);
  expectMirrored(scene);
  scene.world.advance(2 * HOUR);
  expect((await scene.mirrored.sync()).status).toBe('done');
  expect(marks()).toEqual([]);
}

test('typed assets that finished before assets were marked are read once more in the same cycle (R9, R22)', async () => {
  const scene = await syncedScene();
  putAsset(scene.env, 'a9', { db_name: 'new' });
  const [first, second] = await inTwo(scene, 'assets', 6);
  expect(streamSummary(first, 'table_assets').status).toBe('done');
  expect(streamSummary(second, 'table_assets')).toMatchObject({ mode: 'marked', requests: 1 });
  await expectPaid(scene, [{ stream: 'table_assets', id: 'a9' }]);
});

test('columns and tests that finished before their asset was deleted are looked up in the same cycle (R9, R13)', async () => {
  const scene = await syncedScene();
  removeAsset(scene.env, 'a2', 'lost');
  const [first] = await inTwo(scene, 'assets', 6);
  for (const name of ['columns', 'tests'] as const) {
    expect(streamSummary(first, name).status).toBe('done');
    expect(scene.mirrored.requests(name).map(({ query }) => query['asset_ids'])).toContainEqual(['a2']);
  }
  await expectPaid(scene);
});

test('tests that were being read when their asset was deleted are looked up in the same cycle (R9, R13)', async () => {
  const scene = await syncedScene();
  removeAsset(scene.env, 'a2', 'lost');
  const [first] = await inTwo(scene, 'assets', 5);
  expect(streamSummary(first, 'tests').status).toBe('stopped');
  expect(scene.mirrored.requests('tests').map(({ query }) => query['asset_ids'])).toContainEqual(['a2']);
  await expectPaid(scene);
});

test('column lineage that finished before columns were marked is read once more in the same cycle (R9, R18)', async () => {
  const scene = await syncedScene();
  putColumnEdges(scene.env, 'a2.c1', ['a1.c3']);
  // Two per feed that is read before the column lineage.
  const [first, second] = await inTwo(scene, 'columns', 8 + 2 * PLAIN_FEEDS.length);
  expect(streamSummary(first, 'column_lineage').status).toBe('done');
  expect(streamSummary(second, 'column_lineage')).toMatchObject({ mode: 'marked', requests: 1 });
  await expectPaid(scene, [{ stream: 'column_lineage', id: 'a2.c1' }]);
});

test('a signal stops a run after the current page, which the next run doesn’t request again (R27)', async () => {
  const scene = newScene();
  const stop = new AbortController();
  onRequest(scene, 'columns', 2, () => stop.abort());
  const wish = { pageSize: 2, concurrency: 1 };
  expect((await scene.mirrored.sync({ ...wish, signal: stop.signal })).status).toBe('interrupted');
  const stoppedAt = scene.mirrored.requests('columns').at(-1)?.cursor;
  removeHooks(scene);
  expect((await scene.mirrored.sync(wish)).status).toBe('done');
  const cursors = scene.mirrored.requests('columns').map(({ cursor }) => cursor);
  expect(cursors[0]).not.toBeNull();
  expect(cursors).not.toContain(stoppedAt);
  expectMirrored(scene);
});

describe('environments that a run is too short for (R6)', () => {
  const IDS = ['e1', 'e2', 'e3', 'e4'];

  /** A mirror of four environments, each of which has got a first test result since it was synced. */
  async function syncedMirror(): Promise<{ world: World; mirrored: TestMirror; read: () => unknown[] }> {
    const world = createWorld(IDS);
    const mirrored = createTestMirror(world);
    await mirrored.sync();
    for (const env of world.environments.values()) {
      putTest(env, 't1', null);
      execute(env, 't1', 't1-r1');
    }
    const read = () =>
      mirrored.rows('select env_id from latest_test_executions order by 1').map((row) => row['env_id']);
    return { world, mirrored, read };
  }

  test.each([18, 20, 22])('runs of %i requests that are a day apart read all of them in turn', async (maxRequests) => {
    const { world, mirrored, read } = await syncedMirror();
    for (let run = 0; run < 12; run++) {
      world.advance(DAY + HOUR);
      await mirrored.sync({ maxRequests, concurrency: 1, fullEveryDays: 300 });
    }
    expect(read()).toEqual(IDS);
    mirrored.close();
  });

  test('runs of another environment in between keep none of them from being read', async () => {
    const { world, mirrored, read } = await syncedMirror();
    for (let run = 0; run < 12; run++) {
      world.advance(HOUR / 2);
      await mirrored.sync({ maxRequests: 18, concurrency: 1 });
      world.advance(HOUR / 2);
      await mirrored.sync({ environments: ['e1'] });
    }
    expect(read()).toEqual(IDS);
    mirrored.close();
  });

  test('a run that continues a cycle begins with the environment in which the last one stopped', async () => {
    const { world, mirrored } = await syncedMirror();
    world.advance(HOUR);
    const wish = { full: true, pageSize: 1, concurrency: 1 };
    const stopped = await mirrored.sync({ ...wish, maxRequests: 6 });
    const last = stopped.streams.at(-1)?.env_id;
    await mirrored.sync({ ...wish, maxRequests: 6 });
    expect(mirrored.requests()[0]?.path).toMatch(new RegExp(`^${last}/`));
    mirrored.close();
  });
});
