import { expect, test } from 'vitest';
import {
  type EnvironmentModel,
  putAsset,
  putAssetEdge,
  putColumn,
  putColumnEdges,
  putScore,
  remove,
  removeAsset,
  undelete,
} from '../model/environment.ts';
import { streamSummary } from '../model/test-mirror.ts';
import { DAY, HOUR } from '../model/world.ts';
import { expectMirrored, liveIds, removeHooks, rowOf, syncedScene, transformItems } from '../support/scene.ts';
import { COLUMN_COUNT, firstNumbers, furnishColumns, loseColumns, NUMBERS } from './shrink-setup.ts';

/** Columns of one asset, each with an edge; assets with an edge and a score each. */
function furnishMany(place: EnvironmentModel): void {
  furnishColumns(place);
  for (const n of NUMBERS) {
    putAsset(place, `a${n}`);
    putAssetEdge(place, 'hub', `a${n}`);
    putScore(place, `a${n}`, 1);
  }
}

test('a sweep of more than half of the rows is held back: changes are written, and every run reports it (R14)', async () => {
  const scene = await syncedScene(furnishMany);
  loseColumns(scene, 60);
  putColumn(scene.env, 'c109', 'hub', { data_type: 'changed' });
  const summary = await scene.mirrored.sync({ full: true });
  expect(summary.status).toBe('problems');
  expect(streamSummary(summary, 'columns')).toMatchObject({ status: 'held', rows_held: 60, rows_deleted: 0 });
  expect(streamSummary(summary, 'columns').error).toContain('--allow-shrink');
  expect(liveIds(scene, 'columns')).toHaveLength(COLUMN_COUNT);
  expect(rowOf(scene, 'columns', 'c109')).toMatchObject({ data_type: 'changed' });
  for (let run = 0; run < 2; run++) {
    scene.world.advance(DAY);
    const later = await scene.mirrored.sync();
    expect(later.status).toBe('problems');
    expect(streamSummary(later, 'columns')).toMatchObject({ mode: 'feed', status: 'held', rows_held: 60 });
  }
});

test('held-back removals end when a scan or a feed returns the rows again (R14)', async () => {
  const scene = await syncedScene(furnishMany);
  loseColumns(scene, 60);
  await scene.mirrored.sync({ full: true });
  putColumn(scene.env, 'c000', 'hub', { data_type: 'back by the feed' });
  expect(streamSummary(await scene.mirrored.sync(), 'columns')).toMatchObject({ rows_held: 59 });
  for (const n of firstNumbers(60)) undelete(scene.env, 'columns', `c${n}`);
  const summary = await scene.mirrored.sync({ full: true });
  expect(streamSummary(summary, 'columns')).toMatchObject({ status: 'done', rows_held: 0 });
  expect(summary.status).toBe('done');
  expectMirrored(scene);
});

test.each([
  [55, 'done'],
  [56, 'held'],
])('a sweep of %i of 110 columns is %s, because the limit is half (R14)', async (count, status) => {
  const scene = await syncedScene(furnishMany);
  loseColumns(scene, count);
  expect(streamSummary(await scene.mirrored.sync({ full: true }), 'columns').status).toBe(status);
});

test.each([
  [49, 'done'],
  [50, 'held'],
])('a sweep of %i of 80 columns is %s, because the limit is fifty rows (R14)', async (count, status) => {
  const scene = await syncedScene((place) => {
    putAsset(place, 'hub');
    for (const n of firstNumbers(80)) putColumn(place, `c${n}`, 'hub');
  });
  loseColumns(scene, count);
  expect(streamSummary(await scene.mirrored.sync({ full: true }), 'columns').status).toBe(status);
});

test('the removals of a snapshot that would lose more than half are held back, and the rest is applied (R14)', async () => {
  const scene = await syncedScene(furnishMany);
  for (const n of firstNumbers(60)) scene.env.assetEdges.delete(`hub>a${n}`);
  putAssetEdge(scene.env, 'a000', 'hub');
  const summary = await scene.mirrored.sync();
  expect(streamSummary(summary, 'asset_lineage')).toMatchObject({ status: 'held', rows_held: 60, rows_written: 1 });
  expect(scene.mirrored.rows('select * from asset_lineage')).toHaveLength(COLUMN_COUNT + 1);
  expect(streamSummary(await scene.mirrored.sync(), 'asset_lineage').rows_held).toBe(60);
  const after = await scene.mirrored.sync({ allowShrink: true });
  expect(streamSummary(after, 'asset_lineage')).toMatchObject({ status: 'done', rows_deleted: 60 });
  expectMirrored(scene);
});

test.each([
  [55, 'done'],
  [56, 'held'],
])('a snapshot without %i of 110 edges, none explained, is %s (R14)', async (count, status) => {
  const scene = await syncedScene(furnishMany);
  for (const n of firstNumbers(count)) scene.env.assetEdges.delete(`hub>a${n}`);
  expect(streamSummary(await scene.mirrored.sync(), 'asset_lineage').status).toBe(status);
});

test('edges that stay count as live, even if their downstream end is returned with other edges (R14)', async () => {
  const scene = await syncedScene((place) => {
    for (const id of ['hub', 'old', 'new', 'kept']) putAsset(place, id, { kind: 'etl' });
    for (const n of NUMBERS) {
      for (const id of [`a${n}`, `b${n}`]) putAsset(place, id);
      if (Number(n) < 60) putAssetEdge(place, 'hub', `a${n}`);
      putAssetEdge(place, 'old', `b${n}`);
      putAssetEdge(place, 'kept', `b${n}`);
    }
  });
  const { env, mirrored, world } = scene;
  // Sixty vanish without an explanation. Those from `kept` on remain and are the majority.
  for (const n of firstNumbers(60)) env.assetEdges.delete(`hub>a${n}`);
  for (const n of firstNumbers(COLUMN_COUNT)) {
    env.assetEdges.delete(`old>b${n}`);
    putAssetEdge(env, 'new', `b${n}`);
  }
  world.advance(HOUR);
  expect(streamSummary(await mirrored.sync(), 'asset_lineage')).toMatchObject({ status: 'done', rows_held: 0 });
  expectMirrored(scene);
});

