import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { addDays, addSeconds, instantOfMs } from '../../src/core/time/instant.ts';
import { changeSample, type SampleChanges } from '../../src/demo/changes.ts';
import { makeSample } from '../../src/demo/sample.ts';
import { type MirrorFile, openForWriting } from '../../src/destination/sqlite/open.ts';
import { rootToken } from '../../src/server/access.ts';
import { createServer } from '../../src/server/server.ts';

const NOW_MS = Date.parse('2026-11-20T09:17:00Z');
const LATER_MS = NOW_MS + 3_600_000;
const NOW = instantOfMs(NOW_MS);
const LATER = instantOfMs(LATER_MS);
const TABLES = [
  'environments',
  'assets',
  'columns',
  'tests',
  'asset_lineage',
  'column_lineage',
  'latest_test_executions',
  'test_executions',
  'asset_health_scores',
  'asset_health_score_dimensions',
];

const folder = mkdtempSync(join(tmpdir(), 'obsync-demo-'));
const opened: MirrorFile[] = [];

function sampleFile(seed: number): MirrorFile {
  const mirror = openForWriting(join(folder, `${opened.length}.db`));
  opened.push(mirror);
  makeSample(mirror, { seed, nowMs: NOW_MS });
  return mirror;
}

const value = ({ connection }: MirrorFile, sql: string) => connection.prepare(sql).pluck().get() as number;
const count = (mirror: MirrorFile, table: string) => value(mirror, `select count(*) from ${table}`);

/** A digest of every row of the sample. */
function digest({ connection }: MirrorFile): string {
  const hash = createHash('sha256');
  for (const table of TABLES) {
    for (const row of connection.prepare(`select * from ${table}`).raw().iterate()) hash.update(JSON.stringify(row));
  }
  return hash.digest('hex');
}

/** What no state of the sample may hold. */
const DANGLING = {
  'asset edges to what is not live': `select count(*) from asset_lineage l where
    not exists (select 1 from assets a where a.env_id = l.env_id and a.id = l.upstream_asset_id and a.deleted_at is null)
    or not exists (select 1 from assets a where a.env_id = l.env_id and a.id = l.downstream_asset_id and a.deleted_at is null)`,
  'column edges to what is not live': `select count(*) from column_lineage l where
    not exists (select 1 from columns c where c.env_id = l.env_id and c.id = l.upstream_column_id and c.deleted_at is null)
    or not exists (select 1 from columns c where c.env_id = l.env_id and c.id = l.downstream_column_id and c.deleted_at is null)`,
  'live columns of assets that are not live': `select count(*) from columns c where c.deleted_at is null and
    not exists (select 1 from assets a where a.env_id = c.env_id and a.id = c.asset_id and a.deleted_at is null)`,
  'live tests of assets that are not live': `select count(*) from tests t where t.deleted_at is null and
    not exists (select 1 from assets a where a.env_id = t.env_id and a.id = t.asset_id and a.deleted_at is null)`,
  'live tests of columns that are not live': `select count(*) from tests t where t.deleted_at is null and t.column_name is not null and
    not exists (select 1 from columns c where c.env_id = t.env_id and c.asset_id = t.asset_id and c.name = t.column_name and c.deleted_at is null)`,
  'latest executions of tests that are not live': `select count(*) from latest_test_executions l where
    not exists (select 1 from tests t where t.env_id = l.env_id and t.id = l.test_id and t.deleted_at is null)`,
  'latest executions missing from the history': `select count(*) from latest_test_executions l where
    not exists (select 1 from test_executions e where e.env_id = l.env_id and e.sub_test_unique_id = l.sub_test_unique_id and e.id = l.id)`,
  'latest executions that are not the latest': `select count(*) from latest_test_executions l where l.start_time <
    (select max(start_time) from test_executions e where e.env_id = l.env_id and e.sub_test_unique_id = l.sub_test_unique_id)`,
  'scores of assets that are not live': `select count(*) from asset_health_scores s where
    not exists (select 1 from assets a where a.env_id = s.env_id and a.id = s.asset_id and a.deleted_at is null)`,
  'column edges between assets without an edge': `select count(*) from column_lineage l
    join columns u on u.env_id = l.env_id and u.id = l.upstream_column_id
    join columns d on d.env_id = l.env_id and d.id = l.downstream_column_id
    where not exists (select 1 from asset_lineage a where a.env_id = l.env_id
      and a.upstream_asset_id = u.asset_id and a.downstream_asset_id = d.asset_id)`,
};

