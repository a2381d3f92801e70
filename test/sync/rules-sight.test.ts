import { expect, test } from 'vitest';
import {
  type EnvironmentModel,
  execute,
  FAR_FUTURE,
  putAsset,
  putColumn,
  putColumnEdges,
  putTest,
  remove,
  removeAsset,
  restoreAsset,
} from '../model/environment.ts';
import { streamSummary } from '../model/test-mirror.ts';
import { DAY, HOUR } from '../model/world.ts';
import {
  expectMirrored,
  liveIds,
  newScene,
  onRequest,
  removeHooks,
  rowOf,
  type Scene,
  syncedScene,
  transformItems,
} from '../support/scene.ts';

/** Hides an asset from the token, from the first request of a collection until the run ends. */
function hideFrom(scene: Scene, path: string, assetId: string): void {
  onRequest(scene, path, 1, () => scene.env.hidden.add(assetId));
}

async function syncUnseen(scene: Scene, path: string, assetId: string): Promise<void> {
  hideFrom(scene, path, assetId);
  expect((await scene.mirrored.sync({ concurrency: 1 })).status).toBe('done');
  removeHooks(scene);
  scene.env.hidden.clear();
}

/** The list of tables does not return an asset yet. */
function lagBehind({ world }: Scene, assetId: string): void {
  world.transformPage = (page, { path }) =>
    path.endsWith('/tables') ? { ...page, items: [...page.items].filter((item) => idOf(item) !== assetId) } : page;
}

const marksLeft = ({ mirrored }: Scene): unknown[] =>
  mirrored
    .rows('select stream, id from marks where left_by_run is not null')
    .map(({ stream, id }) => `${stream} ${id}`);

const edgesOf = ({ mirrored }: Scene): number => mirrored.rows('select 1 from column_lineage').length;

test.each([
  ['soon after', 0],
  ['long after', 2 * HOUR],
])('a column hidden when its edges were read, %s its change, keeps its edges and its mark (R18)', async (_, age) => {
  const scene = await syncedScene();
  putColumn(scene.env, 'a2.c1', 'a2', { data_type: 'new' });
  scene.world.advance(age);
  await syncUnseen(scene, 'column-lineage', 'a2');
  expect(marksLeft(scene)).toEqual(['column_lineage a2.c1']);
  expect(edgesOf(scene)).toBe(5);
  putColumnEdges(scene.env, 'a2.c1', []);
  scene.world.advance(2 * HOUR);
  await scene.mirrored.sync();
  expect(marksLeft(scene)).toEqual([]);
  expectMirrored(scene);
});

test.each([
  ['soon after', 0],
  ['long after', 2 * HOUR],
])(
  'a column’s last edge is removed, %s its change, once the list of columns then returns the column (R18)',
  async (_, age) => {
    const scene = await syncedScene();
    putColumnEdges(scene.env, 'a2.c2', []);
    scene.world.advance(age);
    await scene.mirrored.sync();
    const asked = scene.mirrored.requests('columns').filter(({ query }) => 'ids' in query);
    expect(asked.map(({ query }) => query['ids'])).toEqual([['a2.c2']]);
    expectMirrored(scene);
    expect(marksLeft(scene)).toEqual(age === 0 ? ['column_lineage a2.c2'] : []);
  },
);

test('a scan of lineage removes no edge of a hidden column (R18)', async () => {
  const scene = await syncedScene();
  hideFrom(scene, 'column-lineage', 'a2');
  await scene.mirrored.sync({ concurrency: 1, full: true });
  removeHooks(scene);
  scene.env.hidden.clear();
  expect(edgesOf(scene)).toBe(5);
  expect(marksLeft(scene)).toEqual(['column_lineage a2.c1', 'column_lineage a2.c2']);
  await scene.mirrored.sync();
  expect(marksLeft(scene)).toEqual([]);
  expectMirrored(scene);
});