test('held-back removals of a snapshot end when it returns the rows again (R14)', async () => {
  const scene = await syncedScene(furnishMany);
  const edges = [...scene.env.assetEdges];
  scene.env.assetEdges.clear();
  expect((await scene.mirrored.sync()).status).toBe('problems');
  for (const [key, edge] of edges) scene.env.assetEdges.set(key, edge);
  expect((await scene.mirrored.sync()).status).toBe('done');
  expectMirrored(scene);
});

test('neither scores nor edges of assets deleted by tombstone are held back (R14)', async () => {
  const scene = await syncedScene(furnishMany);
  for (const n of firstNumbers(100)) remove(scene.env, 'assets', `a${n}`);
  scene.world.advance(HOUR);
  const summary = await scene.mirrored.sync();
  expect(summary.status).toBe('done');
  expect(streamSummary(summary, 'asset_lineage').rows_deleted).toBe(100);
  expect(streamSummary(summary, 'asset_health_scores').rows_deleted).toBe(100);
  expectMirrored(scene);
});

test('columns of an asset deleted by tombstone don’t count, and only the others are compared (R14)', async () => {
  const scene = await syncedScene(furnishMany);
  for (const n of firstNumbers(100)) putColumn(scene.env, `own${n}`, 'own');
  putAsset(scene.env, 'own');
  await scene.mirrored.sync();
  removeAsset(scene.env, 'own', 'lost');
  for (const n of firstNumbers(40)) remove(scene.env, 'columns', `c${n}`, 'lost');
  const summary = await scene.mirrored.sync({ full: true });
  expect(streamSummary(summary, 'columns')).toMatchObject({ status: 'done', rows_deleted: 140 });
  expectMirrored(scene);
});

test('scores are never held back, even if all are removed (R14)', async () => {
  const scene = await syncedScene(furnishMany);
  scene.env.scores.clear();
  const summary = await scene.mirrored.sync();
  expect(streamSummary(summary, 'asset_health_scores')).toMatchObject({ status: 'done', rows_deleted: COLUMN_COUNT });
});

test.each([true, false])('a large replacement of column lineage is held back (scanned: %s) (R14)', async (full) => {
  const scene = await syncedScene(furnishMany);
  for (const n of firstNumbers(60))
    if (full) scene.env.columnEdges.delete(`far>c${n}`);
    else putColumnEdges(scene.env, `c${n}`, []);
  scene.world.advance(2 * HOUR);
  const summary = await scene.mirrored.sync({ full });
  expect(streamSummary(summary, 'column_lineage')).toMatchObject({ status: 'held', rows_held: 60 });
  expect(scene.mirrored.rows('select * from column_lineage')).toHaveLength(COLUMN_COUNT);
  expect(streamSummary(await scene.mirrored.sync(), 'column_lineage')).toMatchObject({ status: 'held', requests: 0 });
  const after = await scene.mirrored.sync({ allowShrink: true });
  expect(streamSummary(after, 'column_lineage')).toMatchObject({ mode: 'marked', status: 'done', rows_deleted: 60 });
  expect(scene.mirrored.requests('columns').flatMap(({ query }) => query['ids'] ?? [])).toHaveLength(60);
  expectMirrored(scene);
  expect((await scene.mirrored.sync()).status).toBe('done');
});

test('a held-back row stays held back if its tombstone is older than the row (R14)', async () => {
  const scene = await syncedScene(furnishMany);
  loseColumns(scene, 60);
  await scene.mirrored.sync({ full: true });
  scene.world.advance(DAY);
  const synced = Date.parse(String(rowOf(scene, 'columns', 'c000')?.['synced_at']));
  transformItems(scene, 'columns', 'deleted_since', () => [
    { id: 'c000', deleted_at: new Date(synced - 1000).toISOString() },
    { id: 'c001', deleted_at: new Date(synced + 1000).toISOString() },
  ]);
  expect(streamSummary(await scene.mirrored.sync(), 'columns')).toMatchObject({ status: 'held', rows_held: 59 });
  expect(liveIds(scene, 'columns')).toContain('c000');
  expect(rowOf(scene, 'columns', 'c001')).toMatchObject({ deletion: 'tombstone' });
  removeHooks(scene);
  await scene.mirrored.sync({ allowShrink: true });
  expect(rowOf(scene, 'columns', 'c000')).toMatchObject({ deletion: 'absent' });
});

test('every run reports held-back removals, even of streams that it doesn’t sync, and no other such streams (R14)', async () => {
  const scene = await syncedScene(furnishMany);
  expect(await scene.mirrored.sync({ only: ['tests'] })).toMatchObject({ status: 'done', streams: [{}] });
  loseColumns(scene, 60);
  await scene.mirrored.sync({ full: true });
  const { status, streams } = await scene.mirrored.sync({ only: ['tests'] });
  expect(status).toBe('problems');
  expect(streams.map((stream) => [stream.stream, stream.status, stream.rows_held, stream.requests])).toEqual([
    ['tests', 'done', 0, 2],
    ['columns', 'held', 60, 0],
  ]);
  expect(streams[1]?.error).toContain('--allow-shrink');
  expect((await scene.mirrored.sync({ allowShrink: true })).status).toBe('done');
  expect(await scene.mirrored.sync({ only: ['tests'] })).toMatchObject({ status: 'done', streams: [{}] });
});
