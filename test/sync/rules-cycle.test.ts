import { expect, test } from 'vitest';
import { SyncError } from '../../src/core/errors.ts';
import type { RunSummary } from '../../src/sync/summary.ts';
import { execute, putAsset, putColumn, putTest, remove } from '../model/environment.ts';
import { createTestMirror, streamSummary } from '../model/test-mirror.ts';
import { createWorld, DAY, HOUR } from '../model/world.ts';
import { PLAIN_FEEDS, SCANNED_STREAMS, USUAL_STREAMS } from '../support/catalogue.ts';
import { expectMirrored, failAt, liveIds, newScene, removeHooks, type Scene, syncedScene } from '../support/scene.ts';

/** From now on, every run exhausts the quota with its request `last`. */
function quotaOf({ world }: Scene, last: number): void {
  world.beforeRequest = ({ number }) => {
    if (number > last) throw new SyncError('quota', 'the quota is used up');
  };
}

/** From now on, one list answers 500 and uses up the run's last requests. */
function breakList({ world }: Scene, path: string, spends: SyncError['recovery'] = 'budget'): void {
  world.beforeRequest = (asked) => {
    if (asked.path.endsWith(path)) throw new SyncError(spends, 'tried until the requests were used up');
  };
}

async function runs({ mirrored, world }: Scene, count: number, wish = {}): Promise<RunSummary[]> {
  const all: RunSummary[] = [];
  for (let i = 0; i < count; i++) {
    all.push(await mirrored.sync({ pageSize: 2, concurrency: 1, ...wish }));
    world.advance(HOUR);
  }
  return all;
}

test('runs ended by the quota are continued as one cycle, until one ends done (R6)', async () => {
  const scene = await syncedScene();
  // The quota must not end at the same list twice, because that list would count as failed.
  quotaOf(scene, 6 + 2 * PLAIN_FEEDS.length);
  const all = await runs(scene, 8);
  const end = all.findIndex(({ status }) => status === 'done');
  expect(end).toBeGreaterThan(1);
  expect(all.slice(0, end).map(({ recovery }) => recovery)).toEqual(Array(end).fill('quota'));
  expect(new Set(all.slice(0, end + 1).map(({ cycle }) => cycle))).toEqual(new Set([2]));
  expectMirrored(scene);
});

test('a run ended by a signal is not continued: the next run is accurate as of its own T (R6, R27)', async () => {
  const scene = await syncedScene();
  const stop = new AbortController();
  scene.world.beforeRequest = ({ number }) => number === 6 && stop.abort();
  expect((await scene.mirrored.sync({ signal: stop.signal, concurrency: 1 })).status).toBe('interrupted');
  removeHooks(scene);
  putAsset(scene.env, 'a1', { description: 'changed after the signal' });
  expect(await scene.mirrored.sync()).toMatchObject({ status: 'done', cycle: 3 });
  expectMirrored(scene);
});

test('a cycle lasts 24 hours of server time, whatever the local clock says; then all is read again (R6)', async () => {
  const scene = await syncedScene();
  const { mirrored, world } = scene;
  const first = await mirrored.sync({ maxRequests: 5, concurrency: 1 });
  expect([first.status, streamSummary(first, 'assets').status]).toEqual(['stopped', 'done']);
  putAsset(scene.env, 'a1', { description: 'changed since' });
  world.advance(DAY - HOUR);
  mirrored.clockSkewMs = 30 * DAY * 1000;
  const second = await mirrored.sync({ maxRequests: 2, concurrency: 1 });
  expect([second.cycle, mirrored.requests('assets')]).toEqual([first.cycle, []]);
  world.advance(HOUR);
  mirrored.clockSkewMs = 0;
  const third = await mirrored.sync();
  expect(third).toMatchObject({ status: 'done', cycle: third.run });
  expectMirrored(scene);
});

test('--full scans what a cycle without --full has finished (R6)', async () => {
  const scene = await syncedScene();
  await scene.mirrored.sync({ maxRequests: 5, concurrency: 1 });
  const full = await scene.mirrored.sync({ full: true });
  expect(full).toMatchObject({ status: 'done', cycle: full.run });
  expect(streamSummary(full, 'assets')).toMatchObject({ mode: 'scan', reason: 'full' });
  expectMirrored(scene);
});

