import { expect, test } from 'vitest';
import { SyncError } from '../../src/core/errors.ts';
import { type EnvironmentModel, execute, putAssetEdge, putScore, putTest, remove } from '../model/environment.ts';
import { furnish } from '../model/furnish.ts';
import { streamSummary } from '../model/test-mirror.ts';
import { HOUR } from '../model/world.ts';
import {
  expectMirrored,
  failAt,
  liveIds,
  newScene,
  onRequest,
  removeHooks,
  rowOf,
  type Scene,
  syncedScene,
} from '../support/scene.ts';

const latest = ({ mirrored }: Scene): unknown[] =>
  mirrored.rows('select id from latest_test_executions order by id').map(({ id }) => id);
const executions = ({ mirrored }: Scene): unknown[] =>
  mirrored.rows('select id from test_executions order by id').map(({ id }) => id);

test.each([
  ['tests', 'tests'],
  ['latest-test-executions', 'latest_test_executions'],
  ['asset-health-scores', 'asset_health_scores'],
] as const)(
  'a 404 of %s makes it unavailable: its rows stay, and the run does not fail (R15)',
  async (path, stream) => {
    const scene = await syncedScene();
    const before = scene.mirrored.rows(`select * from ${stream}`);
    scene.env.notLive.add(path);
    remove(scene.env, 'tests', 't1', 'lost');
    const summary = await scene.mirrored.sync({ full: true });
    expect(summary.status).toBe('done');
    expect(streamSummary(summary, stream)).toMatchObject({
      status: 'unavailable',
      error: expect.stringContaining('but was live before'),
    });
    expect(scene.mirrored.checkpoint(stream).unavailable).toBe(true);
    expect(scene.mirrored.rows(`select * from ${stream}`)).toEqual(before);
    scene.env.notLive.clear();
    const back = await scene.mirrored.sync({ full: true });
    expect(streamSummary(back, stream).status).toBe('done');
    expect(scene.mirrored.checkpoint(stream).unavailable).toBe(false);
    expectMirrored(scene);
  },
);

test('a run fails once a stream that was live has answered 404 for longer than the grace, until it is live again (R15)', async () => {
  const scene = await syncedScene();
  scene.env.notLive.add('latest-test-executions');
  scene.world.advance(25 * HOUR);
  expect((await scene.mirrored.sync({ graceSeconds: 48 * HOUR })).status).toBe('done');
  for (const wish of [{}, { only: ['latest_test_executions'] as const }]) {
    const summary = await scene.mirrored.sync(wish);
    expect(summary.status).toBe('problems');
    expect(streamSummary(summary, 'latest_test_executions')).toMatchObject({
      status: 'failed',
      error: expect.stringMatching(/^The service says that it is not live \(404\)\. Its rows are those of 2026-11-20T/),
    });
  }
  scene.env.notLive.clear();
  expect((await scene.mirrored.sync()).status).toBe('done');
  expectMirrored(scene);
});

test('a stream that never was live fails no run, however long it answers 404 (R15)', async () => {
  const scene = newScene();
  scene.env.notLive.add('asset-health-scores');
  for (const days of [0, 30]) {
    scene.world.advance(days * 24 * HOUR);
    const summary = await scene.mirrored.sync();
    expect(summary.status).toBe('done');
    expect(streamSummary(summary, 'asset_health_scores')).toMatchObject({ status: 'unavailable', error: null });
  }
});

test.each([
  ['assets', 'assets'],
  ['columns', 'columns'],
  ['asset-lineage', 'asset_lineage'],
] as const)('a 404 of %s is a failure (R15)', async (path, stream) => {
  const scene = await syncedScene();
  scene.env.notLive.add(path);
  const summary = await scene.mirrored.sync();
  expect(summary.status).toBe('problems');
  expect(streamSummary(summary, stream).status).toBe('failed');
  expect(liveIds(scene, 'assets')).toHaveLength(5);
});