test.each([
  [false, 'removes all edges if all of those are returned'],
  [true, 'keeps the edges of the others if one is missing'],
])(
  'a scan without edges looks many columns up in twenty requests (one is hidden: %s) and %s (R18)',
  async (isHidden) => {
    const scene = await syncedScene(furnishLongColumns);
    const { world, mirrored, env } = scene;
    transformItems(scene, 'column-lineage', 'scan', () => []);
    if (isHidden) onRequest(scene, 'column-lineage', 1, () => env.hidden.add('a2'));
    await mirrored.sync({ full: true, allowShrink: true, concurrency: 1 });
    expect(mirrored.requests('columns').filter(({ query }) => 'ids' in query)).toHaveLength(20);
    // Two per request: forty were looked up, and one of them was not returned.
    expect(edgesOf(scene)).toBe(isHidden ? 21 : 0);
    removeHooks(scene);
    world.advance(HOUR);
    expect((await mirrored.sync()).status).toBe('done');
  },
);

test('marked columns without edges are looked up in twenty requests, and the other marks wait for the next run (R18)', async () => {
  const scene = await syncedScene(furnishLongColumns);
  const { world, mirrored, env } = scene;
  for (const id of manyIds()) putColumnEdges(env, id, []);
  world.advance(2 * HOUR);
  for (const left of [20, 0]) {
    expect((await mirrored.sync({ allowShrink: true })).status).toBe('done');
    const asked = mirrored.requests('columns').flatMap(({ query }) => query['ids'] ?? []);
    expect(asked).toHaveLength(left === 20 ? 40 : 20);
    expect(edgesOf(scene)).toBe(left);
    expect(marksLeft(scene)).toHaveLength(left);
  }
  expectMirrored(scene);
});

function furnishLongColumns(place: EnvironmentModel): void {
  for (const id of ['a1', 'a2']) putAsset(place, id);
  putColumn(place, 'up', 'a1');
  for (const id of manyIds()) {
    putColumn(place, id, id.startsWith('00') ? 'a2' : 'a1');
    putColumnEdges(place, id, ['up']);
  }
}

test('after a column was deleted, the edges of its downstream columns are read again (R18)', async () => {
  const scene = await syncedScene();
  scene.env.dropsEdges = true;
  remove(scene.env, 'columns', 'a1.c2');
  await scene.mirrored.sync();
  expectMirrored(scene);
  scene.env.dropsEdges = false;
  remove(scene.env, 'columns', 'a1.c1');
  await scene.mirrored.sync();
  expectMirrored(scene);
});

test('an asset that its typed list did not return keeps its mark, and so does one whose list lags behind (R22)', async () => {
  const scene = await syncedScene();
  putAsset(scene.env, 'a9');
  scene.world.advance(2 * HOUR);
  await syncUnseen(scene, 'assets/tables', 'a9');
  expect(marksLeft(scene)).toEqual(['table_assets a9']);
  expect(rowOf(scene, 'assets', 'a9')).toMatchObject({ schema_name: null });
  lagBehind(scene, 'a9');
  await scene.mirrored.sync();
  expect(rowOf(scene, 'assets', 'a9')).toMatchObject({ schema_name: null });
  removeHooks(scene);
  await scene.mirrored.sync();
  expectMirrored(scene);
  expect(marksLeft(scene)).toEqual([]);
});

test('an asset that the first scan of its typed list did not return keeps its mark (R22)', async () => {
  const scene = newScene();
  lagBehind(scene, 'a2');
  expect((await scene.mirrored.sync()).status).toBe('done');
  expect(marksLeft(scene)).toEqual(['table_assets a2']);
  removeHooks(scene);
  scene.world.advance(2 * HOUR);
  await scene.mirrored.sync();
  expectMirrored(scene);
  expect(marksLeft(scene)).toEqual([]);
});

test('a version with an untrusted time in the first scan of a typed list is an older one, so the mark stays (R10, R22)', async () => {
  const scene = newScene();
  const { env, world, mirrored } = scene;
  putAsset(env, 'a2');
  const old = { ...env.assets.get('a2')?.item, synced_at: FAR_FUTURE };
  transformItems(scene, 'assets/tables', 'scan', (sent) => sent.map((item) => (idOf(item) === 'a2' ? old : item)));
  expect((await mirrored.sync()).status).toBe('done');
  expect(marksLeft(scene)).toEqual(['table_assets a2']);
  removeHooks(scene);
  world.advance(2 * HOUR);
  await mirrored.sync();
  expectMirrored(scene);
});

