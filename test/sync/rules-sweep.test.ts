import { expect, test } from 'vitest';
import { type EnvironmentModel, type Item, putColumn, putTest, remove, undelete } from '../model/environment.ts';
import { streamSummary } from '../model/test-mirror.ts';
import { DAY } from '../model/world.ts';
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

test('an interrupted scan sweeps nothing, and the finished one does (R12)', async () => {
  const scene = await syncedScene();
  remove(scene.env, 'columns', 'a1.c1', 'lost');
  failAt(scene, 'columns', 4);
  await scene.mirrored.sync({ full: true, pageSize: 2 });
  expect(liveIds(scene, 'columns')).toContain('a1.c1');
  removeHooks(scene);
  await scene.mirrored.sync();
  expectMirrored(scene);
});

test('tests are swept only once the enabled and the disabled ones have been read (R12)', async () => {
  const scene = await syncedScene();
  remove(scene.env, 'tests', 't1', 'lost');
  failAt(scene, 'tests', 2);
  await scene.mirrored.sync({ full: true });
  expect(scene.mirrored.requests('tests')[1]?.query).toMatchObject({ disabled: 'true' });
  expect(liveIds(scene, 'tests')).toEqual(['t1', 't2', 't3', 't4']);
  removeHooks(scene);
  await scene.mirrored.sync();
  expect(liveIds(scene, 'tests')).toEqual(['t2', 't3', 't4']);
});

test('after a scan the tombstones feed is read from the old watermark, so a tombstone wins over absence (R12)', async () => {
  const scene = await syncedScene();
  remove(scene.env, 'columns', 'a1.c1');
  await scene.mirrored.sync({ full: true });
  expect(scene.mirrored.requests('columns').map(({ query }) => Object.keys(query)[0])).toEqual([
    'limit',
    'deleted_since',
  ]);
  expect(rowOf(scene, 'columns', 'a1.c1')).toMatchObject({ deletion: 'tombstone' });
});

test('candidates are looked up by id, tests in both lists, and returned ones stay without another scan (R12)', async () => {
  const scene = await syncedScene();
  remove(scene.env, 'tests', 't2', 'lost');
  transformItems(scene, 'tests', 'scan', (sent) => sent.filter(({ id }) => id !== 't1' && id !== 't3'));
  const summary = await scene.mirrored.sync({ full: true });
  expect(streamSummary(summary, 'tests')).toMatchObject({ rows_deleted: 1, status: 'done' });
  const asked = scene.mirrored.requests('tests').flatMap(({ query }) => ('ids' in query ? [query] : []));
  expect(asked).toEqual([
    { ids: ['t1', 't2', 't3'], limit: 2000 },
    { disabled: 'true', ids: ['t1', 't2', 't3'], limit: 2000 },
  ]);
  expectMirrored(scene);
  removeHooks(scene);
  expect(streamSummary(await scene.mirrored.sync(), 'tests')).toMatchObject({ mode: 'feed' });
});

/** Ids so long that a request has room for two. */
const longId = (n: number): string => `${String(n).padStart(2, '0')}${'ö'.repeat(499)}`;

function furnishLong(place: EnvironmentModel): void {
  for (let n = 0; n < 45; n++) putColumn(place, longId(n), 'a1');
  for (let n = 0; n < 60; n++) putColumn(place, `z${n}`, 'a1');
}

const askedIds = (scene: Scene): number =>
  scene.mirrored.requests('columns').filter(({ query }) => 'ids' in query).length;

test('if twenty requests return no candidate, those not looked up are deleted too (R12)', async () => {
  const scene = await syncedScene(furnishLong);
  for (let n = 0; n < 45; n++) remove(scene.env, 'columns', longId(n), 'lost');
  await scene.mirrored.sync({ full: true });
  expect(askedIds(scene)).toBe(20);
  expectMirrored(scene);
});

