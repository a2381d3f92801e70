import { expect, test } from 'vitest';
import {
  type EnvironmentModel,
  put,
  putAsset,
  putColumn,
  putColumnEdges,
  remove,
  undelete,
} from '../model/environment.ts';
import { streamSummary } from '../model/test-mirror.ts';
import { DAY, HOUR } from '../model/world.ts';
import { roundEndOf } from '../support/commit-parts.ts';
import {
  expectMirrored,
  failAt,
  newScene,
  onRequest,
  removeHooks,
  rowOf,
  type Scene,
  syncedScene,
  transformItems,
} from '../support/scene.ts';

const edgesInto = ({ mirrored }: Scene, id: string): unknown[] =>
  mirrored
    .rows('select upstream_column_id up from column_lineage where downstream_column_id = ? order by 1', id)
    .map(({ up }) => up);
const queries = ({ mirrored }: Scene): string[][] =>
  mirrored.requests('column-lineage').map(({ query }) => Object.keys(query).filter((name) => name !== 'limit'));
const marks = ({ mirrored }: Scene): unknown[] =>
  mirrored.rows("select id from marks where stream = 'column_lineage' order by id").map(({ id }) => id);

/** The marks that were not left to a later run. */
const owed = ({ mirrored }: Scene): unknown[] =>
  mirrored.rows("select id from marks where stream = 'column_lineage' and left_by_run is null").map(({ id }) => id);

/** A column that only a scan can find. */
function putOld(place: EnvironmentModel, id: string, ups: readonly string[] = []): void {
  put(place, 'columns', id, { asset_id: 'a1', name: id });
  putColumnEdges(place, id, ups);
  Object.assign(place.columns.get(id)?.item ?? {}, { synced_at: '1970-01-01T00:00:00' });
}

test('the first scan of column_lineage waits for the first scan of columns to end (R18)', async () => {
  const scene = newScene();
  failAt(scene, 'columns', 3);
  const summary = await scene.mirrored.sync({ pageSize: 2 });
  expect(streamSummary(summary, 'column_lineage')).toMatchObject({ status: 'waiting', requests: 0 });
  removeHooks(scene);
  expect((await scene.mirrored.sync()).status).toBe('done');
  expectMirrored(scene);
});

test('one read of the upserts feed replaces the edges of a changed column, and another after the overlap (R18)', async () => {
  const scene = await syncedScene();
  putColumnEdges(scene.env, 'a2.c1', ['a1.c3', 'elsewhere']);
  const summary = await scene.mirrored.sync();
  expect(queries(scene)).toEqual([['synced_since']]);
  expect(streamSummary(summary, 'column_lineage')).toMatchObject({ rows_written: 2, rows_deleted: 2 });
  expect(edgesInto(scene, 'a2.c1')).toEqual(['a1.c3', 'elsewhere']);
  expectMirrored(scene);
  expect(marks(scene)).toEqual(['a2.c1']);
  await scene.mirrored.sync();
  expect(queries(scene)).toEqual([]);
  scene.world.advance(2 * HOUR);
  // The service had committed only some of the edges.
  scene.env.columnEdges.set('a1.c2>a2.c1', ['a1.c2', 'a2.c1']);
  await scene.mirrored.sync();
  expect(queries(scene)).toEqual([['synced_since']]);
  expectMirrored(scene);
  expect(marks(scene)).toEqual([]);
  await scene.mirrored.sync();
  expect(queries(scene)).toEqual([]);
});

test('a column without edges in the feed loses its last edge, and is read once more after the overlap (R18)', async () => {
  const scene = await syncedScene();
  putColumnEdges(scene.env, 'a2.c2', []);
  await scene.mirrored.sync();
  expect(edgesInto(scene, 'a2.c2')).toEqual([]);
  expectMirrored(scene);
  expect(marks(scene)).toEqual(['a2.c2']);
  // The service commits the column's new edge later than the column.
  scene.env.columnEdges.set('a1.c3>a2.c2', ['a1.c3', 'a2.c2']);
  scene.world.advance(2 * HOUR);
  await scene.mirrored.sync();
  expectMirrored(scene);
  expect(marks(scene)).toEqual([]);
});

test('edges of one column that come on two pages are replaced together (R18)', async () => {
  const scene = await syncedScene();
  putColumnEdges(scene.env, 'a2.c1', ['a1.c1', 'a1.c3', 'a3.c3', 'x', 'y']);
  const seen = new Set<string>();
  scene.mirrored.afterCommit = () => void seen.add(JSON.stringify(edgesInto(scene, 'a2.c1')));
  await scene.mirrored.sync({ pageSize: 2 });
  expect(seen.size).toBe(2);
  expectMirrored(scene);
});

test('marks survive a run in which lineage failed after columns were committed (R18)', async () => {
  const scene = await syncedScene();
  putColumnEdges(scene.env, 'a2.c1', ['a1.c3']);
  failAt(scene, 'column-lineage');
  expect((await scene.mirrored.sync()).status).toBe('problems');
  expect(marks(scene)).toEqual(['a2.c1']);
  removeHooks(scene);
  scene.world.advance(5 * DAY);
  expect((await scene.mirrored.sync()).status).toBe('done');
  expectMirrored(scene);
});

