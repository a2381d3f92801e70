import { sql } from 'drizzle-orm';
import { view } from './view.ts';
import type { ViewDialect } from './view-dialect.ts';
import {
  environment,
  failing,
  fromLiveAssets,
  integers,
  joinEnvironment,
  joinLiveAsset,
  reals,
  texts,
} from './view-parts.ts';

/** One row per test, enabled or disabled. */
export const liveTests = view(
  'live_tests',
  {
    ...environment(),
    ...texts('id', 'name', 'test_type', 'definition_type', 'source_type', 'severity'),
    ...integers('disabled'),
    ...texts('asset_id', 'asset_name', 'column_name', 'owners', 'tags', 'description', 'path', 'project'),
    ...texts('updated_at', 'synced_at', 'mirrored_at'),
  },
  (
    d,
  ) => sql`SELECT t.env_id, v.name AS env_name, t.id, t.name, t.test_type, t.definition_type, t.source_type, t.severity,
  t.disabled, t.asset_id, a.name AS asset_name, t.column_name, ${d.listed('t.owners')} AS owners,
  ${d.listed('t.tags')} AS tags, t.description, t.path, t.project, t.updated_at, t.synced_at, t.mirrored_at
FROM tests t ${joinEnvironment('t')} ${joinLiveAsset('t')}
WHERE t.deleted_at IS NULL`,
);

const testStatusColumns = () => ({
  ...environment(),
  ...texts('test_id', 'test_name', 'test_type', 'severity', 'sub_test_unique_id', 'sub_type', 'asset_id', 'asset_name'),
  ...texts('column_name', 'quality_dimension', 'status'),
  ...integers('failure_count'),
  ...texts('result_reason', 'exception', 'execution_id', 'start_time'),
  ...reals('duration_seconds'),
  ...texts('test_owners', 'asset_owners'),
});

/**
 * One row per sub-test of every enabled test, with its latest result; a test without results has one row of NULL
 * results.
 */
export const testStatus = view(
  'test_status',
  testStatusColumns(),
  (d) => sql`SELECT t.env_id, v.name AS env_name,
  t.id AS test_id, t.name AS test_name, t.test_type, t.severity, x.sub_test_unique_id, x.sub_type, t.asset_id,
  a.name AS asset_name, ${d.text(sql`COALESCE(x.column_name, t.column_name)`)} AS column_name, x.quality_dimension, x.status,
  x.failure_count, x.result_reason, x.exception, x.id AS execution_id, x.start_time, x.duration_seconds,
  ${d.listed('t.owners')} AS test_owners, ${d.listed('a.owners')} AS asset_owners
FROM tests t ${joinEnvironment('t')} ${joinLiveAsset('t')}
LEFT JOIN latest_test_executions x ON x.env_id = t.env_id AND x.test_id = t.id
WHERE t.deleted_at IS NULL AND ${d.enabled}`,
);

/** The rows of `test_status` whose latest result is WARN, FAIL or ERROR. */
export const failingTests = view(
  'failing_tests',
  testStatusColumns(),
  () => sql`SELECT * FROM test_status WHERE status IN ${failing}`,
);

/** What is tested of the table `a`. */
export const coverageCounts = (d: ViewDialect) => sql`${d.integer(sql`(SELECT count(*) FROM tests t
    WHERE t.env_id = a.env_id AND t.asset_id = a.id AND t.deleted_at IS NULL AND ${d.enabled})`)} AS test_count,
  ${d.integer(sql`(SELECT count(*) FROM columns c
    WHERE c.env_id = a.env_id AND c.asset_id = a.id AND c.deleted_at IS NULL)`)} AS column_count,
  ${d.integer(sql`(SELECT count(DISTINCT lower(s.column_name)) FROM test_status s
    WHERE s.env_id = a.env_id AND s.asset_id = a.id)`)} AS tested_column_count`;

/**
 * One row per table: the number of its enabled tests, and the number of its columns that a test or sub-test names.
 * Names are compared without regard to case, because one platform writes `ID` where another writes `id`.
 */
