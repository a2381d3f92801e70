import { expect, test } from 'vitest';
import { SyncError } from '../../src/core/errors.ts';
import { execute, type Item, put, putAsset, putTest, remove } from '../model/environment.ts';
import { streamSummary } from '../model/test-mirror.ts';
import { DAY, HOUR } from '../model/world.ts';
import { LEAST_REQUESTS } from '../support/catalogue.ts';
import { pageOf } from '../support/commit-parts.ts';
import {
  expectMirrored,
  failAt,
  newScene,
  removeHooks,
  rowOf,
  type Scene,
  syncedScene,
  transformItems,
} from '../support/scene.ts';

const paths = ({ mirrored }: Scene): string[] =>
  mirrored
    .requests()
    .map(({ path }) => path.slice(3))
    .sort();
const typed = ({ mirrored }: Scene): unknown[] =>
  mirrored
    .requests()
    .filter(({ path }) => /tables|bi$/.test(path))
    .map(({ path, query }) => `${path.slice(3)} ${Object.keys(query)[0]}`);
const histories = ({ mirrored }: Scene): string[] =>
  mirrored.requests('executions').map(({ path, query }) => `${path.split('/')[2]} ${query['start_time_from']}`);

test('an idle run sends one request for the environments, two per feed stream, and the snapshots (R22)', async () => {
  const scene = await syncedScene();
  scene.world.advance(HOUR);
  const first = await scene.mirrored.sync();
  expect(first.requests).toBe(1 + LEAST_REQUESTS.length + 1);
  expect(paths(scene)).toEqual([...LEAST_REQUESTS, 'asset-health-scores'].sort());
  const second = await scene.mirrored.sync();
  expect(second).toMatchObject({
    requests: 1 + LEAST_REQUESTS.length,
    rows_written: 0,
    rows_deleted: 0,
    status: 'done',
  });
  expect(paths(scene)).toEqual(LEAST_REQUESTS);
});

test('pages have 2000 rows by default (R22)', async () => {
  const scene = await syncedScene();
  await scene.mirrored.sync();
  expect(scene.mirrored.requests().every(({ query }) => query['limit'] === 2000)).toBe(true);
});

test('health scores are read at most once per hour of server time, except with --full (R22)', async () => {
  const scene = newScene();
  const read = async (options = {}): Promise<number> => {
    await scene.mirrored.sync(options);
    return scene.mirrored.requests('asset-health-scores').length;
  };
  expect(await read()).toBe(1);
  scene.world.advance(45 * 60);
  scene.mirrored.clockSkewMs = 3 * HOUR * 1000;
  expect(await read()).toBe(0);
  scene.world.advance(10 * 60);
  expect(await read()).toBe(1);
  expect(await read()).toBe(0);
  expect(await read({ full: true })).toBe(1);
});

test('the typed feed of a kind is read only while an asset of it is marked (R22)', async () => {
  const scene = await syncedScene();
  putAsset(scene.env, 'a1', { db_name: 'other' });
  await scene.mirrored.sync();
  expect(typed(scene)).toEqual(['assets/tables synced_since']);
  expectMirrored(scene);
  putAsset(scene.env, 'o1', { name: 'of no kind' });
  await scene.mirrored.sync();
  expect(typed(scene)).toEqual([]);
  expectMirrored(scene);
});

test('an asset whose typed fields were read within the overlap is read once more after the overlap (R22)', async () => {
  const scene = await syncedScene();
  const { env, world, mirrored } = scene;
  putAsset(env, 'a1', { db_name: 'other' });
  await mirrored.sync();
  expect(rowOf(scene, 'assets', 'a1')).toMatchObject({ db_name: 'other' });
  world.advance(50 * 60);
  await mirrored.sync();
  expect(typed(scene)).toEqual([]);
  // The typed list returns the rest of the change later.
  Object.assign(env.assets.get('a1')?.item as Item, { schema_name: 'moved' });
  world.advance(20 * 60);
  await mirrored.sync();
  expect(typed(scene)).toEqual(['assets/tables synced_since']);
  expectMirrored(scene);
  await mirrored.sync();
  expect(typed(scene)).toEqual([]);
  expect(mirrored.rows('select * from marks')).toEqual([]);
});

