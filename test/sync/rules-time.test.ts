import { expect, test } from 'vitest';
import { execute, putAsset, putColumn, remove } from '../model/environment.ts';
import { streamSummary } from '../model/test-mirror.ts';
import { DAY, HOUR } from '../model/world.ts';
import { FEED_STREAMS } from '../support/catalogue.ts';
import { roundEndOf } from '../support/commit-parts.ts';
import { expectMirrored, failAt, newScene, removeHooks, rowOf, syncedScene, timeOfRun } from '../support/scene.ts';

/** Ids so long that a request has room for two. */
const LONG = [0, 1, 2, 3].map((n) => `${n}${'ö'.repeat(498)}`);

test('T is the Date of the run’s first response, whatever the local clock says (R1)', async () => {
  const scene = newScene();
  scene.mirrored.clockSkewMs = -10 * DAY * 1000;
  const time = timeOfRun(scene);
  const { server_time } = await scene.mirrored.sync();
  expect(server_time).toBe(time);
  for (const stream of FEED_STREAMS) expect(scene.mirrored.checkpoint(stream).watermark).toBe(time);
});

test('if the first response has no Date, T is that of the first response with one (R1)', async () => {
  const scene = newScene();
  scene.world.dates = 'later';
  scene.world.advance(1);
  const { server_time } = await scene.mirrored.sync();
  expect(server_time).not.toBeNull();
  expect(scene.mirrored.checkpoint('assets').watermark).toBe(server_time);
});

test('T is the earliest reading as of the start of the run, and the summary has the spread of all readings (R1)', async () => {
  const scene = newScene();
  const { mirrored, world } = scene;
  world.dateErrorMs = ({ path }) => (path === 'e1/tests' ? -2 * HOUR * 1000 : 0);
  const time = timeOfRun(scene);
  const { server_time, clock_spread_seconds } = await mirrored.sync({ concurrency: 1 });
  const seconds = (Date.parse(time) - Date.parse(String(server_time))) / 1000;
  expect(Math.abs(seconds - 2 * HOUR)).toBeLessThanOrEqual(1);
  expect(Math.abs(Number(clock_spread_seconds) - 2 * HOUR)).toBeLessThanOrEqual(2);
  for (const stream of ['tests', 'column_lineage'] as const)
    expect(mirrored.checkpoint(stream).watermark).toBe(server_time);
});

test('what is due depends on the latest reading, so one Date in the past delays no scan (R1, R13)', async () => {
  const { mirrored, world } = await syncedScene();
  world.advance(7 * DAY);
  world.dateErrorMs = ({ path }) => (path === 'environments' ? -DAY * 1000 : 0);
  const summary = await mirrored.sync({ concurrency: 1 });
  expect(streamSummary(summary, 'columns')).toMatchObject({ mode: 'scan', reason: 'full-every' });
});

test('one response with a Date in the past doesn’t move a watermark backwards (R1)', async () => {
  const { mirrored, world } = await syncedScene();
  const before = mirrored.checkpoint('columns').watermark;
  world.dateErrorMs = ({ path }) => (path === 'e1/assets' ? -5 * HOUR * 1000 : 0);
  expect((await mirrored.sync({ concurrency: 1 })).server_time).not.toBeNull();
  expect(String(mirrored.checkpoint('columns').watermark) >= String(before)).toBe(true);
});

test('one response with a Date ahead moves neither T nor a watermark ahead (R1)', async () => {
  const scene = await syncedScene();
  const { mirrored, world } = scene;
  world.dateErrorMs = ({ path }) => (path === 'e1/assets' ? 5 * HOUR * 1000 : 0);
  const time = timeOfRun(scene);
  const { server_time, clock_spread_seconds } = await mirrored.sync({ concurrency: 1 });
  expect(server_time).toBe(time);
  expect(Number(clock_spread_seconds)).toBeGreaterThan(4 * HOUR);
  for (const stream of FEED_STREAMS) expect(mirrored.checkpoint(stream).watermark).toBe(time);
});