export const testCoverage = view(
  'test_coverage',
  {
    ...environment(),
    ...texts('asset_id', 'asset_name', 'db_name', 'schema_name', 'table_name'),
    ...integers('test_count', 'column_count', 'tested_column_count'),
  },
  (d) => sql`SELECT a.env_id, v.name AS env_name, a.id AS asset_id, a.name AS asset_name, a.db_name, a.schema_name,
  a.table_name,
  ${coverageCounts(d)}
${fromLiveAssets} AND a.kind = 'table'`,
);

const testElements = (d: ViewDialect, list: string, name: string) =>
  sql`SELECT DISTINCT t.env_id, v.name AS env_name, t.id AS test_id, t.name AS test_name, t.asset_id, a.name AS asset_name,
  ${d.label} AS ${sql.raw(name)}
FROM tests t ${d.joinElements(list)} ${joinEnvironment('t')} ${joinLiveAsset('t')}
WHERE t.deleted_at IS NULL AND ${d.label} IS NOT NULL`;

/** One row per test, enabled or disabled, and owner; an owner that a test has twice counts once. */
export const testOwners = view(
  'test_owners',
  {
    ...environment(),
    ...texts('test_id', 'test_name', 'asset_id', 'asset_name', 'owner'),
  },
  (d) => testElements(d, 't.owners', 'owner'),
);

/** One row per test, enabled or disabled, and tag; a tag that a test has twice counts once. */
export const testTags = view(
  'test_tags',
  {
    ...environment(),
    ...texts('test_id', 'test_name', 'asset_id', 'asset_name', 'tag'),
  },
  (d) => testElements(d, 't.tags', 'tag'),
);

/**
 * The tests whose incidents are shown: those that are not deleted, and those that have failing runs and were never
 * mirrored. The conditions that every row meets lead SQLite to the index of failing runs.
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

/**
 * One row per incident: consecutive WARN, FAIL or ERROR runs of a sub-test, out of all runs that the mirror has seen.
 * The next PASS ends the incident at `resolved_at`. Until then `resolved_at` is NULL, and the duration goes from the
 * first run to the last one seen. Runs with SKIPPED, NO_DATA or an unknown status are ignored: they neither end an
 * incident nor belong to one. The incidents of each test are found separately, so that a filter on the test, its asset
 * or its owner reads no other runs.
 */
export const testIncidents = view(
  'test_incidents',
  {
    ...environment(),
    ...texts('test_id', 'test_name'),
    ...integers('test_disabled'),
    ...texts('asset_id', 'asset_name', 'sub_test_unique_id', 'column_name', 'first_start_time', 'last_start_time'),
    ...integers('run_count'),
    ...texts('worst_status', 'last_status', 'resolved_at'),
    ...reals('duration_seconds', 'duration_hours', 'hours_to_resolve'),
    ...texts('test_owners', 'asset_owners'),
  },
  (
    d,
  ) => sql`SELECT t.env_id, v.name AS env_name, t.test_id, t.name AS test_name, t.disabled AS test_disabled, t.asset_id,
  a.name AS asset_name, l.sub_test_unique_id, l.column_name, ${d.time(d.incident.firstStartTime)} AS first_start_time,
  l.start_time AS last_start_time, ${d.integer(d.incident.runCount)} AS run_count,
  ${d.text(d.incident.worstStatus)} AS worst_status, l.status AS last_status, p.start_time AS resolved_at,
  ${d.real(d.rounded(sql`${incidentDays(d)} * 86400`))} AS duration_seconds,
  ${d.real(d.rounded(sql`${incidentDays(d)} * 24`))} AS duration_hours,
  ${d.real(sql`CASE WHEN p.start_time IS NOT NULL THEN ${d.rounded(sql`${incidentDays(d)} * 24`)} END`)} AS hours_to_resolve,
  ${d.listed('t.owners')} AS test_owners, ${d.listed('a.owners')} AS asset_owners
FROM ${testsWithRuns} ${joinEnvironment('t')} ${joinLiveAsset('t')}
${d.joinIncidents}`,
);
