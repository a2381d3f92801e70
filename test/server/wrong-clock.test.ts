import { beforeEach, describe, expect, test } from 'vitest';
import { assets, environments } from '../../schema/assets.ts';
import { testExecutions, tests } from '../../schema/data-tests.ts';
import { assetHealthScoreDimensions, assetHealthScores } from '../../schema/health.ts';
import { mirrorEnvironments, syncRuns } from '../../schema/sync.ts';
import type { MirrorFile } from '../../src/destination/sqlite/open.ts';
import { asset, idsOf, insert, NOW, run, serve, test_ } from './fixture.ts';

/** The mirror's time after one sync on a machine whose clock was 400 days ahead. */
const AHEAD = '2027-12-25T12:00:00.000000Z';
const BEHIND = '2025-10-16T12:00:00.000000Z';

function fill({ db }: MirrorFile): void {
  insert(db, assets, [asset('a', { synced_at: '2026-09-01T00:00:00.000000Z' }), asset('b', { synced_at: NOW })]);
  insert(db, tests, test_('t'));
  const started = { old: '10-01', recent: '11-01', late: '11-19' };
  const runs = Object.entries(started).map(([id, day]) =>
    run(id, { test_id: 't', start_time: `2026-${day}T00:00:00.000000Z` }),
  );
  insert(db, testExecutions, runs);
  const score = { env_id: 'e', asset_id: 'a', score: 0.5, test_count: 2, mirrored_at: NOW };
  const bucket_at = '2026-11-20T11:00:00.000000Z';
  insert(db, assetHealthScores, { ...score, bucket_at });
  insert(db, assetHealthScoreDimensions, { ...score, dimension: 'validity', bucket_at });
}

const world = serve(fill);
const { get, all } = world;
const synced = (...times: (string | null)[]) =>
  insert(
    world.writing.db,
    syncRuns,
    ...times.map((server_time) => ({ cycle_id: 1, status: 'done' as const, server_time, started_at: AHEAD })),
  );

describe.each([
  ['ahead', AHEAD],
  ['behind', BEHIND],
])('the windows of a mirror whose machine had its clock %s (R1)', (_, mirroredAt) => {
  beforeEach(() => {
    world.writing.db.delete(syncRuns).run();
    world.writing.connection.prepare('update mirror_environments set mirrored_at = ?').run(mirroredAt);
    synced('2026-11-19T12:00:00.000000Z', NOW, null);
  });

  test('scores of the last 7 days by the source’s time are served', async () => {
    const { items } = (await get('e/asset-health-scores')).body;
    expect(items).toMatchObject([{ asset_id: 'a', dimensions: [{ dimension: 'validity' }] }]);
    expect((await get('e/asset-health-scores/a')).status).toBe(200);
    expect((await get('e/asset-health-scores/aggregate')).body.total).toMatchObject({ score: 0.5, test_count: 2 });
  });

  test('executions of the last 30 days by the source’s time are served, and of 90 on request', async () => {
    expect(idsOf((await all('e/tests/t/executions')).items)).toEqual(['late', 'recent']);
    const longer = await all('e/tests/t/executions?start_time_from=2020-01-01T00:00:00Z');
    expect(idsOf(longer.items)).toEqual(['late', 'recent', 'old']);
  });

  test('the server time is that of the newest run, so a source’s wrong clock has no lasting effect', async () => {
    synced('2027-11-20T12:00:00.000000Z');
    expect((await get('e/asset-health-scores')).body.items).toEqual([]);
    synced(NOW);
    expect((await get('e/asset-health-scores')).body.items).toMatchObject([{ asset_id: 'a' }]);
  });
});

test('a feed reaches back 90 days from the source’s time, so a clock that is ahead hides nothing from clients', async () => {
  synced(NOW);
  world.writing.connection.prepare('update mirror_environments set mirrored_at = ?').run(AHEAD);
  expect(idsOf((await all('e/assets?synced_since=2026-08-31T00:00:00Z')).items)).toEqual(['a', 'b']);
});

test('the mirror’s time with microseconds has its own header, and a feed from that time misses nothing', async () => {
  const { get, writing, server } = serve(fill);
  const at = '2026-11-20T12:00:00.123456Z';
  writing.connection.prepare('update mirror_environments set mirrored_at = ?').run(at);
  for (const path of ['environments', 'e/assets', 'e/nothing', 'e/assets?limit=0', 'e/tests/%zz'])
    expect((await get(path)).headers['obsync-mirrored-at']).toBe(at);
  expect((await get('environments', {})).headers['obsync-mirrored-at']).toBe(at);
  expect((await (await server).inject('/healthz')).headers['obsync-mirrored-at']).toBe(at);
  const next = '2026-11-20T12:00:00.123457Z';
  insert(writing.db, assets, asset('next', { synced_at: next }));
  expect(idsOf((await get(`e/assets?synced_since=${at}`)).body.items)).toEqual(['next']);
});

test('answers about an environment have its time, and the list of environments has the newest (R21)', async () => {
  const { get, writing } = serve(fill);
  insert(writing.db, environments, { id: 'f', name: 'F', mirrored_at: NOW });
  insert(writing.db, mirrorEnvironments, { env_id: 'f', mirrored_at: AHEAD });
  const timeOf = async (path: string) => {
    const answer = await get(path);
    return [answer.status, answer.headers['obsync-mirrored-at']];
  };
  expect(await timeOf('e/assets')).toEqual([200, NOW]);
  expect(await timeOf('e/assets?synced_since=2026-11-20T12:00:00.000001Z')).toEqual([200, NOW]);
  expect(await timeOf('e/nothing')).toEqual([404, AHEAD]);
  expect(await timeOf('e/assets/none')).toEqual([404, NOW]);
  expect(await timeOf('f/assets')).toEqual([200, AHEAD]);
  expect(await timeOf('environments')).toEqual([200, AHEAD]);
});