test('if a candidate is returned, those not looked up stay, and the next run scans again (R12)', async () => {
  const scene = await syncedScene(furnishLong);
  for (let n = 0; n < 45; n++) if (n !== 3) remove(scene.env, 'columns', longId(n), 'lost');
  transformItems(scene, 'columns', 'scan', (sent) => sent.filter(({ id }) => id !== longId(3)));
  await scene.mirrored.sync({ full: true });
  expect(askedIds(scene)).toBe(20);
  const left = liveIds(scene, 'columns').flatMap((id) =>
    String(id).startsWith('z') ? [] : [Number(String(id).slice(0, 2))],
  );
  expect(left).toEqual([3, 40, 41, 42, 43, 44]);
  removeHooks(scene);
  expect(streamSummary(await scene.mirrored.sync(), 'columns').reason).toBe('refuted');
  expectMirrored(scene);
});

test('rows returned by id count as seen by that second scan, and no third one follows (R12)', async () => {
  const scene = await syncedScene(furnishLong);
  for (let n = 0; n < 45; n++) if (n !== 3) remove(scene.env, 'columns', longId(n), 'lost');
  transformItems(scene, 'columns', 'scan', (sent) => sent.filter(({ id }) => id !== longId(3)));
  await scene.mirrored.sync({ full: true });
  expect(streamSummary(await scene.mirrored.sync(), 'columns').reason).toBe('refuted');
  const asked = scene.mirrored.requests('columns').flatMap(({ query }) => (query['ids'] as string[] | undefined) ?? []);
  expect(asked).toEqual([40, 41, 42, 43, 44].map(longId));
  expectMirrored(scene);
  expect(streamSummary(await scene.mirrored.sync(), 'columns').mode).toBe('feed');
});

test('a rejected row counts as seen and is not swept (R12)', async () => {
  const scene = await syncedScene();
  transformItems(scene, 'columns', 'scan', (sent) =>
    sent.map((item) => (item['id'] === 'a1.c1' ? { ...item, name: 7 } : item)),
  );
  const summary = await scene.mirrored.sync({ full: true });
  expect(streamSummary(summary, 'columns')).toMatchObject({ rows_rejected: 1, rows_deleted: 0 });
  expect(askedIds(scene)).toBe(0);
  expect(liveIds(scene, 'columns')).toContain('a1.c1');
});

test('the assets stream sweeps all kinds, and the typed streams read no tombstones and never sweep (R12)', async () => {
  const scene = await syncedScene();
  remove(scene.env, 'assets', 'a3', 'lost');
  remove(scene.env, 'assets', 'b1', 'lost');
  transformItems(scene, 'assets/tables', 'scan', () => []);
  await scene.mirrored.sync({ full: true });
  expect(liveIds(scene, 'assets')).toEqual(['a1', 'a2', 'o1']);
  const typed = scene.mirrored.requests().filter(({ path }) => /tables|bi/.test(path));
  expect(typed.map(({ path, query }) => [path, query])).toEqual([
    ['e1/assets/tables', { limit: 2000 }],
    ['e1/assets/bi', { limit: 2000 }],
  ]);
});

test('a test that moves between the two lists during a scan is not swept (R12)', async () => {
  const scene = await syncedScene();
  let lists = 0;
  scene.world.beforeRequest = ({ path }) => {
    if (path === 'e1/tests' && ++lists === 2) putTest(scene.env, 't3', 'a2', { disabled: false });
  };
  expect((await scene.mirrored.sync({ full: true })).status).toBe('done');
  expect(liveIds(scene, 'tests')).toEqual(['t1', 't2', 't3', 't4']);
  expect(rowOf(scene, 'tests', 't3')).toMatchObject({ disabled: 0 });
});

test('an empty mirror is not swept and costs no extra requests (R12)', async () => {
  const scene = newScene();
  await scene.mirrored.sync();
  expect(scene.mirrored.requests('columns').map(({ query }) => query)).toEqual([{ limit: 2000 }]);
});

test('a returned candidate wins over its own tombstone once that is older than the overlap (R10)', async () => {
  const scene = await syncedScene();
  remove(scene.env, 'columns', 'a1.c1');
  await scene.mirrored.sync();
  scene.world.advance(DAY);
  undelete(scene.env, 'columns', 'a1.c1');
  transformItems(scene, 'columns', 'scan', (sent: readonly Item[]) => [...sent]);
  await scene.mirrored.sync({ full: true });
  expectMirrored(scene);
});