test('one Date that is months ahead costs scans, and loses nothing (R1, R3)', async () => {
  const scene = await syncedScene();
  const { env, mirrored, world } = scene;
  putColumn(env, 'a1.new', 'a1');
  remove(env, 'columns', 'a2.c1');
  world.dateErrorMs = ({ path }) => (path === 'e1/assets' ? 100 * DAY * 1000 : 0);
  const summary = await mirrored.sync({ concurrency: 1 });
  expect(summary.status).toBe('done');
  expect(streamSummary(summary, 'columns')).toMatchObject({ mode: 'scan', reason: 'clamp' });
  expectMirrored(scene);
});

test('without a Date histories are read without start_time_from and not reported as complete (R1)', async () => {
  const { mirrored, world } = newScene();
  world.dates = 'never';
  const summary = await mirrored.sync({ history: true });
  expect(summary.status).toBe('problems');
  expect(streamSummary(summary, 'test_executions')).toMatchObject({ status: 'failed' });
  expect(streamSummary(summary, 'test_executions').error).toMatch(/^No response had a Date header/);
  const asked = mirrored.requests('executions').map(({ query }) => query);
  expect(asked.length).toBeGreaterThan(0);
  for (const query of asked) expect(query).not.toHaveProperty('start_time_from');
  world.dates = 'always';
  expect((await mirrored.sync({ history: true })).status).toBe('done');
  expect(mirrored.requests('executions').every(({ query }) => 'start_time_from' in query)).toBe(true);
  expect(mirrored.requests('executions').length).toBeGreaterThan(0);
});

test('a history that a run without a Date left unfinished is read again, from 90 days ago (R1, R22)', async () => {
  const { mirrored, world, env } = newScene();
  for (let n = 0; n < 3; n++) execute(env, 't1', `more-${n}`);
  await mirrored.sync({ only: ['assets', 'tests', 'latest_test_executions'] });
  world.dates = 'never';
  const wish = { only: ['test_executions'] as const, history: true, pageSize: 1, concurrency: 1 };
  expect((await mirrored.sync({ ...wish, maxRequests: 3 })).status).toBe('stopped');
  expect(mirrored.checkpoint('test_executions').round?.read?.query).not.toHaveProperty('start_time_from');
  world.dates = 'always';
  const summary = await mirrored.sync(wish);
  expect(mirrored.requests('executions').every(({ query }) => 'start_time_from' in query)).toBe(true);
  expect(summary.status).toBe('done');
});

test('a run without a Date scans, moves no watermark, and leaves the times of the last scan (R1)', async () => {
  const scene = await syncedScene();
  const before = scene.mirrored.checkpoint('columns');
  scene.world.dates = 'never';
  putColumn(scene.env, 'a1.c9', 'a1');
  const summary = await scene.mirrored.sync();
  expect(streamSummary(summary, 'columns')).toMatchObject({ mode: 'scan', reason: 'clock', status: 'done' });
  expectMirrored(scene);
  const { watermark, scannedAt, scanEndedAt } = scene.mirrored.checkpoint('columns');
  expect({ watermark, scannedAt, scanEndedAt }).toEqual({
    watermark: before.watermark,
    scannedAt: before.scannedAt,
    scanEndedAt: before.scanEndedAt,
  });
});

test.each([
  ['an hour and a minute later than T is not trusted', 61, 'clock'],
  ['half an hour later than T is trusted', 30, 'increment'],
])('a watermark %s (R1)', async (_, minutes, reason) => {
  const scene = newScene();
  await scene.mirrored.sync();
  scene.world.nowMs -= minutes * 60_000;
  const time = timeOfRun(scene);
  const summary = await scene.mirrored.sync();
  expect(streamSummary(summary, 'assets').reason).toBe(reason);
  expect(scene.mirrored.checkpoint('assets').watermark).toBe(time);
});