test('without a server time an older version clears no mark, because the age of the list is unknown (R1, R22)', async () => {
  const scene = await syncedScene();
  const { env, world, mirrored } = scene;
  const old = { ...env.assets.get('a2')?.item };
  world.advance(DAY);
  putAsset(env, 'a2', { schema_name: 'moved' });
  transformItems(scene, 'assets/tables', 'scan', (sent) => sent.map((item) => (idOf(item) === 'a2' ? old : item)));
  world.dates = 'never';
  await mirrored.sync();
  expect(marksLeft(scene)).toEqual(['table_assets a2']);
  removeHooks(scene);
  world.dates = 'always';
  world.advance(2 * HOUR);
  await mirrored.sync();
  expect(rowOf(scene, 'assets', 'a2')).toMatchObject({ schema_name: 'moved' });
  expectMirrored(scene);
});

test.each(['returns the previous version', 'omits it'])(
  'a changed asset keeps its mark while its typed list %s, even if its fields are filled (R22)',
  async (way) => {
    const scene = await syncedScene();
    const { env, world, mirrored } = scene;
    const old = { ...env.assets.get('a2')?.item };
    world.advance(DAY);
    putAsset(env, 'a2', { schema_name: 'moved' });
    world.transformPage = (page, { path }) => {
      if (!path.endsWith('/tables')) return page;
      const items = [...page.items].flatMap((item) => (idOf(item) !== 'a2' ? [item] : way === 'omits it' ? [] : [old]));
      return { ...page, items };
    };
    expect((await mirrored.sync()).status).toBe('done');
    expect(marksLeft(scene)).toEqual(['table_assets a2']);
    removeHooks(scene);
    world.advance(2 * HOUR);
    await mirrored.sync();
    expect(rowOf(scene, 'assets', 'a2')).toMatchObject({ schema_name: 'moved' });
    expectMirrored(scene);
    expect(marksLeft(scene)).toEqual([]);
  },
);

/** The asset a2 is back after a day without it, and has lost a column. */
async function sceneOfReturnedAsset(): Promise<Scene> {
  const scene = await syncedScene();
  const { env, world, mirrored } = scene;
  removeAsset(env, 'a2', 'stay');
  await mirrored.sync();
  world.advance(DAY);
  putAsset(env, 'a2');
  remove(env, 'columns', 'a2.c3', 'lost');
  return scene;
}

test('columns and tests of a live but hidden asset stay, and its marks wait until the list of assets returns it (R13)', async () => {
  const scene = await sceneOfReturnedAsset();
  const { world, mirrored } = scene;
  const before = { columns: liveIds(scene, 'columns'), tests: liveIds(scene, 'tests') };
  await syncUnseen(scene, 'columns', 'a2');
  expect(mirrored.requests('assets').filter(({ query }) => 'ids' in query).length).toBeGreaterThan(0);
  expect({ columns: liveIds(scene, 'columns'), tests: liveIds(scene, 'tests') }).toEqual(before);
  expect(marksLeft(scene)).toEqual(expect.arrayContaining(['columns a2', 'tests a2']));
  world.advance(2 * HOUR);
  await mirrored.sync();
  expect(liveIds(scene, 'columns')).not.toContain('a2.c3');
  expectMirrored(scene);
  expect(marksLeft(scene)).toEqual([]);
});

test('a missing column of a live asset is absent only after the list of assets then returned the asset (R13)', async () => {
  const scene = await sceneOfReturnedAsset();
  const { world, mirrored } = scene;
  const asked: string[] = [];
  world.beforeRequest = ({ path, query }) => {
    if ('asset_ids' in query || ('ids' in query && path === 'e1/assets'))
      asked.push(`${path} ${liveIds(scene, 'columns').includes('a2.c3')}`);
  };
  const { server_time } = await mirrored.sync({ only: ['assets', 'columns'] });
  expect(asked).toEqual(['e1/columns true', 'e1/assets true']);
  expect(rowOf(scene, 'columns', 'a2.c3')).toMatchObject({ deletion: 'absent', deleted_at: server_time });
  expect(liveIds(scene, 'columns')).toContain('a2.c1');
});

