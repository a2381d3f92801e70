import { expect, test } from 'vitest';
import { SyncError } from '../../src/core/errors.ts';
import { execute, type Item, putAsset, putTest } from '../model/environment.ts';
import { createTestMirror, streamSummary } from '../model/test-mirror.ts';
import { createWorld, DAY, HOUR } from '../model/world.ts';
import { failAt, newScene, removeHooks, type Scene } from '../support/scene.ts';

const ONLY_HISTORIES = { only: ['tests', 'test_executions'], history: true } as const;

const testIds = ({ mirrored }: Scene): (string | undefined)[] =>
  mirrored.requests('executions').map(({ path }) => path.split('/')[2]);
const executionIds = ({ mirrored }: Scene, testId: string): unknown[] =>
  mirrored.rows('select id from test_executions where test_id = ? order by start_time', testId).map(({ id }) => id);

test('without the latest executions, a history is read again once --full-every has passed (R13)', async () => {
  const scene = newScene();
  await scene.mirrored.sync(ONLY_HISTORIES);
  execute(scene.env, 't1', 't1-r2');
  scene.world.advance(6 * DAY);
  await scene.mirrored.sync(ONLY_HISTORIES);
  expect(testIds(scene)).toEqual([]);
  scene.world.advance(DAY);
  expect((await scene.mirrored.sync(ONLY_HISTORIES)).status).toBe('done');
  expect(testIds(scene).sort()).toEqual(['t1', 't2', 't3', 't4']);
  expect(executionIds(scene, 't1')).toContain('t1-r2');
  await scene.mirrored.sync(ONLY_HISTORIES);
  expect(testIds(scene)).toEqual([]);
});

test('histories are read by age while the latest executions answer 404, and only by news once they answer (R13)', async () => {
  const scene = newScene();
  const sync = () => scene.mirrored.sync({ history: true, fullEveryDays: 'auto' });
  await sync();
  scene.env.notLive.add('latest-test-executions');
  execute(scene.env, 't1', 't1-r2');
  scene.world.advance(HOUR);
  await sync();
  expect(testIds(scene)).toHaveLength(4);
  expect(executionIds(scene, 't1')).toContain('t1-r2');
  scene.env.notLive.clear();
  scene.world.advance(2 * DAY);
  await sync();
  expect(testIds(scene)).toEqual(['t1']);
});

/** A scene with one test, which was executed this many days ago. */
function executedAgo(...days: readonly number[]): Scene {
  const scene = newScene((env) => putTest(env, 't1', null));
  const { env, world } = scene;
  for (const ago of days)
    execute(env, 't1', `${ago} days ago`, { start_time: new Date(world.nowMs - ago * DAY * 1000).toISOString() });
  return scene;
}

/** Runs with two requests for the histories, each for a page of executions, until one is done. */
async function inShortRuns(scene: Scene, hours: number, beforeRun = () => {}, pageSize = 1): Promise<string[]> {
  const asked: string[] = [];
  await scene.mirrored.sync({ only: ['tests', 'latest_test_executions'] });
  for (let run = 0; run < 9; run++) {
    beforeRun();
    const { status } = await scene.mirrored.sync({ only: ['test_executions'], pageSize, maxRequests: 3 });
    asked.push(...scene.mirrored.requests().map(({ query }) => String(query['start_time_from']).slice(0, 10)));
    if (status === 'done') return asked;
    scene.world.advance(hours * HOUR);
  }
  throw new Error('no run is done');
}

test('a history that is longer than a run resumes where it stopped, although its first bound has expired (R3, R6)', async () => {
  const days = [80, 70, 60, 50, 40, 30];
  const scene = executedAgo(...days);
  await inShortRuns(scene, 5);
  expect(executionIds(scene, 't1')).toEqual(days.map((ago) => `${ago} days ago`));
  expect(scene.mirrored.rows('select * from test_execution_gaps')).toEqual([]);
});

test('a history whose cursor expires after every run resumes at its last start time (R7)', async () => {
  const days = [80, 70, 60, 50, 40, 30, 20];
  const scene = executedAgo(...days);
  const expireCursors = () => {
    scene.world.cursorEpoch += 1;
  };
  const asked = await inShortRuns(scene, 0, expireCursors, 2);
  expect(executionIds(scene, 't1')).toEqual(days.map((ago) => `${ago} days ago`));
  expect(new Set(asked).size).toBeGreaterThan(2);
});