test('a stream that stops being live during a round is unavailable (R15)', async () => {
  const scene = await syncedScene();
  failAt(scene, 'latest-test-executions', 2, 'run');
  await scene.mirrored.sync();
  removeHooks(scene);
  scene.env.notLive.add('latest-test-executions');
  const summary = await scene.mirrored.sync();
  expect(streamSummary(summary, 'latest_test_executions')).toMatchObject({ status: 'unavailable', requests: 1 });
  expect(summary.status).toBe('done');
});

test('histories that answer 404 are given up after twenty tests (R15)', async () => {
  const scene = newScene();
  for (let n = 10; n < 40; n++) putTest(scene.env, `t${n}`, 'a1');
  scene.env.notLive.add('executions');
  const summary = await scene.mirrored.sync({ history: true });
  expect(streamSummary(summary, 'test_executions')).toMatchObject({ status: 'unavailable', requests: 20 });
  expect(summary.status).toBe('done');
});

/** Adds tests that sort before all others, each with an execution. */
const TWENTY = Array.from({ length: 20 }, (_, n) => `m${n}`);

function furnishTwenty(place: EnvironmentModel): void {
  furnish(place);
  for (const id of TWENTY) putTest(place, id, 'a1');
  for (const id of TWENTY) execute(place, id, `${id}-r1`);
}

/** Makes the histories of the twenty tests answer 404. */
function loseHistories({ world }: Scene): void {
  world.transformPage = (page, { path }) => {
    if (/^e1\/tests\/m\d+\/executions$/.test(path)) throw new SyncError('not-live', '404');
    return page;
  };
}

test('in the first round of histories, twenty 404s in a row mean unavailable (R15)', async () => {
  const scene = newScene(furnishTwenty);
  loseHistories(scene);
  const summary = await scene.mirrored.sync({ history: true });
  expect(streamSummary(summary, 'test_executions')).toMatchObject({ status: 'unavailable', requests: 20 });
  expect(scene.mirrored.rows('select * from test_readings')).toEqual([]);
  removeHooks(scene);
  const next = await scene.mirrored.sync({ history: true });
  expect(streamSummary(next, 'test_executions')).toMatchObject({ status: 'done', requests: 24 });
});

test('fewer than twenty histories that all answer 404 also mean unavailable, until one is live (R15)', async () => {
  const scene = newScene();
  scene.env.notLive.add('executions');
  for (let run = 0; run < 2; run++) {
    const summary = await scene.mirrored.sync({ history: true });
    expect([summary.status, streamSummary(summary, 'test_executions').status]).toEqual(['done', 'unavailable']);
    expect(scene.mirrored.checkpoint('test_executions').watermark).toBeNull();
  }
  scene.env.notLive.clear();
  const next = await scene.mirrored.sync({ history: true });
  expect(streamSummary(next, 'test_executions')).toMatchObject({ status: 'done', requests: 4 });
});

test('histories that were live and all answer 404 give a warning, and fail the run after the grace, until one is live (R15)', async () => {
  const scene = newScene(furnishTwenty);
  await scene.mirrored.sync({ history: true });
  scene.env.notLive.add('executions');
  for (const id of TWENTY) execute(scene.env, id, `${id}-r2`);
  const histories = async (hours: number) => {
    scene.world.advance(hours * HOUR);
    return streamSummary(await scene.mirrored.sync({ history: true }), 'test_executions');
  };
  const warned = { status: 'unavailable', error: expect.stringMatching(/^all its histories answer 404/) };
  expect(await histories(1)).toMatchObject({ ...warned, requests: 20 });
  expect(await histories(1)).toMatchObject(warned);
  expect(await histories(25)).toMatchObject({
    status: 'failed',
    error: expect.stringMatching(/without --history\.$/),
  });
  scene.env.notLive.clear();
  expect(await histories(1)).toMatchObject({ status: 'done', error: null, requests: 20 });
});

/** Four of twenty histories are gone, and due. */
async function sceneOfFourGone(): Promise<Scene> {
  const scene = newScene(furnishTwenty);
  await scene.mirrored.sync({ history: true });
  scene.env.notLive.add('executions');
  for (const id of TWENTY.slice(0, 4)) execute(scene.env, id, `${id}-r2`);
  scene.world.advance(HOUR);
  return scene;
}

