import { expect, test } from 'vitest';
import { execute, putColumn, remove } from '../model/environment.ts';
import { streamSummary } from '../model/test-mirror.ts';
import { DAY } from '../model/world.ts';
import { expectMirrored, failAt, newScene, removeHooks, type Scene, syncedScene } from '../support/scene.ts';

/** How the columns were read in the last run: cursor, kind of read, limit. */
const reads = ({ mirrored }: Scene): unknown[] =>
  mirrored
    .requests('columns')
    .map(({ query, cursor }) => [cursor === null ? 'first' : 'next', Object.keys(query)[0], query['limit']]);

/** A run with pages of 4 whose read of columns is permanently refused at its second page. */
async function refuseColumns(scene: Scene, options = {}): Promise<void> {
  failAt(scene, 'columns', 2, 'restart-round');
  const summary = await scene.mirrored.sync({ pageSize: 4, ...options });
  expect(summary.status).toBe('problems');
  expect(streamSummary(summary, 'columns').status).toBe('failed');
  removeHooks(scene);
}

test('a permanent failure drops the round, and the next run begins a new one with its own page size (R6, R24)', async () => {
  const scene = await syncedScene();
  scene.world.advance(DAY);
  await scene.mirrored.sync();
  scene.world.advance(DAY);
  for (let n = 10; n < 20; n++) putColumn(scene.env, `a1.c${n}`, 'a1');
  await refuseColumns(scene);
  expect(scene.mirrored.checkpoint('columns').round).toBeNull();
  expect((await scene.mirrored.sync({ pageSize: 7 })).status).toBe('done');
  expect(reads(scene)).toEqual([
    ['first', 'synced_since', 7],
    ['next', 'synced_since', 7],
    ['first', 'deleted_since', 7],
  ]);
  expectMirrored(scene);
});

test('a first scan that failed permanently starts over with the page size of the next run (R24)', async () => {
  const scene = newScene();
  await refuseColumns(scene);
  expect((await scene.mirrored.sync({ pageSize: 5 })).status).toBe('done');
  expect(reads(scene)).toEqual([
    ['first', 'limit', 5],
    ['next', 'limit', 5],
  ]);
  expectMirrored(scene);
});

test.each(['permission', 'returned'] as const)(
  'a scan that failed permanently stays due (%s), and what it saw no longer counts (R24)',
  async (reason) => {
    const scene = await syncedScene();
    const { mirrored, env, world } = scene;
    if (reason === 'permission') env.denied.add('columns');
    else env.listed = false;
    await mirrored.sync();
    env.denied.clear();
    env.listed = true;
    await refuseColumns(scene);
    remove(env, 'columns', 'a1.c1', 'lost');
    world.advance(DAY);
    expect(streamSummary(await mirrored.sync({ pageSize: 5 }), 'columns')).toMatchObject({ reason, status: 'done' });
    expect(reads(scene).slice(0, 3)).toEqual([
      ['first', 'limit', 5],
      ['next', 'limit', 5],
      ['first', 'deleted_since', 5],
    ]);
    expectMirrored(scene);
    expect(streamSummary(await mirrored.sync(), 'columns').mode).toBe('feed');
  },
);

test('a snapshot that failed permanently leaves no staged rows (R24)', async () => {
  const scene = await syncedScene();
  execute(scene.env, 't1', 't1-r2');
  failAt(scene, 'latest-test-executions', 3, 'restart-round');
  await scene.mirrored.sync({ pageSize: 1 });
  remove(scene.env, 'tests', 't1');
  removeHooks(scene);
  expect((await scene.mirrored.sync({ pageSize: 3 })).status).toBe('done');
  const read = scene.mirrored.requests('latest-test-executions').filter(({ query }) => !('sub_test_ids' in query));
  expect(read.map(({ query }) => query['limit'])).toEqual([3, 3]);
  expectMirrored(scene);
});
