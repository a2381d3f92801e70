import { expect, test } from 'vitest';
import { SyncError } from '../../src/core/errors.ts';
import { putColumn } from '../model/environment.ts';
import { streamSummary } from '../model/test-mirror.ts';
import { DAY } from '../model/world.ts';
import { pageOf } from '../support/commit-parts.ts';
import { expectMirrored, newScene, removeHooks, type Scene } from '../support/scene.ts';

/** Larger pages of the collection fail every try. */
function onlySmall({ world }: Scene, path: string, most: number): void {
  world.beforeRequest = (asked) => {
    if (asked.path.endsWith(`/${path}`) && Number(asked.query['limit']) > most)
      throw new SyncError('halve-page', 'too heavy.');
  };
}

const limits = ({ mirrored }: Scene, path = 'columns'): unknown[] => [
  ...new Set(mirrored.requests(path).map(({ query }) => query['limit'])),
];

test('a list that only answers small pages is requested at half the limit, once per run, until it answers (R24)', async () => {
  const scene = newScene();
  onlySmall(scene, 'columns', 200);
  const runs: unknown[] = [];
  for (let run = 0; run < 3; run++) {
    const summary = await scene.mirrored.sync();
    runs.push([summary.status, limits(scene), streamSummary(summary, 'columns').error]);
  }
  const said = (limit: number, next: number): string =>
    `too heavy. Pages of ${limit} rows fail. The next run requests ${next}. A smaller --page-size takes effect at once.`;
  expect(runs).toEqual([
    ['problems', [2000, 1000], said(1000, 500)],
    ['problems', [500, 250], said(250, 125)],
    ['done', [125], null],
  ]);
  expectMirrored(scene);
  expect((await scene.mirrored.sync()).status).toBe('done');
  expect(limits(scene)).toEqual([125]);
});

test.each(['budget', 'quota'] as const)(
  'attempts at a page add up over runs with few requests, until its limit is halved: %s (R24)',
  async (spends) => {
    const scene = newScene();
    await scene.mirrored.sync({ pageSize: 200, only: ['assets'] });
    scene.world.failing = { path: 'e1/columns', tries: 6 };
    scene.world.limitedBy = spends;
    const runs: unknown[] = [];
    for (let run = 0; run < 6; run++) {
      const summary = await scene.mirrored.sync({ only: ['columns'], maxRequests: 3 });
      runs.push([streamSummary(summary, 'columns').status, limits(scene)]);
    }
    const [whole, half] = [
      ['stopped', [2000]],
      ['stopped', [1000]],
    ];
    expect(runs).toEqual([whole, whole, whole, half, half, half]);
    scene.world.failing = null;
    expect((await scene.mirrored.sync()).status).toBe('done');
    expect(limits(scene)).toEqual([500]);
    expectMirrored(scene);
  },
);

test.each([{ pageSize: 100 }, { pageSize: 100, full: true }, { pageSize: 50, only: ['columns'] as const }])(
  'a smaller page size takes effect at once, whatever limit was stored: %j (R6)',
  async (wish) => {
    const scene = newScene();
    onlySmall(scene, 'columns', 200);
    await scene.mirrored.sync();
    expect(streamSummary(await scene.mirrored.sync(wish), 'columns').status).toBe('done');
    expect(limits(scene)).toEqual([wish.pageSize]);
  },
);

test('a week after pages failed, a limit twice as large is tried, and a failure halves it again (R24)', async () => {
  const scene = newScene();
  onlySmall(scene, 'asset-lineage', 700);
  expect((await scene.mirrored.sync()).status).toBe('problems');
  const weekly: unknown[] = [];
  for (let week = 0; week < 4; week++) {
    expect((await scene.mirrored.sync()).status).toBe('done');
    weekly.push(limits(scene, 'asset-lineage'));
    scene.world.advance(7 * DAY);
  }
  expect(weekly).toEqual([[500], [500], [1000, 500], [500]]);
  removeHooks(scene);
  for (let run = 0; run < 5; run++) {
    expect((await scene.mirrored.sync()).status).toBe('done');
    scene.world.advance(7 * DAY);
  }
  expect(limits(scene, 'asset-lineage')).toEqual([2000]);
});