let sample: MirrorFile;
let twin: MirrorFile;

beforeAll(() => {
  sample = sampleFile(7);
  twin = sampleFile(7);
});

afterAll(() => {
  for (const { connection } of opened) connection.close();
  rmSync(folder, { recursive: true });
});

describe('the sample of the demo', () => {
  test.each([
    ['environments', 2, 2],
    ['assets', 1800, 2300],
    ['columns', 18_000, 23_000],
    ['tests', 2700, 3400],
    ['asset_lineage', 1500, 4000],
    ['column_lineage', 10_000, 30_000],
    ['latest_test_executions', 2700, 3700],
    ['test_executions', 35_000, 55_000],
    ['asset_health_scores', 1000, 2000],
  ])('it has a plausible number of %s', (table, least, most) => {
    expect(count(sample, table)).toBeGreaterThanOrEqual(least);
    expect(count(sample, table)).toBeLessThanOrEqual(most);
  });

  test.each(Object.entries(DANGLING))('it has no %s', (_, sql) => {
    expect(value(sample, sql)).toBe(0);
  });

  test('it is the same for the same seed, and different for another', () => {
    expect(digest(twin)).toBe(digest(sample));
    expect(digest(sampleFile(8))).not.toBe(digest(sample));
  });

  test.each(['assets', 'columns', 'tests', 'latest_test_executions', 'test_executions'])(
    'it has %s last synced at least two hours ago',
    (table) => {
      const { oldest, newest } = sample.connection
        .prepare(`select min(synced_at) oldest, max(synced_at) newest from ${table}`)
        .get() as Record<string, string>;
      expect((newest as string) <= addSeconds(NOW, -7200)).toBe(true);
      expect((oldest as string) >= addDays(NOW, -61)).toBe(true);
      expect(newest).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
    },
  );

  test('it has failing and disabled tests, every kind of asset, and assets in bad health', () => {
    const kinds = sample.connection.prepare('select distinct kind from assets order by 1').pluck().all();
    expect(kinds).toEqual(['bi', 'etl', 'semantic', 'table']);
    const statuses = sample.connection
      .prepare('select distinct status from latest_test_executions order by 1')
      .pluck()
      .all();
    expect(statuses).toEqual(['ERROR', 'FAIL', 'NO_DATA', 'PASS', 'SKIPPED', 'WARN']);
    expect(value(sample, 'select count(*) from tests where disabled = 1')).toBeGreaterThan(50);
    expect(value(sample, 'select count(*) from asset_health_scores where score < 0.5')).toBeGreaterThan(5);
    expect(value(sample, 'select count(distinct date(start_time)) from test_executions')).toBeGreaterThanOrEqual(14);
  });

  test('the category of a test is in test_type, and what it tests in definition_type', () => {
    const named = sample.connection
      .prepare('select distinct test_type, definition_type from tests order by 1, 2')
      .raw()
      .all();
    expect(named).toEqual([
      ['anomaly_detection', 'freshness'],
      ['anomaly_detection', 'volume'],
      ['dbt_test', 'accepted_values'],
      ['dbt_test', 'not_null'],
      ['dbt_test', 'relationships'],
      ['dbt_test', 'unique'],
    ]);
  });

  test('all its JSON is valid', () => {
    for (const [table, name] of [
      ['assets', 'owners'],
      ['assets', 'tags'],
      ['tests', 'config'],
      ['tests', 'tags'],
      ['tests', 'owners'],
    ]) {
      expect(value(sample, `select count(*) from ${table} where json_valid(${name}) is not 1`)).toBe(0);
    }
  });

  test('every asset is downstream of a source', () => {
    const lost = `with recursive reached(env_id, id) as (
      select env_id, id from assets where kind = 'etl'
      union select l.env_id, l.downstream_asset_id from reached r
        join asset_lineage l on l.env_id = r.env_id and l.upstream_asset_id = r.id)
      select count(*) from assets a where not exists (select 1 from reached r where r.env_id = a.env_id and r.id = a.id)`;
    expect(value(sample, lost)).toBe(0);
  });
});

