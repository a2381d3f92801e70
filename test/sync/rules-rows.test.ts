import { expect, test } from 'vitest';
import { execute, type Item, putAsset, putColumn, putTest, remove } from '../model/environment.ts';
import { dumpTables } from '../model/invariants.ts';
import { streamSummary } from '../model/test-mirror.ts';
import { DAY, HOUR } from '../model/world.ts';
import {
  expectMirrored,
  failAt,
  liveIds,
  newScene,
  removeHooks,
  rowOf,
  type Scene,
  syncedScene,
  transformItems,
} from '../support/scene.ts';

const rejected = ({ mirrored }: Scene): unknown[][] =>
  mirrored
    .rows('select stream, row_key, reason from rejected_rows order by stream, row_key')
    .map((row) => Object.values(row));

test('unknown fields are kept in extra, by the typed stream for its kinds (R19)', async () => {
  const scene = newScene();
  putAsset(scene.env, 'a1', { sla: { hours: 4 } });
  putAsset(scene.env, 'o1', { flow: 7 });
  putTest(scene.env, 't1', 'a1', { tier: 'gold' });
  await scene.mirrored.sync();
  expect(rowOf(scene, 'assets', 'a1')?.['extra']).toBe('{"sla":{"hours":4}}');
  expect(rowOf(scene, 'assets', 'o1')?.['extra']).toBe('{"flow":7}');
  expect(rowOf(scene, 'tests', 't1')?.['extra']).toBe('{"tier":"gold"}');
  putAsset(scene.env, 'a1', { sla: { hours: 8 } });
  await scene.mirrored.sync();
  expectMirrored(scene);
});

test('fields of the typed list survive a change of the common fields (R19)', async () => {
  const scene = await syncedScene();
  scene.env.denied.add('assets/tables');
  putAsset(scene.env, 'a1', { name: 'renamed' });
  await scene.mirrored.sync();
  expect(rowOf(scene, 'assets', 'a1')).toMatchObject({ name: 'renamed', db_name: 'd', table_name: 'a1' });
});

test('an unknown field of the typed list is not blanked by the common list (R19)', async () => {
  const scene = newScene();
  putAsset(scene.env, 'a1', { cluster_by: 'day' });
  await scene.mirrored.sync();
  putAsset(scene.env, 'a1', { name: 'renamed' });
  scene.env.denied.add('assets/tables');
  await scene.mirrored.sync();
  expect(rowOf(scene, 'assets', 'a1')).toMatchObject({ name: 'renamed', extra: '{"cluster_by":"day"}' });
});

test('unknown enum values are stored as received, and views show an unknown kind as other (R19)', async () => {
  const scene = newScene();
  putAsset(scene.env, 'n1', { kind: 'neuland', source_type: 'nowhere' });
  execute(scene.env, 't1', 't1-r9', { status: 'MAYBE' });
  expect((await scene.mirrored.sync()).status).toBe('done');
  expect(rowOf(scene, 'assets', 'n1')).toMatchObject({ kind: 'neuland', source_type: 'nowhere' });
  expect(rowOf(scene, 'live_assets', 'n1')).toMatchObject({ kind: 'other' });
  expectMirrored(scene);
});

test('a row that cannot be stored is kept with its payload and reason, and affects no other row (R20)', async () => {
  const scene = newScene();
  transformItems(scene, 'columns', 'scan', (sent) => [
    ...sent,
    { id: 'x1', asset_id: 'a1' },
    { id: 'x2', asset_id: 'a1', name: 7 },
    { id: '', asset_id: 'a1', name: 'keyless' },
    'no row' as never,
  ]);
  const summary = await scene.mirrored.sync();
  expect(summary).toMatchObject({ status: 'problems', rows_rejected: 4 });
  expect(rejected(scene)).toEqual([
    ['columns', '"no row"', 'not an object'],
    ['columns', 'x1', 'name is missing'],
    ['columns', 'x2', 'name is not a string'],
    ['columns', '{"id":"","asset_id":"a1","name":"keyless"}', 'no usable id'],
  ]);
  expect(scene.mirrored.rows("select payload from rejected_rows where row_key = 'x1'")).toEqual([
    { payload: '{"id":"x1","asset_id":"a1"}' },
  ]);
  expectMirrored(scene);
});

test('a row with a key of more than 1,000 bytes is rejected until the source deletes it; 1,000 are stored (R20)', async () => {
  const scene = newScene();
  const { mirrored, env } = scene;
  const [stored, tooLong] = ['é'.repeat(500), `${'é'.repeat(500)}x`];
  for (const id of [stored, tooLong]) putColumn(env, id, 'a1');
  for (const options of [{}, {}, { full: true }]) {
    expect((await mirrored.sync(options)).status).toBe('problems');
    expect(rejected(scene)).toEqual([
      ['columns', expect.stringContaining(tooLong), 'the key is longer than 1000 bytes'],
    ]);
    scene.world.advance(HOUR);
  }
  expect(liveIds(scene, 'columns')).toContain(stored);
  for (const id of [stored, tooLong]) remove(env, 'columns', id);
  expect((await mirrored.sync({ full: true })).status).toBe('done');
  expect(liveIds(scene, 'columns')).not.toContain(stored);
  expectMirrored(scene);
});