test('up to four histories that are gone are no reason for a warning (R15)', async () => {
  const scene = await sceneOfFourGone();
  const summary = await scene.mirrored.sync({ history: true });
  expect(streamSummary(summary, 'test_executions')).toMatchObject({ status: 'done', error: null, requests: 4 });
});

test('a history that is gone counts once, even if the run that met it was interrupted (R15)', async () => {
  const scene = await sceneOfFourGone();
  const path = `e1/tests/${TWENTY[3]}/executions`;
  scene.world.beforeRequest = (request) => {
    if (request.path === path) throw new SyncError('budget', 'no request is left');
  };
  expect(streamSummary(await scene.mirrored.sync({ history: true }), 'test_executions').status).toBe('stopped');
  scene.world.beforeRequest = () => {};
  const resumed = await scene.mirrored.sync({ history: true });
  expect(streamSummary(resumed, 'test_executions')).toMatchObject({ status: 'done', error: null, requests: 1 });
});

test('after a finished round of histories, twenty 404s in a row don’t block the others (R15, R22)', async () => {
  const scene = newScene(furnishTwenty);
  await scene.mirrored.sync({ history: true });
  scene.world.advance(HOUR);
  for (const id of [...TWENTY, 't1', 't2']) execute(scene.env, id, `${id}-r2`);
  scene.env.executions.push({ ...scene.env.executions[0], id: 'only-in-history', test_id: 't2' });
  loseHistories(scene);
  for (let run = 0; run < 2; run++) {
    const summary = await scene.mirrored.sync({ history: true });
    // In the second run, every history that is due answers 404, but no longer for the first time.
    expect(streamSummary(summary, 'test_executions').status).toBe('done');
    expect(rowOf(scene, 'test_executions', 'only-in-history')).toBeDefined();
    expect(scene.mirrored.requests('executions').map(({ path }) => path.split('/')[2])).toEqual([
      ...[...TWENTY].sort(),
      ...(run === 0 ? ['t1', 't2'] : []),
    ]);
  }
});

test('an interrupted read leaves the old snapshot intact, and the next run resumes after the staged rows (R16)', async () => {
  const scene = await syncedScene();
  const before = latest(scene);
  for (const id of ['t1', 't2']) execute(scene.env, id, `${id}-r2`);
  failAt(scene, 'latest-test-executions', 3);
  const summary = await scene.mirrored.sync({ pageSize: 1 });
  expect(streamSummary(summary, 'latest_test_executions').status).toBe('failed');
  expect(latest(scene)).toEqual(before);
  removeHooks(scene);
  await scene.mirrored.sync({ pageSize: 1 });
  expectMirrored(scene);
});

test('a snapshot is applied in one commit, so readers never see a mix (R16)', async () => {
  const scene = await syncedScene();
  const seen = new Set<string>();
  for (const id of ['t1', 't2', 't3']) execute(scene.env, id, `${id}-r2`);
  remove(scene.env, 'tests', 't2');
  scene.mirrored.afterCommit = () => void seen.add(JSON.stringify(latest(scene)));
  await scene.mirrored.sync({ pageSize: 1 });
  expect([...seen].map((ids) => JSON.parse(ids))).toEqual([
    ['t1-r1', 't1-r1b', 't2-r1', 't3-r1'],
    ['t1-r1b', 't1-r2', 't3-r2'],
  ]);
});

test('only rows that differ from the last snapshot are written (R16)', async () => {
  const scene = await syncedScene();
  const time = (table: string): unknown[] => [...scene.mirrored.rows(`select * from ${table}`)];
  const [edges, scores] = [time('asset_lineage'), time('asset_health_score_dimensions')];
  execute(scene.env, 't2', 't2-r2');
  putAssetEdge(scene.env, 'a1', 'a3');
  scene.world.advance(HOUR);
  const summary = await scene.mirrored.sync();
  expect(streamSummary(summary, 'latest_test_executions').rows_written).toBe(1);
  expect(streamSummary(summary, 'asset_lineage').rows_written).toBe(1);
  expect(streamSummary(summary, 'asset_health_scores')).toMatchObject({ rows_written: 0, mode: 'snapshot' });
  expect(time('asset_lineage')).toEqual(expect.arrayContaining(edges));
  expect(time('asset_health_score_dimensions')).toEqual(scores);
});