test('what leaves the lookback while a history waits to be resumed is a gap (R22)', async () => {
  const scene = executedAgo(89, 88.5, 88, 50);
  await inShortRuns(scene, 72);
  expect(executionIds(scene, 't1')).toEqual(['89 days ago', '88.5 days ago', '50 days ago']);
  const [gap] = scene.mirrored.rows('select gap_from, gap_to from test_execution_gaps');
  const [first, last] = ['88.5 days ago', '50 days ago'].map((id) => startOf(scene, id));
  expect(gap?.['gap_from']).toBe(first);
  expect(String(gap?.['gap_to']) < String(last)).toBe(true);
});

test('an execution that is reported late while its history is resumed is read next time (R22)', async () => {
  const scene = executedAgo(30, 4, 3, 2);
  let run = 0;
  await inShortRuns(scene, 5, () => {
    const start_time = new Date(scene.world.nowMs - 6 * DAY * 1000).toISOString();
    if (++run === 3) execute(scene.env, 't1', 'late', { start_time });
  });
  expect(executionIds(scene, 't1')).not.toContain('late');
  execute(scene.env, 't1', 'news');
  await scene.mirrored.sync({ history: true });
  expect(executionIds(scene, 't1')).toEqual(expect.arrayContaining(['late', 'news']));
});

test('rejected executions are read again once per round, so a round ends however few requests a run has (R20)', async () => {
  const scene = newScene();
  await scene.mirrored.sync({ only: ['tests', 'latest_test_executions'] });
  const sync = () => scene.mirrored.sync({ only: ['test_executions'], maxRequests: 3 });
  scene.world.transformPage = (page) => ({ ...page, items: breakStatus(page.items as Item[], () => true) });
  const statuses: string[] = [];
  for (let run = 0; run < 4; run++) statuses.push(streamSummary(await sync(), 'test_executions').status);
  expect(statuses).toContain('done');
});

const breakStatus = (items: readonly Item[], isBroken: (item: Item) => boolean): Item[] =>
  items.map((item) => ('sub_type' in item && isBroken(item) ? { ...item, status: 7 } : item));

test('an execution rejected before its history started over stays rejected until it is accepted (R20)', async () => {
  const scene = executedAgo(80, 70, 60, 50, 40, 30, 20);
  scene.world.transformPage = (page) => ({
    ...page,
    items: breakStatus(page.items as Item[], ({ id }) => id === '80 days ago'),
  });
  await scene.mirrored.sync({ only: ['tests', 'latest_test_executions'] });
  const statuses: string[] = [];
  for (let run = 0; run < 4; run++) {
    scene.world.cursorEpoch += 1;
    statuses.push((await scene.mirrored.sync({ only: ['test_executions'], pageSize: 2, maxRequests: 3 })).status);
  }
  expect(statuses).toEqual(['stopped', 'stopped', 'stopped', 'problems']);
  expect(scene.mirrored.rows('select reason from rejected_rows')).toHaveLength(1);
  removeHooks(scene);
  scene.world.advance(HOUR);
  expect((await scene.mirrored.sync({ history: true })).status).toBe('done');
  expect(executionIds(scene, 't1')).toContain('80 days ago');
});

test('a gap ends where the last resumption found the lookback (R22)', async () => {
  const scene = executedAgo(89.5, 89, 88.5, 87, 86, 50);
  const { mirrored, world } = scene;
  const sync = (maxRequests?: number) =>
    mirrored.sync({ only: ['test_executions'], pageSize: 1, ...(maxRequests ? { maxRequests } : {}) });
  await mirrored.sync({ only: ['tests', 'latest_test_executions'] });
  await sync(3);
  for (const days of [1.25, 2]) {
    world.advance(days * DAY);
    failAt(scene, 'executions', 1, 'restart-read');
    await sync(days < 2 ? 2 : undefined);
  }
  const gaps = mirrored.rows('select gap_from, gap_to from test_execution_gaps');
  expect(gaps).toEqual([{ gap_from: startOf(scene, '89 days ago'), gap_to: expect.any(String) }]);
  expect(String(gaps[0]?.['gap_to']) > DAYS_AGO(scene, 90.1)).toBe(true);
});

test('a history that cannot be read uses up its tries over several runs, then others are read (R24)', async () => {
  const scene = newScene((env) => {
    for (const id of ['t1', 't2', 't3']) putTest(env, id, null);
  });
  const { mirrored, world } = scene;
  await mirrored.sync({ only: ['tests', 'latest_test_executions'] });
  world.failing = { path: 'e1/tests/t1/executions', tries: 6 };
  for (let run = 0; run < 8; run++) {
    await mirrored.sync({ only: ['test_executions'], pageSize: 50, maxRequests: 4 });
    world.advance(2 * HOUR);
  }
  expect(mirrored.rows('select test_id from test_readings order by 1')).toEqual([{ test_id: 't2' }, { test_id: 't3' }]);
});

