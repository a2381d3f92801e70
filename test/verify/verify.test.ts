import { describe, expect, test } from 'vitest';
import {
  execute,
  putAsset,
  putAssetEdge,
  putColumn,
  putColumnEdges,
  putScore,
  putTest,
  remove,
  removeAsset,
  undelete,
} from '../model/environment.ts';
import type { World } from '../model/world.ts';
import { WHOLE_REQUESTS } from '../support/catalogue.ts';
import { inShort, syncedWorld, verified } from './setup.ts';

describe('verify right after a sync', () => {
  test.each([
    ['count', 3],
    ['ids', 1 + 2 * WHOLE_REQUESTS.ids],
    ['rows', 1 + 2 * WHOLE_REQUESTS.rows],
  ] as const)(
    'source and mirror are equal at depth %s, in %i requests for two environments',
    async (depth, requests) => {
      const { world, mirrored } = await syncedWorld(['e1', 'e2']);
      const report = await verified(world, mirrored, { depth });
      const { equal, findings, pending } = report;
      expect({ equal, findings, pending, requests: report.requests }).toEqual({
        equal: true,
        findings: [],
        pending: [],
        requests,
      });
    },
  );
});

/** Manipulations of the mirror behind the sync's back, and the expected findings. */
const CORRUPTIONS = [
  ['a missing column', "delete from columns where id = 'a1.c1'", 'ids', ['missing columns a1.c1']],
  ['a missing asset', "delete from assets where id = 'a1'", 'count', ['missing assets a1']],
  ['a missing test', "delete from tests where id = 't3'", 'ids', ['missing tests t3']],
  [
    'an asset wrongly deleted',
    "update assets set deleted_at = '2026-11-20T05:00:00.000000Z', deletion = 'tombstone' where id = 'b1'",
    'ids',
    ['missing assets b1'],
  ],
  [
    'a tombstone from the future',
    "update columns set deleted_at = '2036-01-01T00:00:00.000000Z', deletion = 'tombstone' where id = 'a1.c2'",
    'ids',
    ['missing columns a1.c2'],
  ],
  [
    'a column wrongly deleted as absent',
    "update columns set deleted_at = '2026-01-01T00:00:00.000000Z', deletion = 'absent' where id = 'a1.c1'",
    'ids',
    ['missing columns a1.c1'],
  ],
  [
    'an extra asset',
    "insert into assets (env_id, id, name, kind, source_type, db_name, schema_name, mirrored_at) values ('e1', 'x', 'x', 'table', 'dbt', 'd', 's', '')",
    'count',
    ['extra assets x'],
  ],
  [
    'an extra column',
    "insert into columns (env_id, id, asset_id, name, mirrored_at) values ('e1', 'x', 'a1', 'x', '')",
    'ids',
    ['extra columns x'],
  ],
  [
    'an extra test that is disabled',
    "insert into tests (env_id, id, name, disabled, mirrored_at) values ('e1', 'x', 'x', 1, '')",
    'ids',
    ['extra tests x'],
  ],
  ['a wrong name', "update assets set name = 'wrong' where id = 'a2'", 'rows', ['unequal assets a2 (name)']],
  [
    'a row from the future',
    "update columns set data_type = 'text', synced_at = '2036-01-01T00:00:00.000000Z' where id = 'a2.c1'",
    'rows',
    ['unequal columns a2.c1 (data_type synced_at)'],
  ],
  [
    'a row with a time of just now',
    "update columns set name = 'wrong', synced_at = '2026-11-20T06:10:30.000000Z' where id = 'a1.c1'",
    'rows',
    ['unequal columns a1.c1 (name synced_at)'],
  ],
  [
    'a wrong typed field',
    "update assets set schema_name = 'wrong' where id = 'a2'",
    'rows',
    ['unequal table_assets a2 (schema_name)'],
  ],
  [
    'a wrong field of another kind',
    "update assets set url = 'wrong' where id = 'a2'",
    'rows',
    ['unequal assets a2 (url)'],
  ],
  [
    'a wrong field of another kind, without a time',
    "update assets set bi_type = 'wrong', synced_at = null where id = 'a1'",
    'rows',
    ['unequal assets a1 (bi_type synced_at)'],
  ],
  ['a lost unknown field', "update assets set extra = null where id = 'o1'", 'rows', ['unequal assets o1 (extra)']],
  [
    'a missing asset edge',
    "delete from asset_lineage where upstream_asset_id = 'a1'",
    'ids',
    ['missing asset_lineage a1 a2'],
  ],
  [
    'an extra asset edge',
    "insert into asset_lineage (env_id, upstream_asset_id, downstream_asset_id, mirrored_at) values ('e1', 'a1', 'b1', ''), ('e1', 'a1', 'nowhere', '')",
    'ids',
    ['extra asset_lineage a1 b1', 'extra asset_lineage a1 nowhere'],
  ],
  [
    'a missing column edge',
    "delete from column_lineage where downstream_column_id = 'a2.c2'",
    'ids',
    ['missing column_lineage a1.c2 a2.c2'],
  ],
  [
    'an extra column edge',
    "insert into column_lineage (env_id, upstream_column_id, downstream_column_id, mirrored_at) values ('e1', 'a1.c3', 'a2.c3', ''), ('e1', 'a1.c3', 'nowhere', ''), ('e1', 'nowhere', 'a1.c1', '')",
    'ids',
    ['extra column_lineage a1.c3 a2.c3', 'extra column_lineage a1.c3 nowhere', 'extra column_lineage nowhere a1.c1'],
  ],
  [
    'a wrong result',
    "update latest_test_executions set status = 'PASS' where sub_test_unique_id = 't1.2'",
    'rows',
    ['unequal latest_test_executions t1.2 (status)'],
  ],
  [
    'a missing result',
    "delete from latest_test_executions where test_id = 't3'",
    'ids',
    ['missing latest_test_executions t3.1'],
  ],
  [
    'a wrong score',
    "update asset_health_scores set score = 0.1 where asset_id = 'a1'",
    'rows',
    ['unequal asset_health_scores a1 (score)'],
  ],
  [
    'a wrong dimension',
    "update asset_health_score_dimensions set score = 0.1 where dimension = 'validity'",
    'rows',
    ['unequal asset_health_scores a2 (dimensions.validity)'],
  ],
  [
    'a missing dimension',
    "delete from asset_health_score_dimensions where dimension = 'validity'",
    'rows',
    ['unequal asset_health_scores a2 (dimensions.validity)'],
  ],
  [
    'a dimension without its score',
    "delete from asset_health_scores where asset_id = 'a1'; insert into asset_health_score_dimensions select env_id, 'b1', dimension, score, test_count, bucket_at, mirrored_at, extra from asset_health_score_dimensions where asset_id = 'a1'",
    'ids',
    ['extra asset_health_scores b1', 'missing asset_health_scores a1'],
  ],
] as const;