test('a row rejected again is one row with a later seen_at, removed once it is accepted (R20)', async () => {
  const scene = newScene();
  const broken = { id: 'x1', asset_id: 'a1' };
  const seen = (): unknown => scene.mirrored.rows('select seen_at from rejected_rows')[0]?.['seen_at'];
  transformItems(scene, 'columns', 'scan', (sent) => [...sent, broken, { name: 'keyless' }]);
  await scene.mirrored.sync();
  const first = seen();
  scene.world.advance(DAY);
  await scene.mirrored.sync({ full: true });
  expect(rejected(scene)).toHaveLength(2);
  expect(String(seen()) > String(first)).toBe(true);
  removeHooks(scene);
  putColumn(scene.env, 'x1', 'a1');
  await scene.mirrored.sync();
  expect(rejected(scene).map(([, key]) => key)).toEqual(['{"name":"keyless"}']);
});

test.each([
  ['stays after a tombstone older than its row', 'older'],
  ['is cleared in the run that reads the deletion of its row', 'newer'],
])('a rejection %s (R20)', async (_, age) => {
  const scene = await syncedScene();
  scene.world.advance(DAY);
  await scene.mirrored.sync();
  putColumn(scene.env, 'a1.c1', 'a1', { name: 7 });
  await scene.mirrored.sync();
  expect(rejected(scene)).toEqual([['columns', 'a1.c1', 'name is not a string']]);
  const synced = Date.parse(String(rowOf(scene, 'columns', 'a1.c1')?.['synced_at']));
  const deleted_at = new Date(synced - 1000).toISOString();
  scene.world.advance(DAY);
  if (age === 'newer') remove(scene.env, 'columns', 'a1.c1');
  else transformItems(scene, 'columns', 'deleted_since', () => [{ id: 'a1.c1', deleted_at }]);
  await scene.mirrored.sync();
  expect(liveIds(scene, 'columns').includes('a1.c1')).toBe(age === 'older');
  expect(rejected(scene)).toHaveLength(age === 'older' ? 1 : 0);
});

test.each([
  ['scan', 'columns', 'columns', { full: true }],
  ['snapshot', 'asset-lineage', 'asset_lineage', {}],
] as const)('a rejected row that a later %s no longer returns is removed (R20)', async (_, path, stream, options) => {
  const scene = await syncedScene();
  const broken = path === 'columns' ? { id: 'x1', asset_id: 'a1' } : { upstream_asset_id: 'a1' };
  transformItems(scene, path, 'scan', (sent) => [...sent, broken, { id: '' }]);
  expect(await scene.mirrored.sync(options)).toMatchObject({ status: 'problems', rows_rejected: 2 });
  expect(rejected(scene).map(([name]) => name)).toEqual([stream, stream]);
  removeHooks(scene);
  scene.world.advance(DAY);
  await scene.mirrored.sync({ only: ['tests'] });
  expect(rejected(scene)).toHaveLength(2);
  expect((await scene.mirrored.sync(options)).status).toBe('done');
  expect(rejected(scene)).toEqual([]);
  expectMirrored(scene);
});

test('a row rejected without a key survives feeds until a scan no longer returns it (R20)', async () => {
  const scene = await syncedScene();
  transformItems(scene, 'columns', 'scan', (sent) => [...sent, { id: '', asset_id: 'a1' }]);
  await scene.mirrored.sync({ full: true });
  removeHooks(scene);
  scene.world.advance(DAY);
  const summary = await scene.mirrored.sync();
  expect(summary.status).toBe('problems');
  expect(streamSummary(summary, 'columns')).toMatchObject({ mode: 'feed', rows_rejected: 0, rejected_standing: 1 });
  expect(await scene.mirrored.sync({ full: true })).toMatchObject({ status: 'done' });
});

test('a row rejected by a scan that a later run finishes stays rejected (R20)', async () => {
  const scene = await syncedScene();
  scene.world.transformPage = (page, { path, query }) => {
    const shows = 'ids' in query || ([...page.items][0] as Item | undefined)?.['id'] === 'a1.c1';
    return path.endsWith('/columns') && shows ? { ...page, items: [...page.items, { id: 'x1' }] } : page;
  };
  failAt(scene, 'columns', 2, 'run');
  await scene.mirrored.sync({ full: true, pageSize: 4 });
  scene.world.beforeRequest = () => {};
  scene.world.advance(DAY);
  await scene.mirrored.sync();
  expect(scene.mirrored.requests('columns')[0]?.cursor).not.toBeNull();
  expect(rejected(scene).map(([, key]) => key)).toEqual(['x1']);
});

test('rejected rows without a key don’t accumulate from run to run (R20)', async () => {
  const scene = await syncedScene();
  for (const run of [1, 2, 3]) {
    scene.world.transformPage = (page, { path, query }) =>
      /columns|asset-lineage|latest/.test(path) && !('deleted_since' in query)
        ? { ...page, items: [...page.items, { id: '', run }] }
        : page;
    expect((await scene.mirrored.sync({ full: true })).status).toBe('problems');
    scene.world.advance(DAY);
  }
  expect(rejected(scene).map(([stream]) => stream)).toEqual(['asset_lineage', 'columns', 'latest_test_executions']);
  expect(rejected(scene).every(([, key]) => String(key).includes('"run":3'))).toBe(true);
});