test('the dimensions of a score are deleted and written with it (R16)', async () => {
  const scene = await syncedScene();
  putScore(scene.env, 'a2', 0.25, { validity: 0.25, accuracy: 1 });
  scene.env.scores.delete('a1');
  await scene.mirrored.sync({ full: true });
  expectMirrored(scene);
});

test('executions of an interrupted snapshot are kept (R17)', async () => {
  const scene = await syncedScene();
  execute(scene.env, 't1', 't1-r2');
  failAt(scene, 'latest-test-executions', 3);
  await scene.mirrored.sync({ pageSize: 1 });
  expect(executions(scene)).toContain('t1-r2');
  execute(scene.env, 't1', 't1-r3');
  scene.world.cursorEpoch += 1;
  removeHooks(scene);
  await scene.mirrored.sync();
  expect(executions(scene)).toEqual(['t1-r1', 't1-r1b', 't1-r2', 't1-r3', 't2-r1', 't3-r1']);
});

test('executions stay when their row is replaced or their test deleted (R17)', async () => {
  const scene = await syncedScene();
  execute(scene.env, 't1', 't1-r2');
  remove(scene.env, 'tests', 't2');
  await scene.mirrored.sync();
  expect(latest(scene)).toEqual(['t1-r1b', 't1-r2', 't3-r1']);
  expect(executions(scene)).toEqual(['t1-r1', 't1-r1b', 't1-r2', 't2-r1', 't3-r1']);
});

test('every score is kept, by asset, dimension and hour (R17)', async () => {
  const scene = await syncedScene();
  putScore(scene.env, 'a1', 0.6);
  onRequest(scene, 'asset-health-scores', 2, () => {
    throw new Error('crash');
  });
  await expect(scene.mirrored.sync({ pageSize: 1 })).rejects.toThrow('crash');
  removeHooks(scene);
  scene.world.advance(HOUR);
  putScore(scene.env, 'a1', 0.7);
  await scene.mirrored.sync();
  const kept = scene.mirrored.rows(
    "select dimension, bucket_at, score from asset_health_score_history where asset_id = 'a1' order by 1, 2",
  );
  expect(kept.map((row) => Object.values(row).join(' '))).toEqual([
    'freshness 2026-11-20T04:00:00.000000Z 0.5',
    'freshness 2026-11-20T06:00:00.000000Z 0.6',
    'freshness 2026-11-20T07:00:00.000000Z 0.7',
    'total 2026-11-20T04:00:00.000000Z 0.5',
    'total 2026-11-20T06:00:00.000000Z 0.6',
    'total 2026-11-20T07:00:00.000000Z 0.7',
  ]);
});

test('a rejected row of a snapshot counts as seen, so the mirror keeps its stored version (R16)', async () => {
  const scene = await syncedScene();
  const held = scene.env.latest.get('t1.1');
  scene.env.latest.set('t1.1', { ...held, start_time: 'whenever' });
  const summary = await scene.mirrored.sync();
  expect(streamSummary(summary, 'latest_test_executions')).toMatchObject({ rows_rejected: 1, rows_deleted: 0 });
  expect(rowOf(scene, 'latest_test_executions', 't1-r1')).toBeDefined();
});

test('latest executions of a test deleted by tombstone are removed without a lookup, others after one (R12, R22)', async () => {
  const { mirrored, env } = await syncedScene();
  const asked = (): unknown[] =>
    mirrored.requests('latest-test-executions').flatMap(({ query }) => query['sub_test_ids'] ?? []);
  const latest = (): unknown[] =>
    mirrored.rows('select sub_test_unique_id id from latest_test_executions order by 1').map(({ id }) => id);
  const before = latest();
  remove(env, 'tests', 't1');
  await mirrored.sync();
  expect(asked()).toEqual([]);
  expect(latest()).toEqual(before.filter((id) => !String(id).startsWith('t1')));
  remove(env, 'tests', 't2', 'lost');
  await mirrored.sync();
  expect(asked().length).toBeGreaterThan(0);
});