test('rows deleted and restored within the overlap are looked up until they are live (R13)', async () => {
  const scene = await syncedScene();
  const { env, world, mirrored } = scene;
  removeAsset(env, 'a1', 'tombstone');
  world.advance(300);
  await mirrored.sync();
  world.advance(300);
  restoreAsset(env, 'a1');
  world.advance(300);
  expect((await mirrored.sync()).status).toBe('done');
  expect(liveIds(scene, 'columns')).not.toContain('a1.c1');
  expect(marksLeft(scene)).toContain('columns a1');
  world.advance(2 * HOUR);
  await mirrored.sync();
  expectMirrored(scene);
  expect(marksLeft(scene)).toEqual([]);
});

test('the children of very many assets are scanned and swept if that takes fewer requests (R13)', async () => {
  const scene = await syncedScene(furnishMany);
  const { env, mirrored } = scene;
  for (const id of manyIds()) removeAsset(env, id, 'tombstone');
  await mirrored.sync({ allowShrink: true });
  for (const id of manyIds()) restoreAsset(env, id);
  remove(env, 'columns', 'a1.c1', 'lost');
  const summary = await mirrored.sync();
  expect(streamSummary(summary, 'columns')).toMatchObject({ mode: 'scan', reason: 'fewer-requests', status: 'done' });
  expect(mirrored.requests().filter(({ query }) => 'asset_ids' in query)).toEqual([]);
  expect(liveIds(scene, 'columns')).not.toContain('a1.c1');
});

const manyIds = (): string[] => Array.from({ length: 60 }, (_, n) => `${String(n).padStart(2, '0')}${'ö'.repeat(498)}`);

function furnishMany(place: EnvironmentModel): void {
  putAsset(place, 'a1');
  for (const n of [1, 2]) putColumn(place, `a1.c${n}`, 'a1');
  for (const id of manyIds()) {
    putAsset(place, id);
    putColumn(place, `c-${id.slice(0, 2)}`, id);
  }
}

test('a test that moves between the two lists of latest executions keeps its rows (R12)', async () => {
  const scene = await syncedScene();
  onRequest(scene, 'latest-test-executions', 2, () => putTest(scene.env, 't3', 'a2', { disabled: false }));
  execute(scene.env, 't1', 't1-news');
  expect((await scene.mirrored.sync()).status).toBe('done');
  expect(scene.mirrored.rows('select sub_test_unique_id id from latest_test_executions order by 1')).toHaveLength(4);
});

test('after a merge of projects nothing is held back, because tombstones and replaced edges explain the removals (R14)', async () => {
  const scene = await syncedScene(furnishProjects);
  const { env, mirrored, world } = scene;
  for (const id of oldIds()) removeAsset(env, id, 'lost');
  for (let n = 0; n < 60; n++) putColumnEdges(env, `new.c${n}`, [`new.c${(n + 1) % 60}`]);
  world.advance(DAY);
  const summary = await mirrored.sync();
  expect(summary.streams.map(({ stream, rows_held: held }) => [stream, held]).filter(([, held]) => held !== 0)).toEqual(
    [],
  );
  expect(summary.status).toBe('done');
  expectMirrored(scene);
});

const oldIds = (): string[] => Array.from({ length: 60 }, (_, n) => `old${n}`);

function furnishProjects(place: EnvironmentModel): void {
  putAsset(place, 'new');
  for (let n = 0; n < 60; n++) putColumn(place, `new.c${n}`, 'new');
  for (const id of oldIds()) {
    putAsset(place, id);
    putColumn(place, `${id}.c`, id);
    putColumnEdges(place, `${id}.c`, ['new.c1']);
    putTest(place, `t-${id}`, id);
    execute(place, `t-${id}`, `r-${id}`);
  }
  for (let n = 0; n < 60; n++) putColumnEdges(place, `new.c${n}`, [`old${n}.c`]);
}

function idOf(item: unknown): unknown {
  return (item as { id?: unknown }).id;
}