const DEPTHS = ['count', 'ids', 'rows'] as const;

describe('verify of a corrupted mirror', () => {
  test.each(CORRUPTIONS)('%s is found at its depth and repaired', async (_what, sql, depth, found) => {
    const { world, mirrored } = await syncedWorld();
    mirrored.exec(sql);
    for (const each of DEPTHS) {
      const report = await verified(world, mirrored, { depth: each });
      const sees = DEPTHS.indexOf(each) >= DEPTHS.indexOf(depth);
      expect({ each, equal: report.equal, found: inShort(report).sort() }).toEqual({
        each,
        equal: !sees,
        found: sees ? [...found].sort() : [],
      });
    }
    const repaired = await verified(world, mirrored, { repairs: true });
    expect(repaired).toMatchObject({ equal: true, pending: [], possible: [] });
    expect(repaired.findings.every((finding) => finding.repaired)).toBe(true);
    expect(inShort(repaired).sort()).toEqual([...found].sort());
    expect(await verified(world, mirrored)).toMatchObject({ equal: true, findings: [], pending: [] });
  });
});

describe('verify after a change at the source', () => {
  test.each([
    ['a new column', (w: World) => putColumn(w.environment(), 'a1.c4', 'a1'), 1],
    ['a changed asset', (w: World) => putAsset(w.environment(), 'a1', { name: 'new', materialization: 'view' }), 2],
    ['a tombstone', (w: World) => remove(w.environment(), 'columns', 'a3.c2'), 1],
    ['an asset deleted with all its children', (w: World) => removeAsset(w.environment(), 'a2', 'tombstone'), 12],
    ['a silent deletion of children', (w: World) => removeAsset(w.environment(), 'a2', 'lost'), 12],
    ['a new edge into a column', (w: World) => putColumnEdges(w.environment(), 'a3.c2', ['a1.c1']), 2],
    ['the last edge of a column', (w: World) => putColumnEdges(w.environment(), 'a2.c2', []), 2],
    [
      'an edge to a new asset',
      (w: World) => {
        putAsset(w.environment(), 'a4');
        putAssetEdge(w.environment(), 'a3', 'a4');
      },
      2,
    ],
    ['a new execution', (w: World) => execute(w.environment(), 't1', 'new'), 1],
    [
      'the first execution of a new test',
      (w: World) => {
        putTest(w.environment(), 't5', 'a1');
        execute(w.environment(), 't5', 'new');
      },
      2,
    ],
    [
      'a score of a later hour',
      (w: World) => {
        w.advance(3600);
        putScore(w.environment(), 'a1', 0.25);
      },
      1,
    ],
    [
      'the score of a new table',
      (w: World) => {
        putAsset(w.environment(), 'a4');
        putScore(w.environment(), 'a4', 0.25);
      },
      2,
    ],
  ] as const)('%s is pending until the next sync', async (_what, change, pending) => {
    const { world, mirrored } = await syncedWorld();
    change(world);
    world.advance(60);
    const report = await verified(world, mirrored);
    expect({ found: inShort(report), equal: report.equal, pending: report.pending.length }).toEqual({
      found: [],
      equal: true,
      pending,
    });
    world.advance(3600); // scores are read once an hour
    await mirrored.sync();
    expect(await verified(world, mirrored)).toMatchObject({ equal: true, findings: [], pending: [] });
  });
});