test('--full scans again what a run without it finished in a cycle begun with it (R6)', async () => {
  const scene = await syncedScene();
  await scene.mirrored.sync({ maxRequests: 3, concurrency: 1, full: true });
  const plain = await scene.mirrored.sync({ maxRequests: 3, concurrency: 1 });
  expect(plain.cycle).toBe(2);
  const full = await scene.mirrored.sync({ full: true });
  expect(full.cycle).toBe(4);
  const scanned = full.streams.filter(({ mode, reason }) => mode === 'scan' && reason === 'full');
  expect(scanned.map(({ stream }) => stream)).toEqual(SCANNED_STREAMS);
});

test.each(['budget', 'quota'] as const)(
  'a list that spends the whole %s on failed attempts comes last in the next run (R6)',
  async (recovery) => {
    const scene = await syncedScene();
    const { mirrored, env } = scene;
    breakList(scene, '/assets', recovery);
    putColumn(env, 'a1.c9', 'a1', { name: 'new' });
    const [first, second] = (await runs(scene, 2)) as [RunSummary, RunSummary];
    expect(first.streams.map(({ stream, pages }) => [stream, pages])).toEqual([['assets', 0]]);
    const others = ['columns', 'tests', 'asset_lineage', 'latest_test_executions'] as const;
    expect(others.map((name) => streamSummary(second, name).status)).toEqual(others.map(() => 'done'));
    expect(mirrored.rows("select id from columns where id = 'a1.c9'")).toHaveLength(1);
  },
);

test('a failing list doesn’t block others in later cycles, because a cycle with only failed lists left is over (R6)', async () => {
  const scene = await syncedScene();
  const { mirrored, env } = scene;
  breakList(scene, '/assets');
  const cycles: (number | null)[] = [];
  for (let n = 0; n < 4; n++) {
    cycles.push(...(await runs(scene, 1)).map(({ cycle }) => cycle));
    putColumn(env, 'a1.c1', 'a1', { data_type: `type ${n}` });
  }
  expect(cycles).toEqual([2, 2, 4, 5]);
  expect(mirrored.rows("select data_type from columns where id = 'a1.c1'")).toEqual([{ data_type: 'type 2' }]);
  removeHooks(scene);
  expect((await mirrored.sync()).status).toBe('done');
  expectMirrored(scene);
});

test('streams that depend on a list that came last are read after it in the same run (R6, R9)', async () => {
  const scene = newScene();
  failAt(scene, 'assets');
  const [first] = (await runs(scene, 1, { maxRequests: 4 })) as [RunSummary];
  expect([first.status, streamSummary(first, 'assets').status]).toEqual(['stopped', 'failed']);
  removeHooks(scene);
  expect(await scene.mirrored.sync()).toMatchObject({ status: 'done', cycle: first.cycle });
  expectMirrored(scene);
});

test.each([
  ['/tests', 't9'],
  ['/latest-test-executions', 't1'],
])('histories that %s makes due are read in the same run, even if that list comes last (R6, R22)', async (list, id) => {
  const scene = await syncedScene();
  const { mirrored, env } = scene;
  expect((await mirrored.sync({ history: true })).status).toBe('done');
  scene.world.advance(HOUR);
  breakList(scene, list);
  const [first] = (await runs(scene, 1, { history: true })) as [RunSummary];
  expect(first.status).toBe('stopped');
  if (id === 't9') putTest(env, id, 'a1');
  execute(env, id, 'news');
  removeHooks(scene);
  expect((await mirrored.sync({ history: true, concurrency: 1 })).status).toBe('done');
  expect(mirrored.requests(`${id}/executions`)).toHaveLength(1);
});

