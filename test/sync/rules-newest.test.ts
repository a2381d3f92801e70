import { expect, test } from 'vitest';
import {
  type Item,
  putAsset,
  putColumn,
  recreateInSameSecond,
  remove,
  stampInFuture,
  undelete,
} from '../model/environment.ts';
import { DAY, HOUR } from '../model/world.ts';
import {
  expectMirrored,
  failAt,
  liveIds,
  removeHooks,
  rowOf,
  type Scene,
  syncedScene,
  transformItems,
} from '../support/scene.ts';

const column = (scene: Scene, id: string): Item => scene.env.columns.get(id)?.item as Item;

/** Adds items to the next feed of columns. */
async function feedWith(scene: Scene, as: 'synced_since' | 'deleted_since', item: Item): Promise<void> {
  transformItems(scene, 'columns', as, (sent) => [...sent, item]);
  await scene.mirrored.sync();
  removeHooks(scene);
}

test.each([
  ['older than the stored row does not replace it', -60, 'int'],
  ['of the same time as the stored row replaces it', 0, 'shown'],
  ['newer than the stored row replaces it', 60, 'shown'],
])('an upsert %s (R10)', async (_, seconds, wanted) => {
  const scene = await syncedScene();
  const held = column(scene, 'a1.c1');
  const synced_at = new Date(Date.parse(String(held['synced_at'])) + seconds * 1000).toISOString();
  await feedWith(scene, 'synced_since', { ...held, data_type: 'shown', synced_at });
  expect(rowOf(scene, 'columns', 'a1.c1')).toMatchObject({ data_type: wanted });
});

test('an upsert without a time counts as the oldest and doesn’t replace the row (R10)', async () => {
  const scene = await syncedScene();
  const { synced_at: _, ...timeless } = column(scene, 'a1.c1');
  await feedWith(scene, 'synced_since', { ...timeless, data_type: 'timeless' });
  expect(rowOf(scene, 'columns', 'a1.c1')).toMatchObject({ data_type: 'int' });
});

test.each([
  ['has no effect if its deleted_at is before', -1, null, 0],
  ['causes a lookup if its deleted_at equals', 0, null, 1],
  ['applies if its deleted_at is after', 1, 'tombstone', 0],
])('a tombstone %s the synced_at of its row (R10)', async (_, seconds, deletion, lookups) => {
  const scene = await syncedScene();
  const held = column(scene, 'a1.c1');
  const deleted_at = new Date(Date.parse(String(held['synced_at'])) + seconds * 1000).toISOString();
  await feedWith(scene, 'deleted_since', { ...held, deleted_at });
  expect(rowOf(scene, 'columns', 'a1.c1')).toMatchObject({ deletion });
  expect(lookedUp(scene)).toHaveLength(lookups);
});

/** The last run's lookups of columns by id. */
const lookedUp = ({ mirrored }: Scene): unknown[] =>
  mirrored.requests('columns').flatMap(({ query }) => ('ids' in query ? [query['ids']] : []));

test('a row and its tombstone of the same instant are looked up by id, and absent if not returned (R10)', async () => {
  const scene = await syncedScene();
  const { synced_at } = column(scene, 'a1.c1');
  remove(scene.env, 'columns', 'a1.c1', 'lost');
  transformItems(scene, 'columns', 'deleted_since', (sent) => [...sent, { id: 'a1.c1', deleted_at: synced_at }]);
  const { server_time, status } = await scene.mirrored.sync();
  expect(status).toBe('done');
  expect(lookedUp(scene)).toEqual([['a1.c1']]);
  expect(rowOf(scene, 'columns', 'a1.c1')).toMatchObject({ deletion: 'absent', deleted_at: server_time });
  expectMirrored(scene);
});

test.each([false, true])(
  'a row recreated at the instant of its deletion is live after a lookup; tombstone mirrored before: %s (R10)',
  async (wasMirrored) => {
    const scene = await syncedScene();
    const { env, mirrored } = scene;
    env.keepsTombstones = true;
    remove(env, 'columns', 'a1.c1');
    if (wasMirrored) await mirrored.sync();
    expect(liveIds(scene, 'columns').includes('a1.c1')).toBe(!wasMirrored);
    recreateInSameSecond(env, 'columns', 'a1.c1');
    await mirrored.sync();
    expect(lookedUp(scene)).toEqual([['a1.c1']]);
    expectMirrored(scene);
  },
);

