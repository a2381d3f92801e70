import { sql } from 'drizzle-orm';
import { assets } from './assets.ts';
import { flag, integer, real, text, time } from './column-types.ts';
import { testExecutions, tests } from './data-tests.ts';
import { sameColumns } from './table.ts';
import { view } from './view.ts';
import type { ViewDialect } from './view-dialect.ts';
import {
  coverage,
  failing,
  fromLiveAssets,
  joinEnvironment,
  joinLiveAsset,
  namedAsset,
  namedTest,
  ownerList,
  ownersOfBoth,
} from './view-parts.ts';

export const liveTests = view('live_tests', {
  description: 'A row per live test, disabled ones too.',
  key: ['env_id', 'id'],
  columns: {
    ...sameColumns(tests, 'id', 'name', 'test_type', 'definition_type', 'source_type', 'severity', 'disabled'),
    ...namedAsset(),
    ...sameColumns(tests, 'column_name'),
    owners: ownerList(),
    tags: text('its tags, separated by commas'),
    ...sameColumns(tests, 'description', 'path', 'project', 'updated_at', 'synced_at', 'mirrored_at'),
  },
  select: (
    d,
  ) => sql`SELECT t.env_id, v.name AS env_name, t.id, t.name, t.test_type, t.definition_type, t.source_type, t.severity,
  t.disabled, t.asset_id, a.name AS asset_name, t.column_name, ${d.listed('t.owners')} AS owners,
  ${d.listed('t.tags')} AS tags, t.description, t.path, t.project, t.updated_at, t.synced_at, t.mirrored_at
FROM tests t ${joinEnvironment('t')} ${joinLiveAsset('t')}
WHERE t.deleted_at IS NULL`,
});

const testStatusColumns = () => ({
  ...namedTest(),
  ...sameColumns(tests, 'test_type', 'severity'),
  ...sameColumns(testExecutions, 'sub_test_unique_id', 'sub_type'),
  ...namedAsset(),
  ...sameColumns(testExecutions, 'column_name', 'quality_dimension'),
  status: text('the latest result: `PASS`, `WARN`, `FAIL`, `ERROR`, …; NULL if there is none'),
  ...sameColumns(testExecutions, 'failure_count', 'result_reason', 'exception'),
  execution_id: text('the id of the latest run'),
  ...sameColumns(testExecutions, 'start_time', 'duration_seconds'),
  ...ownersOfBoth(),
});

export const testStatus = view('test_status', {
  description: 'A row per sub-test of an enabled test, with its latest result. A test without a result has one row.',
  columns: testStatusColumns(),
  select: (d) => sql`SELECT t.env_id, v.name AS env_name,
  t.id AS test_id, t.name AS test_name, t.test_type, t.severity, x.sub_test_unique_id, x.sub_type, t.asset_id,
  a.name AS asset_name, ${d.text(sql`COALESCE(x.column_name, t.column_name)`)} AS column_name, x.quality_dimension, x.status,
  x.failure_count, x.result_reason, x.exception, x.id AS execution_id, x.start_time, x.duration_seconds,
  ${d.listed('t.owners')} AS test_owners, ${d.listed('a.owners')} AS asset_owners
FROM tests t ${joinEnvironment('t')} ${joinLiveAsset('t')}
LEFT JOIN latest_test_executions x ON x.env_id = t.env_id AND x.test_id = t.id
WHERE t.deleted_at IS NULL AND ${d.enabled}`,
});

export const failingTests = view('failing_tests', {
  description: 'The rows of `test_status` whose latest result is `WARN`, `FAIL` or `ERROR`.',
  columns: { ...testStatusColumns(), status: text('the latest result: `WARN`, `FAIL` or `ERROR`') },
  select: () => sql`SELECT * FROM test_status WHERE status IN ${failing}`,
});

/**
 * What is tested of the table `a`. Case is ignored, because one platform writes `ID` where another writes `id`, and a
 * test may name a column that the table no longer has. Grouped, so wide tables take no longer than their columns.
 */
export const coverageCounts = (d: ViewDialect) => sql`${d.integer(sql`(SELECT count(*) FROM tests t
    WHERE t.env_id = a.env_id AND t.asset_id = a.id AND t.deleted_at IS NULL AND ${d.enabled})`)} AS test_count,
  ${d.integer(sql`(SELECT count(*) FROM columns c
    WHERE c.env_id = a.env_id AND c.asset_id = a.id AND c.deleted_at IS NULL)`)} AS column_count,
  ${d.integer(sql`(SELECT COALESCE(sum(n), 0) FROM (SELECT sum(u.n) AS n FROM (
      SELECT lower(c.name) AS name, 1 AS n, 0 AS tested FROM columns c
      WHERE c.env_id = a.env_id AND c.asset_id = a.id AND c.deleted_at IS NULL
      UNION ALL SELECT lower(s.column_name), 0, 1 FROM test_status s WHERE s.env_id = a.env_id AND s.asset_id = a.id
    ) u GROUP BY u.name HAVING max(u.tested) = 1) x)`)} AS tested_column_count`;

