import { expect, test } from 'vitest';
import { execute, putAssetEdge, putColumn, remove, removeAsset } from '../model/environment.ts';
import { streamSummary } from '../model/test-mirror.ts';
import { DAY, HOUR } from '../model/world.ts';
import { FEED_STREAMS } from '../support/catalogue.ts';
import { pageOf } from '../support/commit-parts.ts';
import {
  expectMirrored,
  failAt,
  liveIds,
  newScene,
  removeHooks,
  rowOf,
  type Scene,
  syncedScene,
} from '../support/scene.ts';

const daysBefore = (time: string | null, days: number): string =>
  new Date(Date.parse(String(time)) - days * DAY * 1000).toISOString().replace('.000Z', '.000000Z');
const bounds = ({ mirrored }: Scene): string[] =>
  mirrored
    .requests()
    .flatMap(({ query }) => [query['synced_since'], query['deleted_since']].flatMap((bound) => bound ?? []))
    .map(String);

test.each([
  ['that is an hour and a minute later than T is not trusted: the whole window is read again', 61, 90],
  ['that is half an hour later than T is trusted: the next read starts from it', 30, 7],
])('the last read of a history %s (R1, R22)', async (_, minutes, days) => {
  const scene = newScene();
  // Within one second, every history begins at the same time, 90 days ago (R3).
  scene.world.latencyMs = 1;
  const ahead = 30 * DAY + minutes * 60;
  scene.world.advance(ahead);
  const first = await scene.mirrored.sync({ history: true });
  scene.world.nowMs -= minutes * 60_000;
  execute(scene.env, 't2', 't2-r2');
  const { server_time } = await scene.mirrored.sync({ history: true });
  const from = days === 90 ? daysBefore(server_time, 90) : daysBefore(first.server_time, 7);
  const asked = scene.mirrored.requests('executions');
  expect(asked.map(({ path, query }) => [path, query['start_time_from']])).toEqual([['e1/tests/t2/executions', from]]);
  expect(rowOf(scene, 'test_executions', 't2-r2')).toBeDefined();
  const read = scene.mirrored.rows("select read_at from test_readings where test_id = 't2'");
  expect(read).toEqual([{ read_at: server_time }]);
  expect(scene.mirrored.rows('select * from test_execution_gaps')).toEqual([]);
});

test('after the service’s clock ran ahead, a scan without a bound finds the changes that were missed (R1)', async () => {
  const scene = await syncedScene();
  await scene.mirrored.sync();
  scene.world.nowMs -= 5400 * 1000;
  remove(scene.env, 'columns', 'a1.c1');
  remove(scene.env, 'tests', 't3', 'lost');
  const summary = await scene.mirrored.sync();
  for (const stream of FEED_STREAMS)
    expect(streamSummary(summary, stream)).toMatchObject({ mode: 'scan', reason: 'clock', status: 'done' });
  expect(bounds(scene)).toEqual([]);
  expect(rowOf(scene, 'columns', 'a1.c1')).toMatchObject({ deletion: 'absent', deleted_at: summary.server_time });
  expectMirrored(scene);
  const next = await scene.mirrored.sync();
  expect(streamSummary(next, 'columns').mode).toBe('feed');
  expect(bounds(scene).every((bound) => bound < String(next.server_time))).toBe(true);
});

test('with a small overlap, a service’s clock set back by less than an hour causes scans, and nothing is lost (R1)', async () => {
  const scene = await syncedScene();
  const { mirrored, env, world } = scene;
  await mirrored.sync({ overlapSeconds: 60 });
  world.nowMs -= 40 * 60_000;
  putColumn(env, 'a1.c1', 'a1', { data_type: 'changed' });
  world.advance(300);
  const summary = await mirrored.sync({ overlapSeconds: 60 });
  for (const stream of FEED_STREAMS)
    expect(streamSummary(summary, stream)).toMatchObject({ mode: 'scan', reason: 'clock' });
  expectMirrored(scene);
  expect(streamSummary(await mirrored.sync({ overlapSeconds: 60 }), 'columns').mode).toBe('feed');
});

test('without any Date each run scans, deletes unlisted rows and moves no watermark (R1)', async () => {
  const scene = newScene();
  const { mirrored, env, world } = scene;
  world.dates = 'never';
  for (const reason of ['first', 'clock', 'clock']) {
    const summary = await mirrored.sync();
    expect(summary).toMatchObject({ status: 'done', server_time: null });
    for (const stream of FEED_STREAMS) expect(streamSummary(summary, stream)).toMatchObject({ mode: 'scan', reason });
    expect(bounds(scene)).toEqual([]);
    expectMirrored(scene);
    world.advance(DAY);
    const lost = reason === 'first' ? 'a1.c1' : 'a2.c2';
    remove(env, 'columns', lost, reason === 'first' ? 'lost' : 'tombstone');
    putColumn(env, `a3.${reason}`, 'a3');
    putAssetEdge(env, 'a1', 'a3');
  }
  for (const name of [...FEED_STREAMS, 'asset_lineage', 'column_lineage'] as const)
    expect(mirrored.checkpoint(name)).toMatchObject({ watermark: null, scannedAt: null });
  expect(rowOf(scene, 'columns', 'a1.c1')).toMatchObject({ deletion: 'absent', deleted_at: expect.any(String) });
  expect(rowOf(scene, 'columns', 'a2.c2')).toMatchObject({ deletion: 'absent', deleted_at: expect.any(String) });
});

test('a run without a Date continues the round of a run with one, and deletes what is missing from it (R1)', async () => {
  const scene = await syncedScene();
  const { mirrored, env, world } = scene;
  await mirrored.sync();
  world.advance(2 * HOUR);
  removeAsset(env, 'a2', 'lost');
  // The columns of the deleted asset are looked up after both feeds.
  failAt(scene, 'columns', 3, 'run');
  await mirrored.sync({ concurrency: 1 });
  removeHooks(scene);
  const { watermark } = mirrored.checkpoint('columns');
  world.dates = 'never';
  const live: unknown[] = [];
  mirrored.afterCommit = ({ stream, commit }) => {
    if (stream === 'columns' && pageOf(commit).sweptRows) live.push(liveIds(scene, 'columns').includes('a2.c1'));
  };
  expect((await mirrored.sync()).status).toBe('done');
  expect(live).toEqual([false]);
  expect(rowOf(scene, 'columns', 'a2.c1')).toMatchObject({ deletion: 'absent', deleted_at: expect.any(String) });
  expect(String(mirrored.checkpoint('columns').watermark) >= String(watermark)).toBe(true);
  expectMirrored(scene);
});