test('marks of assets survive a run in which the typed read failed (R22)', async () => {
  const scene = await syncedScene();
  putAsset(scene.env, 'a1', { db_name: 'other' });
  putAsset(scene.env, 'b2', { kind: 'bi' });
  failAt(scene, 'assets/tables');
  expect((await scene.mirrored.sync()).status).toBe('problems');
  expect(rowOf(scene, 'assets', 'a1')).toMatchObject({ db_name: 'd' });
  removeHooks(scene);
  scene.world.advance(3 * DAY);
  expect((await scene.mirrored.sync()).status).toBe('done');
  // The failed read counts as of the run that began it, within the overlap, so a1 and b2 are read again.
  expect(typed(scene)).toEqual(['assets/tables synced_since', 'assets/bi synced_since', 'assets/tables ids']);
  expectMirrored(scene);
  expect(scene.mirrored.rows('select * from marks')).toEqual([]);
});

test('rows still marked after the feed are looked up once by ids (R22)', async () => {
  const scene = await syncedScene();
  putAsset(scene.env, 'a1', { db_name: 'other' });
  putAsset(scene.env, 'a2', { db_name: 'other' });
  transformItems(scene, 'assets/tables', 'synced_since', (sent) => sent.filter(({ id }) => id !== 'a2'));
  await scene.mirrored.sync();
  const [, byIds] = scene.mirrored.requests('assets/tables');
  expect(byIds?.query['ids']).toEqual(['a2']);
  expectMirrored(scene);
  await scene.mirrored.sync();
  expect(typed(scene)).toEqual([]);
});

test('a typed row that is never returned is looked up once, and once more after the overlap (R18, R22)', async () => {
  const scene = await syncedScene();
  putAsset(scene.env, 'a1', { db_name: 'other' });
  for (const way of ['synced_since', 'ids'] as const) {
    const before = scene.world.transformPage;
    transformItems(scene, 'assets/tables', way as 'scan', () => []);
    const mine = scene.world.transformPage;
    scene.world.transformPage = (page, asked) => mine(before(page, asked), asked);
  }
  const parents = (): unknown[] => scene.mirrored.requests('assets').flatMap(({ query }) => query['ids'] ?? []);
  await scene.mirrored.sync();
  expect(typed(scene)).toEqual(['assets/tables synced_since', 'assets/tables ids']);
  expect(parents()).toEqual([]);
  await scene.mirrored.sync();
  expect(typed(scene)).toEqual([]);
  scene.world.advance(2 * HOUR);
  await scene.mirrored.sync();
  expect(typed(scene)).toHaveLength(2);
  expect(parents()).toEqual(['a1']);
  await scene.mirrored.sync();
  expect(typed(scene)).toEqual([]);
  expect(scene.mirrored.rows('select * from marks')).toEqual([]);
});

test('marked assets beyond the reach of the feed are looked up by ids, or scanned if that takes fewer requests (R22)', async () => {
  const scene = await syncedScene();
  const old = (id: string): void => {
    putAsset(scene.env, id);
    Object.assign(scene.env.assets.get(id)?.item as Item, { synced_at: '1970-01-01T00:00:00' });
  };
  const find = async (): Promise<void> => {
    scene.env.denied.add('assets');
    await scene.mirrored.sync();
    scene.env.denied.clear();
    expect((await scene.mirrored.sync()).status).toBe('done');
  };
  old('old');
  await find();
  expect(typed(scene)).toEqual(['assets/tables ids']);
  expectMirrored(scene);
  for (let n = 0; n < 4; n++) old(`${n}${'ö'.repeat(498)}`);
  await find();
  expect(typed(scene)).toEqual(['assets/tables limit']);
  expectMirrored(scene);
});