/** A scene whose lists of columns and tests have this many pages, and cursors that live no longer than a run. */
function withLongLists(
  columnPages: number,
  testPages: number,
): { scene: Scene; run(maxRequests?: number): Promise<RunSummary> } {
  const scene = newScene((env) => {
    putAsset(env, 'a1');
    for (let n = 0; n < 2 * columnPages; n++) putColumn(env, `a1.c${n}`, 'a1');
    for (let n = 0; n < 2 * testPages; n++) putTest(env, `t${n}`, 'a1');
  });
  const { world, mirrored } = scene;
  let epoch = 0;
  const run = async (maxRequests = 14) => {
    for (const path of ['e1/columns', 'e1/tests']) world.listEpochs.set(path, ++epoch);
    world.advance(HOUR);
    return mirrored.sync({ pageSize: 2, concurrency: 1, maxRequests });
  };
  return { scene, run };
}

test('a list that is longer than a run, and whose cursor expires between runs, fails and starves no other (R6, R7)', async () => {
  const { scene, run } = withLongLists(30, 2);
  const all: RunSummary[] = [];
  for (let n = 0; n < 4; n++) all.push(await run());
  expect(all.map(({ status }) => status)).toEqual(Array(4).fill('stopped'));
  expect(all.slice(1, 3).map((each) => streamSummary(each, 'columns'))).toEqual([
    expect.objectContaining({ status: 'failed', error: expect.stringMatching(/raise --max-requests/) }),
    expect.objectContaining({ status: 'failed' }),
  ]);
  putTest(scene.env, 't-new', 'a1');
  for (let n = 0; n < 2; n++) await run();
  expect(liveIds(scene, 'tests')).toContain('t-new');
});

/** The due scan of the columns is longer than a run, and has had one. A feed would return the new column. */
async function withLongDueScan() {
  const { scene, run } = withLongLists(30, 2);
  for (const seconds of [2 * HOUR, 8 * DAY]) {
    expect((await scene.mirrored.sync()).status).toBe('done');
    scene.world.advance(seconds);
  }
  await run();
  putColumn(scene.env, 'a1.new', 'a1');
  return { scene, run };
}

test('the feeds of a list continue, although its due scan is longer than a run and its cursor expires (R9)', async () => {
  const { scene, run } = await withLongDueScan();
  const errors: unknown[] = [];
  for (let n = 0; n < 3; n++) errors.push(streamSummary(await run(), 'columns').error);
  expect(liveIds(scene, 'columns')).toContain('a1.new');
  expect(errors).toContainEqual(expect.stringMatching(/cursor has expired again.*The feeds continue/s));
});

test('a row that only a feed returned while a scan waited to start over is gone if the scan does not return it (R9, R12)', async () => {
  const { scene, run } = await withLongDueScan();
  while (!liveIds(scene, 'columns').includes('a1.new')) await run();
  remove(scene.env, 'columns', 'a1.new', 'lost');
  expect((await scene.mirrored.sync()).status).toBe('done');
  expectMirrored(scene);
});

test('of two lists that failed, the one that fits into a run is read, although the other one never ends (R6)', async () => {
  const { scene, run } = withLongLists(30, 5);
  scene.world.beforeRequest = ({ path, cursor }) => {
    if (/columns|tests/.test(path) && cursor !== null) throw new SyncError('stream', 'the second page is broken');
  };
  const first = [await run(5), await run(5), await run(5)];
  expect(first.map(({ status }) => status)).toEqual(Array(3).fill('stopped'));
  removeHooks(scene);
  for (let n = 0; n < 6; n++) await run(10);
  expect(liveIds(scene, 'tests')).toHaveLength(10);
});

test('a list that failed is read first in every second run, also if the runs are more than a day apart (R6)', async () => {
  const scene = newScene((env) => {
    putAsset(env, 'a1');
    for (let n = 0; n < 16; n++) putColumn(env, `a1.c${n}`, 'a1');
    for (let n = 0; n < 2; n++) putTest(env, `t${n}`, 'a1');
  });
  const { mirrored, world, env } = scene;
  expect((await mirrored.sync({ pageSize: 2 })).status).toBe('done');
  for (let day = 0; day < 12; day++) {
    world.advance(DAY + 60);
    world.cursorEpoch += 1;
    if (day === 8) putColumn(env, 'a1.new', 'a1');
    await mirrored.sync({ pageSize: 2, concurrency: 1, maxRequests: day === 6 || day === 7 ? 6 : 14 });
  }
  expect(liveIds(scene, 'columns')).toContain('a1.new');
});