describe('the changes to the sample', () => {
  let changed: MirrorFile;
  let before: Record<string, number>;
  let changes: SampleChanges;
  let changedDigest: string;

  beforeAll(() => {
    changed = twin;
    before = Object.fromEntries(TABLES.map((table) => [table, count(changed, table)]));
    changes = changeSample(changed, { seed: 7, nowMs: LATER_MS });
    changedDigest = digest(changed);
  });

  test('their counts match what they did', () => {
    expect(changes).toMatchObject({
      assetsEdited: 8,
      assetsAdded: 3,
      testsAdded: 3,
      assetsDeleted: 2,
      columnsChanged: 12,
      columnsRewired: 6,
      testRuns: 40,
    });
    expect(changes.columnsAdded).toBeGreaterThan(9);
    expect(changes.columnsDeleted).toBeGreaterThan(2);
    expect(changes.testsDeleted).toBeGreaterThan(0);
    const grown = (table: string) => count(changed, table) - (before[table] ?? 0);
    expect([grown('assets'), grown('columns'), grown('tests'), grown('test_executions')]).toEqual([
      3,
      changes.columnsAdded,
      3,
      40,
    ]);
    expect(value(changed, `select count(*) from assets where deleted_at = '${LATER}' and deletion = 'tombstone'`)).toBe(
      2,
    );
  });

  test.each(Object.entries(DANGLING))('they leave no %s', (_, sql) => {
    expect(value(changed, sql)).toBe(0);
  });

  test('changed edges are visible in the columns feed, because edges have no feed of their own', () => {
    const edges = ({ connection }: MirrorFile) =>
      new Map(
        connection
          .prepare(`select env_id || ' ' || downstream_column_id, group_concat(upstream_column_id, ' ' order by upstream_column_id)
            from column_lineage group by 1`)
          .raw()
          .all() as [string, string][],
      );
    const [old, present] = [edges(sample), edges(changed)];
    const moved = [...new Set([...old.keys(), ...present.keys()])].filter((id) => old.get(id) !== present.get(id));
    const told = changed.connection
      .prepare("select env_id || ' ' || id from columns where synced_at = ? or deleted_at = ?")
      .pluck()
      .all(LATER, LATER);
    expect(moved.length).toBeGreaterThan(6);
    expect(told).toEqual(expect.arrayContaining(moved));
    expect([...old.keys()].some((id) => !present.has(id) && moved.includes(id))).toBe(true);
  });

  test('they appear in the feeds', async () => {
    const server = await createServer({ mirror: changed, keys: () => [rootToken('all', 'secret')] });
    const headers = { authorization: 'Bearer secret' };
    const items = async (path: string) => {
      const lists = ['prod-analytics', 'staging-analytics'].map(async (env) => {
        const { items: found } = (
          await server.inject({ url: `/public/beta/${env}/${path}=${NOW}&limit=2000`, headers })
        ).json();
        return found as unknown[];
      });
      return (await Promise.all(lists)).flat().length;
    };
    expect(await items('assets?synced_since')).toBe(11);
    expect(await items('assets?deleted_since')).toBe(2);
    expect(await items('columns?synced_since')).toBeGreaterThanOrEqual(changes.columnsAdded + 12);
    expect(await items('columns?deleted_since')).toBe(changes.columnsDeleted);
    expect(await items('tests?synced_since')).toBe(3);
    expect(await items('tests?deleted_since')).toBe(changes.testsDeleted);
    await server.close();
  });

  test('they can be made repeatedly', () => {
    const again = changeSample(changed, { seed: 7, nowMs: LATER_MS + 60_000 });
    expect(again).toMatchObject({ assetsAdded: 3, assetsDeleted: 2, testRuns: 40 });
    for (const sql of Object.values(DANGLING)) expect(value(changed, sql)).toBe(0);
  });

  test('any number of small changes keeps the size of the sample and most tests passing', () => {
    const moments = sampleFile(7);
    const live = 'select count(*) from assets where deleted_at is null';
    const failing = `select avg(status in ('WARN', 'FAIL', 'ERROR')) from latest_test_executions`;
    const assetsBefore = value(moments, live);
    for (let i = 1; i <= 60; i += 1) changeSample(moments, { seed: 7, nowMs: NOW_MS + i * 5000 }, 'moment');
    expect(value(moments, live)).toBe(assetsBefore);
    expect(value(moments, 'select count(*) from columns where deleted_at is null')).toBeGreaterThan(18_000);
    expect(value(moments, failing)).toBeGreaterThan(0.01);
    expect(value(moments, failing)).toBeLessThan(0.2);
    for (const sql of Object.values(DANGLING)) expect(value(moments, sql)).toBe(0);
  });

  test('they are the same for the same seed and time', () => {
    const other = sampleFile(7);
    expect(changeSample(other, { seed: 7, nowMs: LATER_MS })).toEqual(changes);
    expect(digest(other)).toBe(changedDigest);
  });
});