test.each([
  ['table', 'bi'],
  ['bi', 'table'],
  ['table', 'etl'],
  ['etl', 'table'],
  ['bi', 'neuland'],
])('a change of kind from %s to %s blanks the fields of the other kind (R22)', async (from, to) => {
  const scene = newScene();
  putAsset(scene.env, 'k1', { kind: from });
  await scene.mirrored.sync();
  scene.world.advance(HOUR);
  put(scene.env, 'assets', 'k1', { kind: to });
  putAsset(scene.env, 'k1', { kind: to });
  scene.env.denied.add('assets/tables').add('assets/bi');
  await scene.mirrored.sync();
  const typedFields = ['db_name', 'table_name', 'bi_platform', 'bi_type'];
  expect(typedFields.map((name) => rowOf(scene, 'assets', 'k1')?.[name])).toEqual([null, null, null, null]);
  scene.env.denied.clear();
  await scene.mirrored.sync();
  expectMirrored(scene);
});

const DAYS = (time: string | null, days: number): string =>
  new Date(Date.parse(String(time)) - days * DAY * 1000).toISOString().replace('.000Z', '.000000Z');

test('histories are first read for 90 days, then only for tests with new executions and from 7 days earlier (R22)', async () => {
  const scene = newScene();
  // Within one second, every history begins at the same time, 90 days ago (R3).
  scene.world.latencyMs = 1;
  const first = await scene.mirrored.sync({ history: true });
  expect(histories(scene)).toEqual(['t1', 't2', 't3', 't4'].map((id) => `${id} ${DAYS(first.server_time, 90)}`));
  scene.world.advance(DAY);
  expect((await scene.mirrored.sync({ history: true })).status).toBe('done');
  expect(histories(scene)).toEqual([]);
  execute(scene.env, 't2', 't2-r2');
  const late = new Date(scene.world.nowMs - 6 * DAY * 1000).toISOString();
  scene.env.executions.push({ ...scene.env.executions[0], id: 'late', test_id: 't2', start_time: late });
  await scene.mirrored.sync({ history: true });
  expect(histories(scene)).toEqual([`t2 ${DAYS(first.server_time, 7)}`]);
  expect(rowOf(scene, 'test_executions', 'late')).toBeDefined();
});

test('a failed history is read again, after that of a new test (R22)', async () => {
  const scene = newScene();
  failAt(scene, 'executions', 3);
  const broken = await scene.mirrored.sync({ history: true });
  expect(streamSummary(broken, 'test_executions').status).toBe('failed');
  removeHooks(scene);
  putTest(scene.env, 't5', 'a1');
  await scene.mirrored.sync({ history: true });
  // Histories that were never read come first, failed ones last.
  expect(histories(scene).map((line) => line.slice(0, 2))).toEqual(['t5', 't3']);
});

test.each([
  ['halve-page', 'failed'],
  ['forbidden', 'failed'],
  ['not-live', 'done'],
] as const)(
  'a history that cannot be read (%s) blocks no other, in this run or the next: %s (R22)',
  async (recovery, status) => {
    const scene = newScene();
    scene.world.beforeRequest = ({ path }) => {
      if (path.endsWith('t1/executions')) throw new SyncError(recovery, 'it cannot be read');
    };
    for (const asked of [['t1', 't2', 't3', 't4'], ['t1']]) {
      const summary = await scene.mirrored.sync({ history: true, pageSize: 1 });
      expect(streamSummary(summary, 'test_executions').status).toBe(status);
      expect(summary.status).toBe(status === 'done' ? 'done' : 'problems');
      expect([...new Set(histories(scene).map((line) => line.slice(0, 2)))]).toEqual(asked);
    }
    removeHooks(scene);
    expect((await scene.mirrored.sync({ history: true })).status).toBe('done');
    expect((await scene.mirrored.sync({ history: true })).requests).toBeGreaterThan(0);
    expect(histories(scene)).toEqual([]);
  },
);

test('a run that continues a cycle retries the history that failed in it, and is not green without it (R9, R22)', async () => {
  const scene = newScene();
  await scene.mirrored.sync({ only: ['assets', 'tests', 'latest_test_executions'] });
  scene.world.beforeRequest = ({ path }) => {
    if (path.endsWith('t1/executions')) throw new SyncError('stream', 'it cannot be read');
  };
  const wish = { only: ['test_executions'] as const, history: true, concurrency: 1, maxRequests: 4 };
  expect((await scene.mirrored.sync(wish)).status).toBe('stopped');
  const { status, streams } = await scene.mirrored.sync(wish);
  expect(status).toBe('problems');
  expect(streams[0]?.error).toMatch(/^A history could not be read; .*it cannot be read$/);
  expect(histories(scene).map((line) => line.slice(0, 2))).toEqual(['t4', 't1']);
});

