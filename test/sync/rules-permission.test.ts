import { expect, test } from 'vitest';
import { SyncError } from '../../src/core/errors.ts';
import { put, putAsset, putColumn, remove, removeAsset, undelete } from '../model/environment.ts';
import { streamSummary } from '../model/test-mirror.ts';
import { DAY, HOUR } from '../model/world.ts';
import { FEED_ENTRIES, SCANNED_STREAMS } from '../support/catalogue.ts';
import {
  addSecondEnvironment,
  expectMirrored,
  failAt,
  liveIds,
  newScene,
  removeHooks,
  rowOf,
  syncedScene,
  transformItems,
} from '../support/scene.ts';

test('rows that silently became visible or hidden are found by the scan due after --full-every (R13)', async () => {
  const scene = await syncedScene();
  scene.env.hidden.add('a1');
  scene.world.advance(6 * DAY);
  expect((await scene.mirrored.sync()).streams.filter(({ mode }) => mode === 'scan')).toEqual([]);
  expect(liveIds(scene, 'assets')).toContain('a1');
  scene.world.advance(DAY);
  const summary = await scene.mirrored.sync();
  for (const stream of SCANNED_STREAMS)
    expect(streamSummary(summary, stream)).toMatchObject({ mode: 'scan', reason: 'full-every' });
  expectMirrored(scene);
  scene.env.hidden.delete('a1');
  scene.world.advance(8 * DAY);
  await scene.mirrored.sync();
  expectMirrored(scene);
});

test('edges and typed fields that silently changed are found without a mark by the scan due after --full-every (R13)', async () => {
  const scene = await syncedScene();
  const { env, mirrored, world } = scene;
  env.columnEdges.delete('a1.c2>a2.c2');
  env.columnEdges.set('a1.c3>a2.c3', ['a1.c3', 'a2.c3']);
  Object.assign(env.assets.get('a1')?.item ?? {}, { schema_name: 'moved' });
  Object.assign(env.assets.get('b1')?.item ?? {}, { bi_type: 'moved' });
  const wholes = ['column-lineage', 'assets/tables', 'assets/bi'];
  const asked = (): unknown[] => wholes.map((path) => mirrored.requests(path).map(({ query }) => Object.keys(query)));
  world.advance(6 * DAY);
  await mirrored.sync();
  expect(asked()).toEqual([[], [], []]);
  world.advance(DAY);
  const summary = await mirrored.sync();
  for (const stream of ['column_lineage', 'table_assets', 'bi_assets'] as const)
    expect(streamSummary(summary, stream)).toMatchObject({ mode: 'scan', reason: 'full-every', status: 'done' });
  expectMirrored(scene);
  await mirrored.sync();
  expect(asked()).toEqual([[], [], []]);
});

test('the days of --full-every count from the end of the last scan (R13)', async () => {
  const scene = newScene();
  failAt(scene, 'columns', 3, 'run');
  await scene.mirrored.sync({ pageSize: 2 });
  removeHooks(scene);
  scene.world.advance(3 * DAY);
  await scene.mirrored.sync({ fullEveryDays: 5 });
  scene.world.advance(4.9 * DAY);
  expect(streamSummary(await scene.mirrored.sync({ fullEveryDays: 5 }), 'columns').mode).toBe('feed');
  scene.world.advance(0.1 * DAY);
  expect(streamSummary(await scene.mirrored.sync({ fullEveryDays: 5 }), 'columns').reason).toBe('full-every');
});

test('--full scans every stream that has scans (R13)', async () => {
  const scene = await syncedScene();
  const summary = await scene.mirrored.sync({ full: true });
  const scanned = summary.streams.filter(({ mode }) => mode === 'scan');
  expect(scanned.map(({ stream, reason }) => `${stream} ${reason}`)).toEqual(
    SCANNED_STREAMS.map((name) => `${name} full`),
  );
});

test('an unlisted environment keeps its rows and is scanned once it is listed again (R13)', async () => {
  const scene = newScene();
  const { world, mirrored, env } = scene;
  const other = addSecondEnvironment(scene);
  await mirrored.sync();
  world.advance(2 * HOUR);
  env.listed = false;
  const missing = await mirrored.sync();
  expect(missing).toMatchObject({ missing: ['env e1'], status: 'done' });
  expect(rowOf(scene, 'environments', 'e1')).toMatchObject({ missing_since: missing.server_time });
  expect(liveIds(scene, 'assets')).toContain('a1');
  env.hidden.add('a2');
  env.listed = true;
  const back = await mirrored.sync();
  const reasons = back.streams.filter(({ mode }) => mode === 'scan');
  expect(reasons.map(({ environment, stream, reason }) => `${environment} ${stream} ${reason}`)).toEqual(
    SCANNED_STREAMS.map((name) => `env e1 ${name} returned`),
  );
  expect(rowOf(scene, 'environments', 'e1')).toMatchObject({ missing_since: null });
  expectMirrored(scene);
  expectMirrored({ ...scene, env: other });
});