test('an optional field of the wrong type becomes NULL, and extra keeps its value (R20)', async () => {
  const scene = newScene();
  putColumn(scene.env, 'a1.c1', 'a1', { data_type: 7 });
  putTest(scene.env, 't1', 'a1', { config: 'text', description: ['d'] });
  expect((await scene.mirrored.sync()).status).toBe('done');
  expect(rowOf(scene, 'columns', 'a1.c1')).toMatchObject({ data_type: null, extra: '{"data_type":7}' });
  expect(rowOf(scene, 'tests', 't1')).toMatchObject({ config: null, description: null });
  expect(JSON.parse(String(rowOf(scene, 'tests', 't1')?.['extra']))).toEqual({ config: 'text', description: ['d'] });
});

test('a tombstone needs only its key and deleted_at, and keeps the stored fields of its row (R20)', async () => {
  const scene = await syncedScene();
  const deleted_at = new Date(scene.world.nowMs).toISOString();
  remove(scene.env, 'columns', 'a1.c1');
  transformItems(scene, 'columns', 'deleted_since', () => [
    { id: 'a1.c1', deleted_at },
    { id: 'never-seen', deleted_at },
  ]);
  expect((await scene.mirrored.sync()).status).toBe('done');
  expect(rowOf(scene, 'columns', 'a1.c1')).toMatchObject({ name: 'a1.c1', asset_id: 'a1', deletion: 'tombstone' });
  expect(rowOf(scene, 'columns', 'never-seen')).toMatchObject({ name: null, deletion: 'tombstone' });
});

test('a row of the tombstones feed without a usable deleted_at is rejected and doesn’t revive its row (R20)', async () => {
  const scene = await syncedScene();
  remove(scene.env, 'columns', 'a1.c1');
  await scene.mirrored.sync();
  const item = { ...scene.env.columns.get('a1.c1')?.item, synced_at: new Date(scene.world.nowMs).toISOString() };
  transformItems(scene, 'columns', 'deleted_since', () => [
    { ...item, deleted_at: 'once' },
    { ...item, id: 'x', deleted_at: null },
  ]);
  expect(await scene.mirrored.sync()).toMatchObject({ status: 'problems', rows_rejected: 2 });
  expect(liveIds(scene, 'columns')).not.toContain('a1.c1');
  expect(liveIds(scene, 'columns')).not.toContain('x');
});

test('a deleted_at of null is no tombstone (R20)', async () => {
  const scene = newScene();
  transformItems(scene, 'columns', 'scan', (sent) => sent.map((item) => ({ ...item, deleted_at: null })));
  await scene.mirrored.sync();
  expectMirrored(scene);
});

test('an unchanged row is not written again, not even by a scan (R21)', async () => {
  const scene = await syncedScene();
  const before = dumpTables(scene.mirrored);
  const summary = await scene.mirrored.sync({ full: true, history: false });
  expect(summary).toMatchObject({ status: 'done', rows_written: 0, rows_deleted: 0 });
  expect(dumpTables(scene.mirrored)).toBe(before);
});

test('mirrored_at never runs backwards, whatever the local clock does (R21)', async () => {
  const scene = await syncedScene();
  const time = (id: string): string => String(rowOf(scene, 'columns', id)?.['mirrored_at']);
  const before = [time('a1.c1'), time('a1.c2'), time('a1.c3')] as const;
  scene.mirrored.clockSkewMs = -10 * DAY * 1000;
  putColumn(scene.env, 'a1.c1', 'a1', { data_type: 'x' });
  remove(scene.env, 'columns', 'a1.c2');
  await scene.mirrored.sync();
  expect(time('a1.c1') > before[0]).toBe(true);
  expect(time('a1.c2') > before[1]).toBe(true);
  expect(time('a1.c3')).toBe(before[2]);
  const last = time('a1.c2');
  putColumn(scene.env, 'a1.c3', 'a1', { data_type: 'x' });
  await scene.mirrored.sync();
  expect(time('a1.c3') > last).toBe(true);
});

test('mirrored_at is the mirror’s own time, and a deletion moves it (R21)', async () => {
  const scene = await syncedScene();
  scene.mirrored.clockSkewMs = HOUR * 1000;
  remove(scene.env, 'tests', 't1', 'lost');
  const { server_time } = await scene.mirrored.sync({ full: true });
  expect(rowOf(scene, 'tests', 't1')).toMatchObject({ deletion: 'absent', deleted_at: server_time });
  const after = Date.parse(String(rowOf(scene, 'tests', 't1')?.['mirrored_at'])) - Date.parse(String(server_time));
  expect(after).toBeGreaterThan(HOUR * 1000 - 1);
  expect(streamSummary(await scene.mirrored.sync(), 'tests').rows_deleted).toBe(0);
});