test.each([
  ['no newer than the deletion does not revive', 0, 'tombstone'],
  ['newer than the deletion revives', 1, null],
])('an upsert %s a deleted row (R10)', async (_, seconds, deletion) => {
  const scene = await syncedScene();
  const held = column(scene, 'a1.c1');
  remove(scene.env, 'columns', 'a1.c1');
  await scene.mirrored.sync();
  const deletedAt = String(scene.env.columns.get('a1.c1')?.deletedAt);
  const synced_at = new Date(Date.parse(deletedAt) + seconds * 1000).toISOString();
  await feedWith(scene, 'synced_since', { ...held, data_type: 'again', synced_at });
  expect(rowOf(scene, 'columns', 'a1.c1')).toMatchObject({ deletion, data_type: 'again' });
});

test('a scan replaces a row of a later time, as after a restore of the source (R10)', async () => {
  const scene = await syncedScene();
  putColumn(scene.env, 'a1.c1', 'a1', { data_type: 'to be undone' });
  await scene.mirrored.sync();
  Object.assign(column(scene, 'a1.c1'), { data_type: 'restored', synced_at: '2026-11-01T00:00:00.000Z' });
  await scene.mirrored.sync({ full: true });
  expect(rowOf(scene, 'columns', 'a1.c1')).toMatchObject({ data_type: 'to be undone' });
  scene.world.advance(2 * HOUR);
  await scene.mirrored.sync({ full: true });
  expectMirrored(scene);
});

test('a resumed scan is trusted only up to the time when it began (R10)', async () => {
  const scene = await syncedScene();
  const stale = { ...column(scene, 'a3.c3') };
  failAt(scene, 'columns', 2, 'run');
  await scene.mirrored.sync({ full: true, pageSize: 4 });
  removeHooks(scene);
  scene.world.advance(HOUR);
  putColumn(scene.env, 'a3.c3', 'a3', { data_type: 'newer than the scan' });
  scene.world.advance(DAY);
  transformItems(scene, 'columns', 'scan', (sent) => [...sent, { ...column(scene, 'a3.c3') }, stale]);
  const seen = new Set<unknown>();
  scene.mirrored.afterCommit = ({ stream }) => {
    if (stream === 'columns') seen.add(rowOf(scene, 'columns', 'a3.c3')?.['data_type']);
  };
  await scene.mirrored.sync();
  expect([...seen]).toEqual(['newer than the scan']);
  expectMirrored(scene);
});

test('a scan that failed before T was known is trusted up to the T of its first page (R1, R10)', async () => {
  const scene = await syncedScene();
  remove(scene.env, 'columns', 'a1.c1');
  await scene.mirrored.sync();
  undelete(scene.env, 'columns', 'a1.c1');
  scene.world.dates = 'never';
  failAt(scene, 'columns', 1, 'stream');
  await scene.mirrored.sync({ full: true });
  removeHooks(scene);
  scene.world.dates = 'always';
  await scene.mirrored.sync();
  expect(rowOf(scene, 'columns', 'a1.c1')).toMatchObject({ deletion: 'tombstone' });
});

test('a scan revives a row whose deletion was undone once the tombstone is older than the overlap (R10)', async () => {
  const scene = await syncedScene();
  remove(scene.env, 'columns', 'a1.c1');
  await scene.mirrored.sync();
  undelete(scene.env, 'columns', 'a1.c1');
  await scene.mirrored.sync({ full: true });
  expect(liveIds(scene, 'columns')).not.toContain('a1.c1');
  scene.world.advance(2 * HOUR);
  await scene.mirrored.sync({ full: true });
  expectMirrored(scene);
});

test('an absent deletion yields to a returned row, even to an older version (R10)', async () => {
  const scene = await syncedScene();
  const held = column(scene, 'a1.c1');
  remove(scene.env, 'columns', 'a1.c1', 'lost');
  await scene.mirrored.sync({ full: true });
  expect(rowOf(scene, 'columns', 'a1.c1')).toMatchObject({ deletion: 'absent' });
  await feedWith(scene, 'synced_since', { ...held, synced_at: '2026-11-01T00:00:00Z', data_type: 'older' });
  expect(rowOf(scene, 'columns', 'a1.c1')).toMatchObject({ deletion: null, deleted_at: null, data_type: 'int' });
});

