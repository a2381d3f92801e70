import { describe, expect, test } from 'vitest';
import type { StreamName } from '../../src/core/stream.ts';
import { putAsset, putAssetEdge, putColumn, putColumnEdges, removeAsset } from '../model/environment.ts';
import { HOUR, type World } from '../model/world.ts';
import { inShort, listEnvironment, syncedWorld, verified } from './setup.ts';

type Subject = Awaited<ReturnType<typeof syncedWorld>>;

/** The service reports for each run that it has just refreshed the environment. */
function refreshing(world: World): void {
  listEnvironment(world, () => ({ last_synced_at: new Date(world.nowMs).toISOString() }));
}

async function look({ world, mirrored }: Subject, ...only: StreamName[]): Promise<object> {
  const { equal, pending, ...report } = await verified(world, mirrored, { only });
  return { equal, findings: inShort(report), pending: inShort({ findings: pending }) };
}

async function later({ world, mirrored }: Subject): Promise<void> {
  await mirrored.sync();
  world.advance(60);
}

test('a wrong edge is a difference even if the service refreshed in the second in which the sync began', async () => {
  const { world, mirrored } = await syncedWorld();
  const last_synced_at = new Date(Math.ceil(world.nowMs / 1000) * 1000 + 300).toISOString();
  world.nowMs = Date.parse(last_synced_at);
  world.latencyMs = 10;
  listEnvironment(world, () => ({ last_synced_at }));
  await mirrored.sync();
  mirrored.exec("delete from asset_lineage where upstream_asset_id = 'a1'");
  world.advance(60);
  expect(await look({ world, mirrored }, 'asset_lineage')).toEqual({
    equal: false,
    findings: ['missing asset_lineage a1 a2'],
    pending: [],
  });
});

const EDGES = 60;

describe('verify and removals that would be held back (R14)', () => {
  test('such removals are not repaired and stay differences', async () => {
    const { world, mirrored } = await syncedWorld();
    refreshing(world);
    mirrored.exec(`with recursive n(i) as (select 1 union all select i + 1 from n where i < ${EDGES})
      insert into asset_lineage (env_id, upstream_asset_id, downstream_asset_id, mirrored_at) select 'e1', 'a1', 'x' || i, '' from n`);
    const report = await verified(world, mirrored, { only: ['asset_lineage'], repairs: true });
    expect(report).toMatchObject({
      equal: false,
      repair: { not_repaired: [expect.stringContaining('60 removals are held back')] },
    });
    expect(report.findings.filter(({ repaired }) => !repaired)).toHaveLength(EDGES);
  });

  test('held-back removals are differences, however recently the service refreshed', async () => {
    const subject = await syncedWorld();
    const { world, mirrored } = subject;
    const place = world.environment();
    refreshing(world);
    for (let n = 0; n < EDGES; n++) putAssetEdge(place, 'a1', `x${n}`);
    for (let n = 0; n < EDGES; n++) putAsset(place, `x${n}`);
    world.advance(2 * HOUR);
    await later(subject);
    for (let n = 0; n < EDGES; n++) place.assetEdges.delete(`a1>x${n}`);
    expect((await mirrored.sync()).status).toBe('problems');
    world.advance(60);
    // An extra edge of the same asset is not held back.
    mirrored.exec(
      "insert into asset_lineage (env_id, upstream_asset_id, downstream_asset_id, mirrored_at) values ('e1', 'a1', 'own', '')",
    );
    const { equal, findings, pending } = await verified(world, mirrored, { only: ['asset_lineage'] });
    expect({
      equal,
      found: findings.length,
      pending: inShort({ findings: pending.filter(({ stream }) => stream === 'asset_lineage') }),
    }).toEqual({
      equal: false,
      found: EDGES,
      pending: ['extra asset_lineage a1 own'],
    });
  });
});

describe('a row that the next sync doesn’t fetch', () => {
  test('a silently deleted column is a difference, even if the feed still shows a tombstone of its asset', async () => {
    const subject = await syncedWorld();
    const place = subject.world.environment();
    place.keepsTombstones = true;
    removeAsset(place, 'a3', 'lost');
    subject.world.advance(5);
    putAsset(place, 'a3');
    subject.world.advance(60);
    const found = await look(subject, 'assets', 'columns');
    expect(found).toMatchObject({ equal: false });
    await later(subject);
    expect(await look(subject, 'columns')).toMatchObject({ equal: false });
  });

  test('a lost edge is a difference if its column outlives its asset', async () => {
    const subject = await syncedWorld();
    subject.mirrored.exec("delete from column_lineage where downstream_column_id = 'a3.c1'");
    removeAsset(subject.world.environment(), 'a3', 'stay');
    subject.world.advance(60);
    expect(await look(subject, 'column_lineage')).toMatchObject({ equal: false, pending: [] });
  });
});

test('edges of a column that was never visible are pending once its asset is visible', async () => {
  const subject = await syncedWorld();
  const { world, mirrored } = subject;
  const place = world.environment();
  place.hidden.add('a3');
  world.advance(HOUR);
  await mirrored.sync({ full: true });
  world.advance(10);
  putColumn(place, 'a3.c9', 'a3');
  putColumnEdges(place, 'a3.c9', ['a1.c1']);
  for (let n = 0; n < 2; n++) {
    world.advance(2 * HOUR);
    await mirrored.sync();
  }
  world.advance(2 * HOUR);
  place.hidden.delete('a3');
  putAsset(place, 'a3', { description: 'new' });
  world.advance(60);
  expect(await look(subject, 'assets', 'columns', 'column_lineage')).toMatchObject({ equal: true, findings: [] });
  await later(subject);
  expect(await look(subject, 'assets', 'columns', 'column_lineage')).toEqual({
    equal: true,
    findings: [],
    pending: [],
  });
});