test.each(['halve-page', 'restart-read'] as const)(
  'a history that starts over because of %s resumes at the last start time it has read (R7, R24)',
  async (recovery) => {
    const days = Array.from({ length: 400 }, (_, n) => 80 - n / 8);
    const scene = executedAgo(...days);
    failAt(scene, 'executions', 3, recovery);
    await scene.mirrored.sync({ only: ['tests', 'test_executions'], pageSize: 100 });
    const asked = scene.mirrored.requests('executions').map(({ query }) => String(query['start_time_from']));
    expect(new Set(asked).size).toBe(2);
    expect(asked.at(-1)).toBe(startOf(scene, '55.125 days ago'));
    expect(executionIds(scene, 't1')).toHaveLength(400);
  },
);

test('a history makes progress although its cursors expire every few pages (R7)', async () => {
  const scene = executedAgo(...Array.from({ length: 40 }, (_, n) => 80 - n));
  let pages = 0;
  scene.world.beforeRequest = () => {
    if (++pages % 3 === 0) scene.world.cursorEpoch += 1;
  };
  expect((await scene.mirrored.sync({ only: ['tests', 'test_executions'], pageSize: 3 })).status).toBe('done');
  expect(executionIds(scene, 't1')).toHaveLength(40);
});

function startOf({ mirrored }: Scene, id: string): unknown {
  return mirrored.rows('select start_time from test_executions where id = ?', id)[0]?.['start_time'];
}

const DAYS_AGO = ({ world }: Scene, days: number): string => new Date(world.nowMs - days * DAY * 1000).toISOString();

test('a history that failed in a round of an earlier cycle is read by the next run of the cycle (R9, R22)', async () => {
  const world = createWorld(['e1', 'e2']);
  for (const env of world.environments.values()) {
    putAsset(env, 'a1');
    for (const id of ['t1', 't2', 't3']) {
      putTest(env, id, 'a1');
      execute(env, id, `${id}-r1`);
    }
  }
  const mirrored = createTestMirror(world);
  await mirrored.sync({ environments: ['e1'], only: ['assets', 'tests', 'latest_test_executions'] });
  await mirrored.sync({ environments: ['e1'], only: ['test_executions'], maxRequests: 2, concurrency: 1 });
  expect(mirrored.checkpoint('test_executions').round?.mode).toBe('window');
  world.advance(2 * DAY);
  world.environment('e1').brokenHistories.set('t3', 500);
  const wish = { history: true, pageSize: 50, concurrency: 1 };
  world.beforeRequest = ({ path }) => {
    if (path === 'e2/columns') throw new SyncError('budget', 'the requests are used up');
  };
  const first = await mirrored.sync(wish);
  world.beforeRequest = () => {};
  const second = await mirrored.sync(wish);
  expect([first.status, second.cycle, second.status]).toEqual(['stopped', first.cycle, 'problems']);
  mirrored.close();
});

test('a history that began before the first Date is read again in the same run (R1)', async () => {
  const scene = newScene((env) => {
    for (const id of ['t1', 't2']) {
      putTest(env, id, null);
      for (const day of [10, 12, 15]) execute(env, id, `${id}-r${day}`, { start_time: `2026-11-${day}T04:00:00.000Z` });
    }
  });
  const { mirrored, world } = scene;
  await mirrored.sync({ only: ['tests', 'latest_test_executions'] });
  world.advance(HOUR);
  world.dates = 'later';
  const run = await mirrored.sync({ only: ['test_executions'], pageSize: 1, concurrency: 1 });
  expect(run.status).toBe('done');
  expect(mirrored.rows('select test_id from test_readings')).toHaveLength(2);
  expect(executionIds(scene, 't1')).toHaveLength(3);
});

test('an execution in the history of a test need not name its test (R20)', async () => {
  const scene = newScene();
  scene.world.transformPage = (page, { path }) =>
    path.endsWith('t1/executions')
      ? { ...page, items: (page.items as Item[]).map(({ test_id: _, ...item }) => item) }
      : page;
  expect((await scene.mirrored.sync({ history: true })).status).toBe('done');
  expect(executionIds(scene, 't1')).not.toEqual([]);
});