test('a history that cannot be read in a resumed round does not keep the run from reading that of a new test (R6, R22)', async () => {
  const scene = newScene();
  await scene.mirrored.sync({ only: ['assets', 'tests', 'latest_test_executions'] });
  scene.world.beforeRequest = ({ path }) => {
    if (path.endsWith('t1/executions')) throw new SyncError('forbidden', 'it cannot be read');
  };
  const only = ['tests', 'test_executions'] as const;
  const stop = new AbortController();
  scene.mirrored.afterCommit = ({ stream }) => stream === 'test_executions' && stop.abort();
  expect((await scene.mirrored.sync({ only, history: true, signal: stop.signal })).status).toBe('interrupted');
  scene.mirrored.afterCommit = () => {};
  putTest(scene.env, 't5', 'a1');
  const { status, streams } = await scene.mirrored.sync({ only, history: true });
  expect(status).toBe('problems');
  expect(streams.map(({ error }) => error)).toEqual([null, expect.stringMatching(/^A history could not be read; /)]);
  expect(histories(scene).map((line) => line.slice(0, 2))).toContain('t5');
  removeHooks(scene);
  expect((await scene.mirrored.sync({ only, history: true })).status).toBe('done');
  expect(histories(scene).map((line) => line.slice(0, 2))).toEqual(['t1']);
});

test('several histories are requested concurrently and committed in order (R22, R5)', async () => {
  const scene = newScene();
  await scene.mirrored.sync({ only: ['assets', 'tests', 'latest_test_executions'] });
  const order: string[] = [];
  scene.world.beforeRequest = ({ path }) => void order.push(`asked ${path.split('/')[2]}`);
  scene.mirrored.afterCommit = ({ commit }) => {
    const { historyRead } = pageOf(commit);
    if (historyRead) order.push(`read ${historyRead.testId}`);
  };
  await scene.mirrored.sync({ only: ['test_executions'], concurrency: 3 });
  // Only the first one, which proves that histories are available.
  expect(order.slice(1)).toEqual([
    'asked t1',
    'read t1',
    'asked t2',
    'asked t3',
    'asked t4',
    'read t2',
    'read t3',
    'read t4',
  ]);
});

test('a test whose execution arrives while its history is read is read again in the next run (R22)', async () => {
  const scene = newScene();
  await scene.mirrored.sync();
  scene.world.beforeRequest = ({ path }) => {
    if (path.endsWith('t1/executions')) execute(scene.env, 't1', 't1-during');
  };
  await scene.mirrored.sync({ history: true });
  removeHooks(scene);
  await scene.mirrored.sync({ history: true });
  expect(histories(scene).map((line) => line.slice(0, 2))).toEqual(['t1']);
});

test('a period that was never read and is out of reach is recorded as a gap (R22)', async () => {
  const scene = newScene();
  scene.world.latencyMs = 1;
  const { server_time } = await scene.mirrored.sync({ history: true });
  scene.world.advance(120 * DAY);
  execute(scene.env, 't1', 't1-r2');
  const later = await scene.mirrored.sync({ history: true });
  expect(histories(scene)).toEqual([`t1 ${DAYS(later.server_time, 90)}`]);
  expect(scene.mirrored.rows('select test_id, gap_from, gap_to from test_execution_gaps')).toEqual([
    { test_id: 't1', gap_from: server_time, gap_to: DAYS(later.server_time, 90) },
  ]);
});

test('a test whose history is not found is skipped (R22)', async () => {
  const scene = newScene();
  scene.world.beforeRequest = ({ path }) => {
    if (path.endsWith('t2/executions')) remove(scene.env, 'tests', 't2', 'lost');
  };
  const summary = await scene.mirrored.sync({ history: true });
  expect(streamSummary(summary, 'test_executions')).toMatchObject({ status: 'done', requests: 4 });
  expect(scene.mirrored.rows('select test_id from test_readings order by 1').map((row) => row['test_id'])).toEqual([
    't1',
    't3',
    't4',
  ]);
});