export const testCoverage = view('test_coverage', {
  description: 'A row per live table: what of it is tested.',
  key: ['env_id', 'asset_id'],
  columns: { ...namedAsset(), ...sameColumns(assets, 'db_name', 'schema_name', 'table_name'), ...coverage() },
  select: (
    d,
  ) => sql`SELECT a.env_id, v.name AS env_name, a.id AS asset_id, a.name AS asset_name, a.db_name, a.schema_name,
  a.table_name,
  ${coverageCounts(d)}
${fromLiveAssets} AND a.kind = 'table'`,
});

const testElements = (d: ViewDialect, list: string, name: string) =>
  sql`SELECT DISTINCT t.env_id, v.name AS env_name, t.id AS test_id, t.name AS test_name, t.asset_id, a.name AS asset_name,
  ${d.label} AS ${sql.raw(name)}
FROM tests t ${d.joinElements(list)} ${joinEnvironment('t')} ${joinLiveAsset('t')}
WHERE t.deleted_at IS NULL AND ${d.label} IS NOT NULL`;

/** An owner that a test has twice counts once. */
export const testOwners = view('test_owners', {
  description: 'A row per live test and owner. A test without an owner has none.',
  key: ['env_id', 'test_id', 'owner'],
  columns: { ...namedTest(), ...namedAsset(), owner: text('one owner') },
  select: (d) => testElements(d, 't.owners', 'owner'),
});

/** A tag that a test has twice counts once. */
export const testTags = view('test_tags', {
  description: 'A row per live test and tag.',
  key: ['env_id', 'test_id', 'tag'],
  columns: { ...namedTest(), ...namedAsset(), tag: text('one tag') },
  select: (d) => testElements(d, 't.tags', 'tag'),
});

/**
 * The tests whose incidents are listed: those that are not deleted, and those with failing runs that were never
 * mirrored. The conditions that every row meets make SQLite use the index of failing runs.
 */
const testsWithRuns = sql`(
  SELECT env_id, id AS test_id, name, disabled, asset_id, owners FROM tests WHERE deleted_at IS NULL
  UNION ALL
  SELECT r.env_id, r.test_id, NULL, NULL, NULL, NULL
  FROM (SELECT DISTINCT env_id, test_id FROM test_executions
    WHERE test_id >= '' AND sub_test_unique_id >= '' AND status IN ${failing}) r
  WHERE NOT EXISTS (SELECT 1 FROM tests n WHERE n.env_id = r.env_id AND n.id = r.test_id)
) t`;

const incidentDays = (d: ViewDialect) =>
  d.daysBetween(d.incident.firstStartTime, sql`COALESCE(p.start_time, l.start_time)`);

/** Each test's incidents are found separately, so a filter on the test, its asset or owner reads no other runs. */
export const testIncidents = view('test_incidents', {
  description:
    'A row per stretch of consecutive `WARN`, `FAIL` or `ERROR` runs of a sub-test. Other statuses than these and `PASS` neither end a stretch nor belong to it.',
  columns: {
    ...namedTest(),
    test_disabled: flag('1 if the test is disabled'),
    ...namedAsset(),
    ...sameColumns(testExecutions, 'sub_test_unique_id', 'column_name'),
    first_start_time: time('start of the first run of the stretch'),
    last_start_time: time('start of its last run'),
    run_count: integer('number of runs in the stretch'),
    worst_status: text('`ERROR`, `FAIL` or `WARN`'),
    last_status: text('the result of the last run'),
    resolved_at: time('start of the `PASS` that followed; NULL while the incident is open'),
    duration_seconds: real('from the first run to `resolved_at`, or else to the last run'),
    duration_hours: real('the same in hours'),
    hours_to_resolve: real('the same for a resolved incident; NULL while it is open'),
    ...ownersOfBoth(),
  },
  select: (
    d,
  ) => sql`SELECT ${d.incident.envId}, v.name AS env_name, t.test_id, t.name AS test_name, t.disabled AS test_disabled, t.asset_id,
  a.name AS asset_name, l.sub_test_unique_id, l.column_name, ${d.time(d.incident.firstStartTime)} AS first_start_time,
  l.start_time AS last_start_time, ${d.integer(d.incident.runCount)} AS run_count,
  ${d.text(d.incident.worstStatus)} AS worst_status, l.status AS last_status, p.start_time AS resolved_at,
  ${d.real(d.rounded(sql`${incidentDays(d)} * 86400`))} AS duration_seconds,
  ${d.real(d.rounded(sql`${incidentDays(d)} * 24`))} AS duration_hours,
  ${d.real(sql`CASE WHEN p.start_time IS NOT NULL THEN ${d.rounded(sql`${incidentDays(d)} * 24`)} END`)} AS hours_to_resolve,
  ${d.listed('t.owners')} AS test_owners, ${d.listed('a.owners')} AS asset_owners
FROM ${testsWithRuns} ${joinEnvironment('t')} ${joinLiveAsset('t')}
${d.joinIncidents}`,
});
