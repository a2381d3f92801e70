import { expect, test } from 'vitest';
import { SyncError } from '../../src/core/errors.ts';
import { reconcile } from '../../src/core/schedule/environments.ts';
import type { Row } from '../../src/core/stream.ts';
import { instantOfMs } from '../../src/core/time/instant.ts';
import { CATALOGUE } from '../../src/streams/catalogue.ts';
import type { RunSummary } from '../../src/sync/summary.ts';
import { remove } from '../model/environment.ts';
import { streamSummary } from '../model/test-mirror.ts';
import { HOUR } from '../model/world.ts';
import { SCANNED_STREAMS } from '../support/catalogue.ts';
import {
  addSecondEnvironment,
  expectMirrored,
  newScene,
  removeHooks,
  rowOf,
  type Scene,
  syncedScene,
} from '../support/scene.ts';

const scans = ({ streams }: RunSummary): string[] =>
  streams
    .filter(({ mode }) => mode === 'scan')
    .map(({ environment, stream, reason }) => `${environment} ${stream} ${reason}`);

test('a run that lists no environment marks all as missing and has problems; returned ones are scanned (R13)', async () => {
  const scene = await syncedScene();
  const { mirrored, env } = scene;
  env.listed = false;
  const none = await mirrored.sync();
  expect(none).toMatchObject({ status: 'problems', recovery: 'run', missing: ['env e1'], requests: 1 });
  expect(rowOf(scene, 'environments', 'e1')).toMatchObject({ missing_since: none.server_time });
  env.hidden.add('a2');
  env.listed = true;
  const back = await mirrored.sync();
  expect(scans(back)).toEqual(SCANNED_STREAMS.map((name) => `env e1 ${name} returned`));
  expect(rowOf(scene, 'environments', 'e1')).toMatchObject({ missing_since: null });
  expectMirrored(scene);
});

test('a run of an unlisted environment is refused but marks it as missing; once listed again it is scanned (R13)', async () => {
  const scene = newScene();
  const { mirrored, env, world } = scene;
  addSecondEnvironment(scene);
  await mirrored.sync();
  world.advance(2 * HOUR);
  env.listed = false;
  const refused = await mirrored.sync({ environments: ['e1'] });
  expect(refused).toMatchObject({ status: 'problems', recovery: 'usage', missing: ['env e1'], requests: 1 });
  expect(rowOf(scene, 'environments', 'e1')).toMatchObject({ missing_since: refused.server_time });
  expect(rowOf(scene, 'environments', 'e2')).toMatchObject({ missing_since: null });
  env.hidden.add('a2');
  env.listed = true;
  expect(scans(await mirrored.sync())).toEqual(SCANNED_STREAMS.map((name) => `env e1 ${name} returned`));
  expectMirrored(scene);
});

test('an environment that returns again during the scan of its first return is scanned once more (R13)', async () => {
  const scene = await syncedScene();
  const { world, mirrored, env } = scene;
  env.listed = false;
  await mirrored.sync();
  env.listed = true;
  world.beforeRequest = ({ path, cursor }) => {
    if (path === 'e1/columns' && cursor !== null) throw new SyncError('stream', 'cut off');
  };
  // The scan waits and the feeds continue (R9).
  expect(streamSummary(await mirrored.sync({ pageSize: 4 }), 'columns')).toMatchObject({
    mode: 'feed',
    status: 'failed',
  });
  expect(mirrored.requests('columns')[0]?.query).toEqual({ limit: 4 });
  removeHooks(scene);
  env.listed = false;
  await mirrored.sync();
  remove(env, 'columns', 'a1.c1', 'lost');
  env.listed = true;
  world.advance(HOUR);
  expect(streamSummary(await mirrored.sync(), 'columns')).toMatchObject({ reason: 'returned', status: 'done' });
  const firsts = mirrored.requests('columns').filter(({ query, cursor }) => cursor === null && !('ids' in query));
  expect(firsts.map(({ query }) => Object.keys(query))).toContainEqual(['limit']);
  expectMirrored(scene);
  world.advance(HOUR);
  expect(streamSummary(await mirrored.sync(), 'columns').mode).toBe('feed');
});

const dueScans = ({ mirrored }: Scene): unknown[] =>
  CATALOGUE.filter(({ name }) => mirrored.checkpoint(name).scanDue !== null).map(({ name }) => name);

test('after a return every stream with scans is scanned once, and no other stream has a scan due (R13)', async () => {
  const scene = await syncedScene();
  const { mirrored, env } = scene;
  env.listed = false;
  await mirrored.sync();
  env.listed = true;
  expect(scans(await mirrored.sync())).toEqual(SCANNED_STREAMS.map((name) => `env e1 ${name} returned`));
  expect(dueScans(scene)).toEqual([]);
  expect(scans(await mirrored.sync())).toEqual([]);
});

test('after a return no stream without scans has a scan due, not even one that was not read (R13)', async () => {
  const scene = newScene();
  const { mirrored, env } = scene;
  await mirrored.sync({ history: true });
  env.listed = false;
  await mirrored.sync();
  env.listed = true;
  const { streams } = await mirrored.sync();
  expect(streams.find(({ stream }) => stream === 'asset_health_scores')).toMatchObject({ reason: 'hourly' });
  expect(streams.map(({ stream }) => stream)).not.toContain('test_executions');
  expect(dueScans(scene)).toEqual([]);
});

/** Another run of the same mirror finds the environment unlisted, then listed again. */
function comeAndGo({ mirrored, world, env }: Scene, held: readonly Row[]): void {
  const now = instantOfMs(world.nowMs);
  const item = held.map(({ missing_since: _, extra: __, ...row }) => row);
  env.hidden.add('a2');
  void mirrored.otherRun.saveEnvironments(reconcile([], held, now), 1);
  const missing = held.map((row) => ({ ...row, missing_since: now }));
  void mirrored.otherRun.saveEnvironments(reconcile(item, missing, now), 1);
}

test.each([
  ['after others', { only: ['assets'] }],
  ['like all others', { maxRequests: 1 }],
] as const)(
  'a stream that is first read after a return, %s, is not scanned again because of it (R13)',
  async (_, first) => {
    const { mirrored, env } = newScene();
    await mirrored.sync({ ...first });
    env.listed = false;
    await mirrored.sync();
    env.listed = true;
    await mirrored.sync();
    expect(scans(await mirrored.sync())).toEqual([]);
  },
);

test('an environment that a concurrent run finds missing and back is scanned once per stream (R13)', async () => {
  let commits = 0;
  for (let nth = 1; nth <= Math.max(commits, 1); nth++) {
    const scene = await syncedScene();
    const { mirrored, world } = scene;
    const held = await mirrored.otherRun.environments();
    let met = 0;
    mirrored.beforeCommit = () => void (++met === nth && comeAndGo(scene, held));
    const during = scans(await mirrored.sync());
    commits = met;
    mirrored.beforeCommit = () => {};
    world.advance(HOUR);
    const after = scans(await mirrored.sync());
    expect([...during, ...after].toSorted(), `at commit ${nth}`).toEqual(
      SCANNED_STREAMS.map((name) => `env e1 ${name} returned`).toSorted(),
    );
    expectMirrored(scene);
    world.advance(HOUR);
    expect(scans(await mirrored.sync())).toEqual([]);
  }
  expect(commits).toBeGreaterThan(SCANNED_STREAMS.length);
});