test.each([undefined, 60])(
  'a feed is read from the watermark minus an overlap of %s seconds (R2)',
  async (overlapSeconds) => {
    const scene = await syncedScene();
    const { watermark } = scene.mirrored.checkpoint('assets');
    await scene.mirrored.sync(overlapSeconds === undefined ? {} : { overlapSeconds });
    const since = Date.parse(String(watermark)) - (overlapSeconds ?? HOUR) * 1000;
    const [upserts, tombstones] = scene.mirrored.requests('assets').map(({ query }) => query);
    expect(Date.parse(String(upserts?.['synced_since']))).toBe(since);
    expect(Date.parse(String(tombstones?.['deleted_since']))).toBe(since);
  },
);

test('a row that the source commits late, but within the overlap, is not lost (R2)', async () => {
  const scene = await syncedScene();
  scene.world.commitLate(HOUR / 2, () => putColumn(scene.env, 'a1.c9', 'a1'));
  scene.world.advance(60);
  await scene.mirrored.sync();
  scene.world.advance(HOUR / 2);
  await scene.mirrored.sync();
  expectMirrored(scene);
});

test('the watermark of a round that spans runs is the T of the run of its first page (R2)', async () => {
  const scene = await syncedScene();
  const claimed: unknown[] = [];
  for (const n of [7, 8, 9]) putColumn(scene.env, `a1.c${n}`, 'a1');
  failAt(scene, 'columns', 2, 'run');
  const first = timeOfRun(scene);
  await scene.mirrored.sync({ pageSize: 1 });
  removeHooks(scene);
  scene.world.advance(DAY);
  scene.mirrored.afterCommit = ({ stream, commit }) => {
    if (stream === 'columns' && roundEndOf(commit)) claimed.push(commit.checkpoint.watermark);
  };
  const second = timeOfRun(scene);
  await scene.mirrored.sync();
  expect(claimed).toEqual([first, second]);
});

test('a watermark moves only when every read of the round has ended (R2)', async () => {
  const scene = await syncedScene();
  const { watermark } = scene.mirrored.checkpoint('columns');
  failAt(scene, 'columns', 2);
  await scene.mirrored.sync();
  expect(scene.mirrored.requests('columns').at(-1)?.query).toHaveProperty('deleted_since');
  expect(scene.mirrored.checkpoint('columns').watermark).toBe(watermark);
});

test('a scan reports rows that arrived later than the overlap allows (R2)', async () => {
  const scene = await syncedScene();
  scene.world.commitLate(2 * HOUR, () => putColumn(scene.env, 'a1.c1', 'a1', { data_type: 'late' }));
  scene.world.advance(1.5 * HOUR);
  await scene.mirrored.sync();
  scene.world.advance(HOUR);
  putColumn(scene.env, 'a1.c2', 'a1', { data_type: 'in time' });
  await scene.mirrored.sync();
  expect(rowOf(scene, 'columns', 'a1.c1')).toMatchObject({ data_type: 'int' });
  putColumn(scene.env, 'a1.c3', 'a1', { data_type: 'since the last run' });
  const summary = await scene.mirrored.sync({ full: true });
  expect(streamSummary(summary, 'columns').rows_late).toBe(1);
  expect(streamSummary(summary, 'assets').rows_late).toBe(0);
  expectMirrored(scene);
});

test('late rows are reported for feed streams only, not for a scanned typed stream (R2)', async () => {
  const scene = await syncedScene((place) => {
    for (const id of LONG) putAsset(place, id);
  });
  for (const id of LONG)
    scene.world.commitLate(2 * HOUR, () => putAsset(scene.env, id, { name: 'late', db_name: 'late' }));
  scene.world.advance(1.5 * HOUR);
  await scene.mirrored.sync();
  scene.world.advance(HOUR);
  await scene.mirrored.sync();
  scene.env.denied.add('assets');
  await scene.mirrored.sync();
  scene.env.denied.clear();
  const summary = await scene.mirrored.sync();
  expect(streamSummary(summary, 'assets')).toMatchObject({ mode: 'scan', rows_late: LONG.length });
  expect(streamSummary(summary, 'table_assets')).toMatchObject({
    mode: 'scan',
    reason: 'fewer-requests',
    rows_written: LONG.length,
    rows_late: 0,
  });
  expectMirrored(scene);
});

