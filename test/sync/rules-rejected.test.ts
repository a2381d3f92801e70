import { expect, test } from 'vitest';
import {
  execute,
  type Item,
  putAsset,
  putColumn,
  putTest,
  recreateInSameSecond,
  remove,
  removeAsset,
} from '../model/environment.ts';
import { makeMalformed, repairAll } from '../model/malformed.ts';
import { streamSummary } from '../model/test-mirror.ts';
import { DAY } from '../model/world.ts';
import { expectMirrored, liveIds, removeHooks, type Scene, syncedScene } from '../support/scene.ts';

const rejected = ({ mirrored }: Scene): unknown[] =>
  mirrored.rows('select stream, row_key from rejected_rows order by 1, 2').map((row) => Object.values(row).join(' '));

/** The ids of a collection that the last run looked up. */
const askedIds = ({ mirrored }: Scene, path: string): unknown[] =>
  mirrored.requests(path).flatMap(({ query }) => query['ids'] ?? []);

/** A malformed change of a column, which the feed has reported and does not report again. */
async function rejectChange(scene: Scene): Promise<void> {
  putColumn(scene.env, 'a1.c1', 'a1', { data_type: 'changed' });
  makeMalformed(scene.env, 'columns', 'a1.c1');
  for (const _ of ['told', 'told again within the overlap']) {
    expect((await scene.mirrored.sync()).status).toBe('problems');
    expect(askedIds(scene, 'columns')).toEqual([]);
    scene.world.advance(DAY);
  }
}

test('a rejected row is looked up in every run, none of which is green, until it is accepted (R9, R20)', async () => {
  const scene = await syncedScene();
  await rejectChange(scene);
  for (const _ of [1, 2]) {
    const summary = await scene.mirrored.sync();
    expect(summary.status).toBe('problems');
    expect(streamSummary(summary, 'columns')).toMatchObject({ status: 'done', rejected_standing: 1 });
    expect(askedIds(scene, 'columns')).toEqual(['a1.c1']);
    scene.world.advance(DAY);
  }
  // Repaired without a report: no feed returns it.
  scene.env.malformed.clear();
  expect((await scene.mirrored.sync()).status).toBe('done');
  expect(rejected(scene)).toEqual([]);
  expectMirrored(scene);
  await scene.mirrored.sync();
  expect(askedIds(scene, 'columns')).toEqual([]);
});

test('rejected tests are looked up in both lists, and removed if neither returns them (R20)', async () => {
  const scene = await syncedScene();
  for (const [id, disabled] of [
    ['x1', true],
    ['x2', false],
  ] as const) {
    putTest(scene.env, id, 'a1', { disabled });
    makeMalformed(scene.env, 'tests', id);
  }
  await scene.mirrored.sync();
  scene.world.advance(DAY);
  remove(scene.env, 'tests', 'x2', 'lost');
  await scene.mirrored.sync();
  expect(scene.mirrored.requests('tests').filter(({ query }) => 'ids' in query)).toHaveLength(2);
  expect(rejected(scene)).toEqual(['tests x1']);
  repairAll(scene.env);
  expect((await scene.mirrored.sync()).status).toBe('done');
  expectMirrored(scene);
});

test('a rejected row with a live earlier version stays until a scan has ended, even if no response has it (R12, R20)', async () => {
  const scene = await syncedScene();
  await rejectChange(scene);
  remove(scene.env, 'columns', 'a1.c1', 'lost');
  expect((await scene.mirrored.sync()).status).toBe('problems');
  expect(rejected(scene)).toEqual(['columns a1.c1']);
  expect((await scene.mirrored.sync({ full: true })).status).toBe('done');
  expect(liveIds(scene, 'columns')).not.toContain('a1.c1');
  expect(rejected(scene)).toEqual([]);
});

test.each([
  ['as old as', 0],
  ['older than', 60],
])('a tombstone %s the rejected version doesn’t clear the rejection (R10, R20)', async (_, seconds) => {
  const scene = await syncedScene();
  const { env, mirrored, world } = scene;
  env.keepsTombstones = true;
  remove(env, 'columns', 'a1.c1');
  recreateInSameSecond(env, 'columns', 'a1.c1');
  world.advance(seconds);
  if (seconds > 0) putColumn(env, 'a1.c1', 'a1', { data_type: 'changed' });
  makeMalformed(env, 'columns', 'a1.c1');
  for (const full of [false, true, false]) {
    expect((await mirrored.sync({ full })).status).toBe('problems');
    expect(rejected(scene)).toEqual(['columns a1.c1']);
    world.advance(DAY);
  }
  env.malformed.clear();
  expect((await mirrored.sync()).status).toBe('done');
  expectMirrored(scene);
});