test('a scan that began before its environment went missing doesn’t replace the due scan (R13)', async () => {
  const scene = await syncedScene();
  const { world, mirrored, env } = scene;
  addSecondEnvironment(scene);
  world.beforeRequest = ({ path, cursor }) => {
    if (path === 'e1/columns' && cursor !== null) throw new SyncError('stream', 'cut off');
  };
  await mirrored.sync({ full: true, pageSize: 4 });
  removeHooks(scene);
  env.listed = false;
  await mirrored.sync({ environments: ['e2'] });
  remove(env, 'columns', 'a1.c1', 'lost');
  env.listed = true;
  world.advance(HOUR);
  const summary = await mirrored.sync();
  expect(streamSummary(summary, 'columns').reason).toBe('returned');
  expectMirrored(scene);
});

test.each(FEED_ENTRIES)('$name is scanned once its 403 is over (R13)', async ({ name, path }) => {
  const scene = await syncedScene();
  scene.env.denied.add(path.join('/'));
  const denied = await scene.mirrored.sync();
  expect(denied.status).toBe('problems');
  expect(
    denied.streams.filter(({ status }) => status !== 'done').map(({ stream, status }) => [stream, status]),
  ).toEqual([[name, 'denied']]);
  expect(liveIds(scene, name)).not.toEqual([]);
  scene.env.denied.clear();
  scene.env.hidden.add('a1');
  const back = await scene.mirrored.sync();
  expect(streamSummary(back, name)).toMatchObject({ mode: 'scan', reason: 'permission' });
  const [{ mirror, world }] = [{ mirror: liveIds(scene, name), world: ['a1', 'a1.c1', 't1'] }];
  for (const id of world) expect(mirror).not.toContain(id);
  expect(streamSummary(await scene.mirrored.sync(), name).mode).toBe('feed');
});

test.each([
  ['column_lineage', 'column-lineage'],
  ['table_assets', 'assets/tables'],
] as const)('%s is scanned once its 403 is over (R13)', async (name, path) => {
  const scene = await syncedScene();
  const { env, mirrored } = scene;
  putColumn(env, 'a2.c1', 'a2', { data_type: 'changed' });
  putAsset(env, 'a2', { description: 'changed' });
  env.denied.add(path);
  expect(streamSummary(await mirrored.sync(), name).status).toBe('denied');
  env.denied.clear();
  env.columnEdges.delete('a1.c2>a2.c2');
  Object.assign(env.assets.get('a1')?.item ?? {}, { schema_name: 'moved' });
  expect(streamSummary(await mirrored.sync(), name)).toMatchObject({
    mode: 'scan',
    reason: 'permission',
    status: 'done',
  });
  const edges = mirrored.rows("select 1 from column_lineage where downstream_column_id = 'a2.c2'");
  const { schema_name } = rowOf(scene, 'assets', 'a1') ?? {};
  expect([edges.length, schema_name]).toEqual(name === 'column_lineage' ? [0, 's'] : [1, 'moved']);
  expect(streamSummary(await mirrored.sync(), name)).toMatchObject({ mode: 'marked', requests: 0 });
});

test('columns and tests of a deleted asset are looked up in the same run, and absent if not returned (R13)', async () => {
  const scene = await syncedScene();
  removeAsset(scene.env, 'a2', 'lost');
  const { server_time, status } = await scene.mirrored.sync();
  expect(status).toBe('done');
  const asked = scene.mirrored.requests().filter(({ query }) => 'asset_ids' in query);
  expect(asked.map(({ path, query }) => [path, query['asset_ids'], query['disabled']])).toEqual(
    expect.arrayContaining([
      ['e1/columns', ['a2'], undefined],
      ['e1/tests', ['a2'], undefined],
      ['e1/tests', ['a2'], 'true'],
    ]),
  );
  expect(rowOf(scene, 'columns', 'a2.c1')).toMatchObject({ deletion: 'absent', deleted_at: server_time });
  expectMirrored(scene);
  await scene.mirrored.sync();
  expect(scene.mirrored.requests().filter(({ query }) => 'asset_ids' in query)).toEqual([]);
});