test('while a list is too long for any run, the others are read in every second run (R6)', async () => {
  const { scene, run } = withLongLists(30, 2);
  const others: boolean[] = [];
  for (let n = 0; n < 12; n++) {
    await run();
    others.push(scene.mirrored.requests('assets').length > 0);
  }
  expect(others.slice(4).filter((isRead) => isRead)).toHaveLength(4);
});

test('a list that failed once is read again, although the others use up the requests of each day (R6)', async () => {
  const scene = newScene((env) => {
    putAsset(env, 'a1');
    for (let n = 0; n < 10; n++) putTest(env, `t${n}`, 'a1');
    for (let n = 0; n < 8; n++) execute(env, `t${n}`, `r${n}`);
  });
  const { mirrored, world, env } = scene;
  expect((await mirrored.sync()).status).toBe('done');
  for (let day = 0; day < 8; day++) {
    world.advance(DAY + HOUR);
    for (let n = 0; n < 10; n++) putTest(env, `t${n}`, 'a1', { description: `on day ${day}` });
    if (day === 1) putColumn(env, 'a1.new', 'a1');
    if (day === 0) failAt(scene, 'columns');
    else removeHooks(scene);
    expect((await mirrored.sync({ pageSize: 2, concurrency: 1, maxRequests: 8 })).status).toBe('stopped');
  }
  expect(liveIds(scene, 'columns')).toContain('a1.new');
});

test('a failed history gets no turn in runs that read no histories (R6)', async () => {
  const { scene, run } = withLongLists(30, 2);
  const { mirrored, env, world } = scene;
  await mirrored.sync({ pageSize: 2 });
  execute(env, 't0', 'news');
  failAt(scene, 't0/executions');
  await mirrored.sync({ history: true, pageSize: 2 });
  removeHooks(scene);
  world.advance(8 * DAY);
  const read: boolean[] = [];
  for (let n = 0; n < 9; n++) {
    await run();
    read.push(mirrored.requests('tests').length > 0);
  }
  expect(read.filter((isRead) => isRead).length).toBeGreaterThan(2);
});

test('an environment whose lists all fail doesn’t block other environments (R6)', async () => {
  const world = createWorld(['e1', 'e2', 'e3']);
  for (const place of world.environments.values()) putAsset(place, 'a1');
  const mirrored = createTestMirror(world);
  world.beforeRequest = ({ path }) => {
    if (path.startsWith('e1/')) throw new SyncError('budget', 'tried until the requests were used up');
  };
  for (let run = 0; run < 12; run++) await mirrored.sync({ maxRequests: 6, concurrency: 1 });
  expect(mirrored.rows('select env_id from assets order by 1')).toEqual([{ env_id: 'e2' }, { env_id: 'e3' }]);
  mirrored.close();
});

test.each(['budget', 'signal'] as const)(
  'a run stopped early by a %s logs and reports nothing for environments it did not reach (R27)',
  async (ends) => {
    const world = createWorld(Array.from({ length: 40 }, (_, n) => `e${n}`));
    const mirrored = createTestMirror(world);
    const stop = new AbortController();
    world.beforeRequest = ({ number }) => number === 2 && ends === 'signal' && stop.abort();
    const wish = ends === 'budget' ? { maxRequests: 2 } : { signal: stop.signal };
    const summary = await mirrored.sync({ ...wish, concurrency: 2 });
    const logged = mirrored.rows('select stream from sync_stream_runs');
    expect(logged.length).toBeLessThanOrEqual(2);
    expect(summary.streams.map(({ stream }) => stream)).toEqual(logged.map(({ stream }) => stream));
    expect(summary.streams.length + summary.streams_not_reached).toBe(40 * USUAL_STREAMS.length);
    mirrored.close();
  },
);