test('an interrupted read resumes with its limit, which is halved if it fails in a second run (R6, R24)', async () => {
  const scene = newScene();
  for (let n = 0; n < 130; n++) putColumn(scene.env, `a1.x${n}`, 'a1');
  let broken = false;
  scene.world.beforeRequest = ({ path, cursor, query }) => {
    if (path.endsWith('/columns') && cursor !== null && broken && Number(query['limit']) > 50)
      throw new SyncError('halve-page', 'too heavy.');
  };
  broken = true;
  expect((await scene.mirrored.sync({ pageSize: 120 })).status).toBe('problems');
  expect(limits(scene)).toEqual([120, 60]);
  expect((await scene.mirrored.sync({ pageSize: 120 })).status).toBe('done');
  const asked = scene.mirrored
    .requests('columns')
    .map(({ query, cursor }) => `${query['limit']}${cursor ? ' on' : ''}`);
  // The scan, then both feeds of the next round.
  expect(asked).toEqual(['60 on', '50', '50 on', '50 on', '50', '50 on', '50 on', '50']);
  expectMirrored(scene);
});

test('a history that only answers small pages has a limit of its own (R24)', async () => {
  const scene = newScene();
  onlySmall(scene, 't1/executions', 200);
  const runs: unknown[] = [];
  for (let run = 0; run < 3; run++) {
    const summary = await scene.mirrored.sync({ history: true });
    runs.push([summary.status, limits(scene, 't1/executions'), limits(scene, 't2/executions')]);
  }
  expect(runs).toEqual([
    ['problems', [2000, 1000], [2000]],
    ['problems', [500, 250], []],
    ['done', [125], []],
  ]);
});

test('a heavy page is committed in slices, and only its last slice advances the read (R5, R27)', async () => {
  const scene = newScene();
  const { mirrored } = scene;
  mirrored.isHeavy = () => true;
  const cursors: unknown[] = [];
  mirrored.afterCommit = ({ stream, commit }) => {
    if (stream === 'columns' && pageOf(commit).returnedKeys?.length)
      cursors.push([mirrored.rows('select 1 from columns').length, commit.checkpoint.round?.read?.cursor ?? null]);
  };
  const summary = await mirrored.sync({ only: ['assets', 'columns'], pageSize: 4 });
  const [next] = mirrored.requests('columns').flatMap(({ cursor }) => cursor ?? []);
  expect(cursors.slice(0, 3)).toEqual([
    [2, null],
    [4, next],
    [6, next],
  ]);
  expect(streamSummary(summary, 'columns').pages).toBe(mirrored.requests('columns').length);
  mirrored.afterCommit = () => {};
  await mirrored.sync();
  expectMirrored(scene);
});

test('after a heavy history none is requested in advance, so only the current one is in memory (R27)', async () => {
  const scene = newScene();
  await scene.mirrored.sync({ only: ['assets', 'tests', 'latest_test_executions'] });
  scene.mirrored.isHeavy = () => true;
  const order: string[] = [];
  scene.world.beforeRequest = ({ path }) => void order.push(`asked ${path.split('/')[2]}`);
  scene.mirrored.afterCommit = ({ commit }) => {
    const { historyRead } = pageOf(commit);
    if (historyRead) order.push(`read ${historyRead.testId}`);
  };
  await scene.mirrored.sync({ only: ['test_executions'], concurrency: 2 });
  expect(order.slice(1)).toEqual([
    ...['asked t1', 'read t1', 'asked t2', 'asked t3', 'read t2'],
    ...['asked t3', 'read t3', 'asked t4', 'read t4'],
  ]);
  expect(scene.mirrored.rows('select 1 from test_executions').length).toBeGreaterThan(3);
});