test('an asset tombstoned twice on one page has its columns and tests looked up (R13)', async () => {
  const scene = await syncedScene();
  removeAsset(scene.env, 'a2', 'lost');
  const again = new Date(Date.parse(String(scene.env.assets.get('a2')?.deletedAt)) + 1000).toISOString();
  transformItems(scene, 'assets', 'deleted_since', (sent) => [...sent, { id: 'a2', deleted_at: again }]);
  expect((await scene.mirrored.sync()).status).toBe('done');
  const asked = scene.mirrored.requests().filter(({ query }) => 'asset_ids' in query);
  expect(asked.map(({ path, query }) => [path, query['asset_ids']])).toEqual(
    expect.arrayContaining([
      ['e1/columns', ['a2']],
      ['e1/tests', ['a2']],
    ]),
  );
  expectMirrored(scene);
});

test('an asset deleted before it was mirrored takes its mirrored columns and tests along (R13)', async () => {
  const scene = await syncedScene();
  putAsset(scene.env, 'a9');
  putColumn(scene.env, 'a9.c1', 'a9');
  failAt(scene, 'assets');
  await scene.mirrored.sync();
  expect(liveIds(scene, 'columns')).toContain('a9.c1');
  removeHooks(scene);
  removeAsset(scene.env, 'a9', 'lost');
  expect((await scene.mirrored.sync()).status).toBe('done');
  expectMirrored(scene);
});

test('rows of a deleted asset stay while the service returns them (R13)', async () => {
  const scene = await syncedScene();
  removeAsset(scene.env, 'a2', 'stay');
  expect((await scene.mirrored.sync()).status).toBe('done');
  expect(liveIds(scene, 'columns')).toContain('a2.c1');
  expectMirrored(scene);
});

test('columns and tests of a restored asset are mirrored in the same run, although no feed has them (R13)', async () => {
  const scene = await syncedScene();
  removeAsset(scene.env, 'a2', 'lost');
  await scene.mirrored.sync();
  scene.world.advance(2 * HOUR);
  putAsset(scene.env, 'a2');
  for (const id of ['a2.c1', 'a2.c2', 'a2.c3']) undelete(scene.env, 'columns', id);
  undelete(scene.env, 'tests', 't3');
  expect((await scene.mirrored.sync()).status).toBe('done');
  expectMirrored(scene);
});

test('columns and tests of an asset that a scan finds newly visible or gone are looked up in the same run (R13)', async () => {
  const scene = newScene();
  scene.env.hidden.add('a3');
  await scene.mirrored.sync();
  scene.world.advance(2 * HOUR);
  scene.env.denied.add('assets');
  await scene.mirrored.sync();
  scene.env.denied.clear();
  scene.env.hidden.clear();
  scene.env.hidden.add('a1');
  scene.world.advance(2 * HOUR);
  const summary = await scene.mirrored.sync();
  expect(streamSummary(summary, 'columns')).toMatchObject({ mode: 'feed', status: 'done' });
  expectMirrored(scene);
});

test('parents that don’t fit into one request are looked up in several (R13)', async () => {
  const scene = await syncedScene();
  const ids = Array.from({ length: 12 }, (_, n) => `${n}${'ö'.repeat(300)}`);
  for (const id of ids) {
    putAsset(scene.env, id, { kind: 'etl' });
    putColumn(scene.env, `${id}.c`, id);
  }
  await scene.mirrored.sync();
  for (const id of ids) removeAsset(scene.env, id, 'lost');
  expect((await scene.mirrored.sync({ pageSize: 2 })).status).toBe('done');
  const asked = scene.mirrored.requests('columns').filter(({ query }) => 'asset_ids' in query);
  expect(asked.length).toBeGreaterThan(2);
  expect(asked.every(({ query }) => encodeURIComponent(String(query['asset_ids'])).length < 8000)).toBe(true);
  expectMirrored(scene);
});

test('a row dated before the first feed is found only by a scan (R13)', async () => {
  const scene = await syncedScene();
  put(scene.env, 'columns', 'a1.old', { asset_id: 'a1', name: 'old' });
  const held = scene.env.columns.get('a1.old');
  if (held) held.item['synced_at'] = '1970-01-01T00:00:00';
  await scene.mirrored.sync();
  expect(liveIds(scene, 'columns')).not.toContain('a1.old');
  await scene.mirrored.sync({ full: true });
  expectMirrored(scene);
});