test('marks survive runs that don’t read lineage (R18)', async () => {
  const scene = await syncedScene();
  putColumnEdges(scene.env, 'a2.c1', ['a1.c3']);
  await scene.mirrored.sync({ only: ['assets', 'columns'] });
  scene.world.advance(DAY);
  await scene.mirrored.sync();
  expect(queries(scene)).toEqual([['synced_since']]);
  expectMirrored(scene);
});

test('marks made after a read began survive it (R18)', async () => {
  const scene = await syncedScene();
  putColumnEdges(scene.env, 'a2.c1', ['a1.c1', 'a1.c3']);
  failAt(scene, 'column-lineage', 2, 'run');
  await scene.mirrored.sync({ pageSize: 1, concurrency: 1 });
  removeHooks(scene);
  scene.world.advance(60);
  putColumnEdges(scene.env, 'a2.c1', ['elsewhere']);
  await scene.mirrored.sync({ only: ['columns'] });
  scene.mirrored.afterCommit = ({ stream, commit }) => {
    if (stream === 'column_lineage' && roundEndOf(commit)) owedThen.push(owed(scene));
  };
  const owedThen: unknown[] = [];
  expect((await scene.mirrored.sync()).status).toBe('done');
  expect(owedThen).toEqual([['a2.c1'], []]);
  expectMirrored(scene);
});

test('a column changed while its edges are read is read again in the next run (R18)', async () => {
  const scene = await syncedScene();
  putColumnEdges(scene.env, 'a2.c1', ['a1.c1', 'a1.c3']);
  onRequest(scene, 'column-lineage', 2, () => putColumnEdges(scene.env, 'a2.c1', ['elsewhere']));
  await scene.mirrored.sync({ pageSize: 1 });
  removeHooks(scene);
  await scene.mirrored.sync();
  expectMirrored(scene);
});

test('marked columns beyond the reach of the feed are looked up by column_ids (R18)', async () => {
  const scene = await syncedScene();
  putOld(scene.env, 'a1.old', ['a2.c3']);
  scene.env.denied.add('columns');
  await scene.mirrored.sync();
  scene.env.denied.clear();
  await scene.mirrored.sync();
  expect(queries(scene)).toEqual([['column_ids']]);
  expect(edgesInto(scene, 'a1.old')).toEqual(['a2.c3']);
  expectMirrored(scene);
});

test('a column outside the window of the feed and one inside are both brought up to date (R18)', async () => {
  const scene = await syncedScene();
  putOld(scene.env, 'a1.old', ['a2.c3']);
  putColumnEdges(scene.env, 'a2.c1', ['a1.old']);
  scene.env.denied.add('columns');
  await scene.mirrored.sync();
  scene.env.denied.clear();
  await scene.mirrored.sync();
  expect(queries(scene)).toEqual([['column_ids'], ['synced_since']]);
  expectMirrored(scene);
});

test('column lineage is scanned if that takes fewer requests than looking up the marked columns (R18)', async () => {
  const scene = await syncedScene();
  for (let n = 0; n < 6; n++) putOld(scene.env, `${n}${'ö'.repeat(498)}`, ['a2.c3']);
  scene.env.denied.add('columns');
  await scene.mirrored.sync();
  scene.env.denied.clear();
  const summary = await scene.mirrored.sync();
  expect(streamSummary(summary, 'column_lineage')).toMatchObject({
    mode: 'scan',
    reason: 'fewer-requests',
    requests: 1,
  });
  expectMirrored(scene);
});

test('edges are kept only for live columns, and arrive with their column (R18)', async () => {
  const scene = await syncedScene();
  onRequest(scene, 'column-lineage', 1, () => {
    putColumn(scene.env, 'a1.new', 'a1');
    putColumnEdges(scene.env, 'a1.new', ['a2.c1']);
  });
  await scene.mirrored.sync({ full: true });
  expect(edgesInto(scene, 'a1.new')).toEqual([]);
  removeHooks(scene);
  await scene.mirrored.sync();
  expectMirrored(scene);
});

test.each(['tombstone', 'lost'] as const)('a deleted column (%s) loses its edges at both ends (R18)', async (how) => {
  const scene = await syncedScene();
  remove(scene.env, 'columns', 'a2.c1', how);
  let left: unknown[] = ['not looked'];
  scene.mirrored.beforeCommit = ({ stream }) => {
    if (stream === 'column_lineage') left = [edgesInto(scene, 'a2.c1'), edgesInto(scene, 'a3.c1')];
  };
  await scene.mirrored.sync({ full: how === 'lost' });
  expect(left).toEqual([[], ['elsewhere']]);
  expectMirrored(scene);
});