test('pages applied in any order, and repeatedly, give the same rows (R10)', async () => {
  const scene = await syncedScene();
  const sent: Item[] = [];
  const at = (seconds: number): string => new Date(scene.world.nowMs + seconds * 1000).toISOString();
  const base = { asset_id: 'a1', name: 'x', data_type: 'v' };
  sent.push({ ...base, id: 'x1', data_type: 'v1', synced_at: at(1) });
  sent.push({ ...base, id: 'x1', data_type: 'v2', synced_at: at(3) });
  sent.push({ ...base, id: 'x1', synced_at: at(1), deleted_at: at(2) });
  sent.push({ ...base, id: 'x2', data_type: 'v1', synced_at: at(1) });
  sent.push({ ...base, id: 'x2', synced_at: at(1), deleted_at: at(2) });
  const shown = new Set<string>();
  for (const order of [
    [0, 1, 2, 3, 4],
    [4, 3, 2, 1, 0],
    [2, 0, 4, 1, 3, 2, 0, 4],
    [1, 2, 0, 4, 3],
  ]) {
    for (const index of order) await feedWith(scene, 'synced_since', sent[index] as Item);
    const rows = scene.mirrored.rows("select * from columns where id in ('x1', 'x2') order by id");
    shown.add(JSON.stringify(rows.map(({ mirrored_at: _, ...row }) => row)));
    scene.mirrored.exec("delete from columns where id in ('x1', 'x2')");
  }
  expect([...shown]).toHaveLength(1);
  expect([...shown][0]).toContain('"data_type":"v2","synced_at"');
});

test('the feed corrects or deletes a row whose time was a century ahead (R10)', async () => {
  const scene = await syncedScene();
  for (const id of ['a1', 'a2']) stampInFuture(scene.env, 'assets', id);
  await scene.mirrored.sync({ full: true });
  expectMirrored(scene);
  expect(rowOf(scene, 'assets', 'a1')).toMatchObject({ description: 'from the future', synced_at: null });
  scene.world.advance(DAY);
  putAsset(scene.env, 'a1', { description: 'corrected' });
  remove(scene.env, 'assets', 'a2');
  await scene.mirrored.sync();
  expect(rowOf(scene, 'assets', 'a1')).toMatchObject({ description: 'corrected' });
  expect(rowOf(scene, 'assets', 'a2')).toMatchObject({ deletion: 'tombstone' });
});

test('deleted rows stay, with the time and kind of their deletion (R11)', async () => {
  const scene = await syncedScene();
  remove(scene.env, 'tests', 't1');
  remove(scene.env, 'tests', 't2', 'lost');
  const deletedAt = String(scene.env.tests.get('t1')?.deletedAt).replace('Z', '000Z');
  const { server_time } = await scene.mirrored.sync({ full: true });
  expect(rowOf(scene, 'tests', 't1')).toMatchObject({ name: 't1', deletion: 'tombstone', deleted_at: deletedAt });
  expect(rowOf(scene, 'tests', 't2')).toMatchObject({ name: 't2', deletion: 'absent', deleted_at: server_time });
  putAsset(scene.env, 'a1', { description: 'goes on' });
  expect((await scene.mirrored.sync()).status).toBe('done');
});

test.each([
  ['without a time', null],
  ['with the time it had', '2026-11-20T01:00:00Z'],
])('a restored row %s is live after a scan, though its tombstone is still sent (R10, R13)', async (_, synced_at) => {
  const scene = await syncedScene();
  const { env, mirrored, world } = scene;
  env.keepsTombstones = true;
  remove(env, 'columns', 'a1.c1');
  await mirrored.sync();
  putColumn(env, 'a1.c1', 'a1');
  column(scene, 'a1.c1')['synced_at'] = synced_at;
  world.advance(8 * DAY);
  await mirrored.sync();
  expectMirrored(scene);
});

test('after a scan, a row that its tombstone deletes is looked up only if the scan has returned it (R10, R22)', async () => {
  const scene = await syncedScene();
  remove(scene.env, 'columns', 'a1.c1');
  await scene.mirrored.sync({ full: true });
  expect(rowOf(scene, 'columns', 'a1.c1')).toMatchObject({ deletion: 'tombstone' });
  expect(lookedUp(scene)).toEqual([]);
});

test('a tombstone of the future that is still sent does not delete a live row (R10)', async () => {
  const scene = await syncedScene();
  transformItems(scene, 'columns', 'deleted_since', (sent) => [
    ...sent,
    { id: 'a1.c1', deleted_at: '2126-01-01T00:00:00Z' },
  ]);
  expect((await scene.mirrored.sync()).status).toBe('done');
  expect(lookedUp(scene)).toEqual([['a1.c1']]);
  expectMirrored(scene);
});