test.each([
  [88, 'increment'],
  [90, 'clamp'],
  [120, 'clamp'],
])('after %i days the reason of a read is %s, and no bound is clamped silently (R3)', async (days, reason) => {
  const scene = await syncedScene();
  putAsset(scene.env, 'a1', { description: 'new' });
  remove(scene.env, 'columns', 'a1.c1');
  scene.world.advance(days * DAY);
  const summary = await scene.mirrored.sync({ fullEveryDays: 1000 });
  for (const stream of FEED_STREAMS) expect(streamSummary(summary, stream).reason).toBe(reason);
  expectMirrored(scene);
});

test('in a run that lasts for days, the 89 days count from the newest server time, not from the start (R3)', async () => {
  const scene = await syncedScene();
  const { mirrored, env, world } = scene;
  putColumn(env, 'a1.c1', 'a1', { data_type: 'changed soon after' });
  world.advance(88.5 * DAY);
  world.beforeRequest = ({ path }) => {
    if (path.endsWith('/assets/bi') || path.endsWith('/assets')) world.advance(2 * DAY);
  };
  const summary = await mirrored.sync({ only: ['assets', 'columns'], concurrency: 1, fullEveryDays: 1000 });
  expect(streamSummary(summary, 'columns')).toMatchObject({ mode: 'scan', reason: 'clamp', status: 'done' });
  expect(rowOf(scene, 'columns', 'a1.c1')).toMatchObject({ data_type: 'changed soon after' });
});

test('the stored bound of an interrupted feed is not sent once it is too old (R3)', async () => {
  const scene = await syncedScene();
  for (const n of [7, 8, 9]) putColumn(scene.env, `a1.c${n}`, 'a1');
  scene.world.advance(88 * DAY);
  failAt(scene, 'columns', 2, 'run');
  await scene.mirrored.sync({ pageSize: 1, fullEveryDays: 1000 });
  removeHooks(scene);
  scene.world.advance(2 * DAY);
  const summary = await scene.mirrored.sync({ fullEveryDays: 1000 });
  expect(streamSummary(summary, 'columns').reason).toBe('clamp');
  expectMirrored(scene);
});

test('an interrupted scan resumes without its tombstones feed once that is too old (R3)', async () => {
  const scene = await syncedScene();
  failAt(scene, 'columns', 3, 'run');
  await scene.mirrored.sync({ pageSize: 2, full: true });
  removeHooks(scene);
  remove(scene.env, 'columns', 'a3.c3');
  scene.world.advance(100 * DAY);
  expect((await scene.mirrored.sync()).status).toBe('done');
  expect(scene.mirrored.requests('columns')[0]?.cursor).not.toBeNull();
  expectMirrored(scene);
});

test('timestamps are stored as fixed-width UTC text with microseconds (R4)', async () => {
  const scene = newScene();
  const sent = {
    'a1.c1': '2026-11-20T04:10:00.123456Z',
    'a1.c2': '2026-11-20T06:10:00.5+02:00',
    'a1.c3': '1970-01-01T00:00:00',
  };
  for (const [id, time] of Object.entries(sent)) {
    const held = scene.env.columns.get(id);
    if (held) held.item['synced_at'] = time;
  }
  await scene.mirrored.sync();
  const rows = scene.mirrored.rows("select synced_at from columns where asset_id = 'a1' order by id");
  expect(rows.map((row) => row['synced_at'])).toEqual([
    '2026-11-20T04:10:00.123456Z',
    '2026-11-20T04:10:00.500000Z',
    '1970-01-01T00:00:00.000000Z',
  ]);
});