test('a marked row is pending, because the next sync reads it (R18, R22)', async () => {
  const { world, mirrored } = await syncedWorld();
  putAsset(world.environment(), 'a1', { materialization: 'view' });
  putColumnEdges(world.environment(), 'a3.c2', ['a1.c1']);
  world.advance(60);
  await mirrored.sync({ only: ['assets', 'columns'] });
  const report = await verified(world, mirrored);
  expect([inShort(report), inShort({ findings: report.pending })]).toEqual([
    [],
    ['unequal table_assets a1 (materialization)', 'missing column_lineage a1.c1 a3.c2'],
  ]);
});

test('a row is pending if a sync of other streams has changed its parent since', async () => {
  const { world, mirrored } = await syncedWorld();
  removeAsset(world.environment(), 'a3', 'tombstone');
  world.advance(60);
  await mirrored.sync({ only: ['assets', 'columns', 'tests', 'column_lineage'] });
  const report = await verified(world, mirrored);
  expect(report).toMatchObject({ equal: true, findings: [] });
  expect(report.pending.length).toBeGreaterThan(0);
});

test('a column returned despite its deleted asset is a difference, because no sync looks it up (R13)', async () => {
  const { world, mirrored } = await syncedWorld();
  remove(world.environment(), 'columns', 'a2.c1', 'lost');
  await mirrored.sync({ full: true });
  removeAsset(world.environment(), 'a2', 'tombstone');
  undelete(world.environment(), 'columns', 'a2.c1');
  world.advance(60);
  expect(inShort(await verified(world, mirrored, { only: ['columns'] }))).toEqual(['missing columns a2.c1']);
});

describe('verify after many changes at the source', () => {
  test('deletions and their children are pending, however many requests it takes to tell', async () => {
    const { world, mirrored } = await syncedWorld();
    for (let n = 0; n < 60; n++) putColumn(world.environment(), `x${n}`, 'a1');
    for (let n = 0; n < 60; n++) putColumnEdges(world.environment(), `x${n}`, ['a1.c1']);
    world.advance(7200);
    await mirrored.sync();
    world.advance(7200);
    for (let n = 0; n < 60; n++) {
      if (n % 2 === 0) remove(world.environment(), 'columns', `x${n}`);
      else putColumnEdges(world.environment(), `x${n}`, ['a1.c1', 'a1.c2', 'a2.c1']);
    }
    const report = await verified(world, mirrored, { only: ['columns', 'column_lineage'], pageSize: 1 });
    expect(report).toMatchObject({ equal: true, findings: [], possible: [] });
    expect(report.streams.map(({ pending }) => pending)).toEqual([60, 30 + 60]);
  });
});

test('the answer stays open if differences remain unconfirmed and none was confirmed', async () => {
  const { world, mirrored } = await syncedWorld();
  for (let n = 0; n < 60; n++) putColumn(world.environment(), `x${n}`, 'a1');
  await mirrored.sync();
  world.transformPage = (page, { path, query }) => {
    const isList = path.endsWith('/columns') && query['limit'] === 1 && query['ids'] === undefined;
    if (!isList || query['synced_since'] !== undefined || query['deleted_since'] !== undefined) return page;
    return { ...page, items: [...page.items].map((item) => ({ ...(item as object), data_type: 'torn' })) };
  };
  const report = await verified(world, mirrored, { only: ['columns'], pageSize: 1 });
  expect(report).toMatchObject({ equal: null, error: null, findings: [] });
  expect(report.streams).toMatchObject([{ status: 'unsure', possible: 69 - 50 }]);
});