test('an edge deleted with its upstream column returns in the same run if the service still has it (R18)', async () => {
  const scene = await syncedScene();
  const before = edgesInto(scene, 'a3.c1');
  scene.mirrored.afterCommit = ({ stream, commit }) => {
    if (stream === 'columns' && roundEndOf(commit)) expect(edgesInto(scene, 'a3.c1')).not.toEqual(before);
  };
  remove(scene.env, 'columns', 'a2.c1');
  await scene.mirrored.sync();
  expect(edgesInto(scene, 'a3.c1')).toEqual(before);
  expectMirrored(scene);
});

test('a second tombstone of a deleted column deletes the edges returned in between (R18)', async () => {
  const scene = await syncedScene();
  const { env, mirrored, world } = scene;
  putColumnEdges(env, 'a2.c1', ['a1.c1']);
  await mirrored.sync();
  remove(env, 'columns', 'a1.c1');
  await mirrored.sync();
  expect(edgesInto(scene, 'a2.c1')).toEqual(['a1.c1']);
  // No feed reports that it was restored, and within the overlap its tombstone wins.
  undelete(env, 'columns', 'a1.c1');
  await mirrored.sync();
  env.dropsEdges = true;
  world.advance(60);
  remove(env, 'columns', 'a1.c1');
  await mirrored.sync();
  expect(edgesInto(scene, 'a2.c1')).toEqual([]);
  expectMirrored(scene);
});

test('a restored column gets its edges back (R18)', async () => {
  const scene = await syncedScene();
  remove(scene.env, 'columns', 'a2.c1');
  await scene.mirrored.sync();
  scene.world.advance(2 * HOUR);
  undelete(scene.env, 'columns', 'a2.c1');
  await scene.mirrored.sync({ full: true });
  expect(edgesInto(scene, 'a2.c1')).toEqual(['a1.c1', 'a1.c2']);
  expectMirrored(scene);
});

test('a column tombstoned twice on one page loses its edges (R18)', async () => {
  const scene = await syncedScene();
  remove(scene.env, 'columns', 'a2.c1');
  const { deletedAt } = scene.env.columns.get('a2.c1') ?? {};
  const again = new Date(Date.parse(String(deletedAt)) + 1000).toISOString();
  transformItems(scene, 'columns', 'deleted_since', (sent) => [...sent, { id: 'a2.c1', deleted_at: again }]);
  expect(streamSummary(await scene.mirrored.sync(), 'columns')).toMatchObject({ rows_deleted: 1 });
  expect(rowOf(scene, 'columns', 'a2.c1')?.['deleted_at']).toBe(again.replace('Z', '000Z'));
  expect(edgesInto(scene, 'a2.c1')).toEqual([]);
  expectMirrored(scene);
});

test('between scans no request is sent without a mark, even if the feeds no longer reach back (R18)', async () => {
  const scene = await syncedScene();
  scene.world.advance(6 * DAY);
  await scene.mirrored.sync();
  expect(queries(scene)).toEqual([]);
  scene.world.advance(100 * DAY);
  putAsset(scene.env, 'a1', { description: 'no column of it' });
  expect(streamSummary(await scene.mirrored.sync({ fullEveryDays: 300 }), 'columns').reason).toBe('clamp');
  expect(queries(scene)).toEqual([]);
});

test('--full scans column lineage (R18)', async () => {
  const scene = await syncedScene();
  expect(streamSummary(await scene.mirrored.sync({ full: true }), 'column_lineage')).toMatchObject({
    reason: 'full',
  });
  expect(queries(scene)).toEqual([[]]);
});

test('a clamped bound causes a scan of column lineage if there is a mark (R18)', async () => {
  const scene = await syncedScene();
  putColumnEdges(scene.env, 'a2.c1', ['a1.c3']);
  scene.world.advance(100 * DAY);
  expect(streamSummary(await scene.mirrored.sync(), 'column_lineage')).toMatchObject({
    mode: 'scan',
    reason: 'clamp',
  });
  expectMirrored(scene);
});

test('a column whose edges changed gets a new mirrored_at, and one that was only read again doesn’t (R21)', async () => {
  const scene = await syncedScene();
  const time = (id: string): unknown => rowOf(scene, 'columns', id)?.['mirrored_at'];
  await scene.mirrored.sync();
  scene.env.columnEdges.delete('a1.c1>a2.c1');
  const before = ['a2.c1', 'a2.c2', 'a3.c1'].map(time);
  await scene.mirrored.sync({ full: true });
  const after = ['a2.c1', 'a2.c2', 'a3.c1'].map(time);
  expect(after.map((now, i) => now !== before[i])).toEqual([true, false, false]);
});

test('a column that gets its first edge gets a new mirrored_at (R21)', async () => {
  const scene = await syncedScene((place) => {
    putAsset(place, 'a1');
    for (const id of ['c1', 'c2']) putColumn(place, id, 'a1');
  });
  putColumnEdges(scene.env, 'c1', ['c2']);
  let columnsAt = '';
  scene.mirrored.afterCommit = ({ stream }) => {
    if (stream === 'columns') columnsAt = String(rowOf(scene, 'columns', 'c1')?.['mirrored_at']);
  };
  await scene.mirrored.sync();
  expect(String(rowOf(scene, 'columns', 'c1')?.['mirrored_at']) > columnsAt).toBe(true);
});