test('a rejected row is removed with its asset (R13, R20)', async () => {
  const scene = await syncedScene();
  await rejectChange(scene);
  removeAsset(scene.env, 'a1', 'lost');
  await scene.mirrored.sync();
  scene.world.advance(DAY);
  expect((await scene.mirrored.sync()).status).toBe('done');
  expect(rejected(scene)).toEqual([]);
  expectMirrored(scene);
});

test('a rejected typed asset is looked up in its own list (R20, R22)', async () => {
  const scene = await syncedScene();
  const broken = (item: unknown) => ((item as Item)['id'] === 'a1' ? { ...(item as Item), db_name: 7 } : item);
  scene.world.transformPage = (page, { path }) =>
    path.endsWith('assets/tables') ? { ...page, items: [...page.items].map(broken) } : page;
  putAsset(scene.env, 'a1', { description: 'changed' });
  expect(streamSummary(await scene.mirrored.sync(), 'table_assets')).toMatchObject({ rejected_standing: 1 });
  scene.world.advance(DAY);
  expect((await scene.mirrored.sync()).status).toBe('problems');
  expect(askedIds(scene, 'assets/tables')).toEqual(['a1']);
  removeHooks(scene);
  expect((await scene.mirrored.sync()).status).toBe('done');
  expectMirrored(scene);
});

test('a run is not green while a stream that it syncs has rejected rows (R9, R20)', async () => {
  const scene = await syncedScene();
  await rejectChange(scene);
  expect((await scene.mirrored.sync({ only: ['tests'] })).status).toBe('done');
  expect((await scene.mirrored.sync({ only: ['columns'] })).status).toBe('problems');
});

test('the whole history of a rejected execution is read again until the execution is accepted (R20)', async () => {
  const scene = await syncedScene();
  const { world, env, mirrored } = scene;
  execute(env, 't1', 'odd', { start_time: new Date(world.nowMs - 30 * DAY * 1000).toISOString() });
  const broken = (item: unknown) => ((item as Item)['id'] === 'odd' ? { ...(item as Item), status: 7 } : item);
  world.transformPage = (page, { path }) =>
    path.endsWith('executions') ? { ...page, items: [...page.items].map(broken) } : page;
  for (const _ of [1, 2]) {
    expect((await mirrored.sync({ history: true })).status).toBe('problems');
    expect(rejected(scene)).toEqual(['test_executions ["t1.1","odd"]']);
    world.advance(10 * DAY);
  }
  expect(mirrored.requests('executions').map(({ path }) => path)).toEqual(['e1/tests/t1/executions']);
  removeHooks(scene);
  expect((await mirrored.sync({ history: true })).status).toBe('done');
  expect(mirrored.rows("select id from test_executions where id = 'odd'")).toHaveLength(1);
  await mirrored.sync({ history: true });
  expect(mirrored.requests('executions')).toEqual([]);
});

test.each([
  ['column_lineage', 'column-lineage', { upstream_column_id: 7, downstream_column_id: 'a2.c1' }],
  ['table_assets', 'assets/tables', { name: 'no id', kind: 'table' }],
] as const)(
  'a row of %s without a key stays rejected until a scan after --full-every no longer returns it (R13, R20)',
  async (stream, path, keyless) => {
    const scene = await syncedScene();
    const { mirrored, env, world } = scene;
    const modes = async (days: number): Promise<unknown[]> => {
      world.advance(days * DAY);
      const summary = await mirrored.sync();
      const { status, mode, reason } = streamSummary(summary, stream);
      return [summary.status, status, mode, reason, mirrored.requests(path).length];
    };
    world.transformPage = (page, asked) =>
      asked.path.endsWith(`/${path}`) ? { ...page, items: [...page.items, keyless] } : page;
    putColumn(env, 'a2.c1', 'a2', { data_type: 'changed' });
    putAsset(env, 'a2', { description: 'changed' });
    expect((await mirrored.sync()).status).toBe('problems');
    // Rows read within the overlap are read again.
    expect(await modes(1)).toEqual(['problems', 'done', 'marked', 'increment', 1]);
    expect(await modes(1)).toEqual(['problems', 'done', 'marked', 'increment', 0]);
    expect(await modes(6)).toEqual(['problems', 'done', 'scan', 'full-every', 1]);
    removeHooks(scene);
    expect(await modes(2)).toEqual(['problems', 'done', 'marked', 'increment', 0]);
    expect(await modes(6)).toEqual(['done', 'done', 'scan', 'full-every', 1]);
    expect(rejected(scene)).toEqual([]);
  },
);
