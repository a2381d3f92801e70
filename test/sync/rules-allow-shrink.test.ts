import { expect, test } from 'vitest';
import { putAsset, putColumn, remove, undelete } from '../model/environment.ts';
import { streamSummary } from '../model/test-mirror.ts';
import { DAY, HOUR } from '../model/world.ts';
import { expectMirrored, onRequest, removeHooks, rowOf, syncedScene } from '../support/scene.ts';
import { COLUMN_COUNT, firstNumbers, furnishColumns, loseColumns } from './shrink-setup.ts';

test('--allow-shrink applies held-back removals without a new scan (R14)', async () => {
  const scene = await syncedScene(furnishColumns);
  loseColumns(scene, 60);
  const { server_time } = await scene.mirrored.sync({ full: true });
  scene.world.advance(HOUR);
  const summary = await scene.mirrored.sync({ allowShrink: true });
  expect(streamSummary(summary, 'columns')).toMatchObject({
    mode: 'feed',
    status: 'done',
    rows_held: 0,
    rows_deleted: 60,
  });
  expect(rowOf(scene, 'columns', 'c000')).toMatchObject({ deletion: 'absent', deleted_at: server_time });
  expectMirrored(scene);
  expect((await scene.mirrored.sync()).status).toBe('done');
});

test('--allow-shrink first looks held-back rows up by id, and returned rows stay (R12, R14)', async () => {
  const scene = await syncedScene(furnishColumns);
  const { env, world, mirrored } = scene;
  loseColumns(scene, 60);
  await mirrored.sync({ full: true });
  world.advance(DAY);
  for (const n of firstNumbers(30)) undelete(env, 'columns', `c${n}`);
  const summary = await mirrored.sync({ allowShrink: true });
  expect(mirrored.requests('columns').flatMap(({ query }) => query['ids'] ?? [])).toHaveLength(60);
  expect(streamSummary(summary, 'columns')).toMatchObject({ mode: 'feed', status: 'done', rows_deleted: 30 });
  expectMirrored(scene);
  expect((await mirrored.sync()).status).toBe('done');
});

/** Ids so long that a request has room for two. */
const longIds = firstNumbers(60).map((n) => `${n}${'ö'.repeat(498)}`);

test.each([
  ['none of them is returned, all are removed', false, 0],
  ['one of them is returned, those that were not looked up stay held back', true, 20],
])(
  '--allow-shrink looks held-back rows up in twenty requests, two ids each: if %s (R12, R14)',
  async (_, isReturned, held) => {
    const scene = await syncedScene((place) => {
      putAsset(place, 'hub');
      for (const id of longIds) putColumn(place, id, 'hub');
    });
    const { env, world, mirrored } = scene;
    for (const id of longIds) remove(env, 'columns', id, 'lost');
    await mirrored.sync({ full: true });
    world.advance(DAY);
    if (isReturned) undelete(env, 'columns', String(longIds[0]));
    const summary = await mirrored.sync({ allowShrink: true });
    expect(mirrored.requests('columns').filter(({ query }) => 'ids' in query)).toHaveLength(20);
    expect(streamSummary(summary, 'columns')).toMatchObject({
      rows_held: held,
      rows_deleted: isReturned ? 39 : 60,
      status: isReturned ? 'held' : 'done',
    });
    expect((await mirrored.sync({ allowShrink: true })).status).toBe('done');
    expectMirrored(scene);
  },
);

test('a run that starts with --allow-shrink holds nothing back (R14)', async () => {
  const scene = await syncedScene(furnishColumns);
  loseColumns(scene, 60);
  expect((await scene.mirrored.sync({ full: true, allowShrink: true })).status).toBe('done');
  expectMirrored(scene);
});

test('--allow-shrink doesn’t remove rows that were returned again (R14)', async () => {
  const scene = await syncedScene(furnishColumns);
  loseColumns(scene, 60);
  await scene.mirrored.sync({ full: true });
  for (const n of firstNumbers(30)) putColumn(scene.env, `c${n}`, 'hub');
  await scene.mirrored.sync();
  await scene.mirrored.sync({ allowShrink: true });
  expectMirrored(scene);
});

test('before applying held-back edges, --allow-shrink reads their columns again and keeps edges of hidden ones (R14, R18)', async () => {
  const scene = await syncedScene(furnishColumns);
  const { env, world, mirrored } = scene;
  for (const n of firstNumbers(60)) env.columnEdges.delete(`far>c${n}`);
  world.advance(2 * HOUR);
  expect(streamSummary(await mirrored.sync({ full: true }), 'column_lineage')).toMatchObject({ rows_held: 60 });
  for (const n of firstNumbers(20)) env.columnEdges.set(`far>c${n}`, ['far', `c${n}`]);
  onRequest(scene, 'column-lineage', 1, () => env.hidden.add('hub'));
  await mirrored.sync({ allowShrink: true, concurrency: 1 });
  expect(mirrored.rows('select * from column_lineage')).toHaveLength(COLUMN_COUNT);
  removeHooks(scene);
  env.hidden.clear();
  await mirrored.sync({ allowShrink: true });
  expect(mirrored.rows('select * from column_lineage')).toHaveLength(COLUMN_COUNT - 40);
  expectMirrored(scene);
});
