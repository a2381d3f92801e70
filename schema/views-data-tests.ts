import { sql } from 'drizzle-orm';
import { sqliteView } from 'drizzle-orm/sqlite-core';
import {
  elements,
  enabled,
  environment,
  failing,
  fromLiveAssets,
  integers,
  joinEnvironment,
  joinLiveAsset,
  label,
  listed,
  reals,
  texts,
  typedInteger,
  typedReal,
  typedText,
} from './view-parts.ts';

/** One row per test, enabled or disabled. */
export const liveTests = sqliteView('live_tests', {
  ...environment(),
  ...texts('id', 'name', 'test_type', 'definition_type', 'source_type', 'severity'),
  ...integers('disabled'),
  ...texts('asset_id', 'asset_name', 'column_name', 'owners', 'tags', 'description', 'path', 'project'),
  ...texts('updated_at', 'synced_at', 'mirrored_at'),
}).as(sql`SELECT t.env_id, v.name AS env_name, t.id, t.name, t.test_type, t.definition_type, t.source_type, t.severity,
  t.disabled, t.asset_id, a.name AS asset_name, t.column_name, ${listed('t.owners')} AS owners,
  ${listed('t.tags')} AS tags, t.description, t.path, t.project, t.updated_at, t.synced_at, t.mirrored_at
FROM tests t ${joinEnvironment('t')} ${joinLiveAsset('t')}
WHERE t.deleted_at IS NULL`);

const testStatusColumns = () => ({
  ...environment(),
  ...texts('test_id', 'test_name', 'test_type', 'severity', 'sub_test_unique_id', 'sub_type', 'asset_id', 'asset_name'),
  ...texts('column_name', 'quality_dimension', 'status'),
  ...integers('failure_count'),
  ...texts('result_reason', 'exception', 'execution_id', 'start_time'),
  ...reals('duration_seconds'),
  ...texts('test_owners', 'asset_owners'),
});

/** One row per sub-test of every enabled test, with its latest result; a test without results has one row of NULL results. */
export const testStatus = sqliteView('test_status', testStatusColumns()).as(sql`SELECT t.env_id, v.name AS env_name,
  t.id AS test_id, t.name AS test_name, t.test_type, t.severity, x.sub_test_unique_id, x.sub_type, t.asset_id,
  a.name AS asset_name, ${typedText(sql`COALESCE(x.column_name, t.column_name)`)} AS column_name, x.quality_dimension, x.status,
  x.failure_count, x.result_reason, x.exception, x.id AS execution_id, x.start_time, x.duration_seconds,
  ${listed('t.owners')} AS test_owners, ${listed('a.owners')} AS asset_owners
FROM tests t ${joinEnvironment('t')} ${joinLiveAsset('t')}
LEFT JOIN latest_test_executions x ON x.env_id = t.env_id AND x.test_id = t.id
WHERE t.deleted_at IS NULL AND ${enabled}`);

/** The rows of `test_status` whose latest result is WARN, FAIL or ERROR. */
export const failingTests = sqliteView('failing_tests', testStatusColumns()).as(
  sql`SELECT * FROM test_status WHERE status IN ${failing}`,
);

/** What is tested of the table `a`. */
export const coverageCounts = sql`${typedInteger(sql`(SELECT count(*) FROM tests t
    WHERE t.env_id = a.env_id AND t.asset_id = a.id AND t.deleted_at IS NULL AND ${enabled})`)} AS test_count,
  ${typedInteger(sql`(SELECT count(*) FROM columns c
    WHERE c.env_id = a.env_id AND c.asset_id = a.id AND c.deleted_at IS NULL)`)} AS column_count,
  ${typedInteger(sql`(SELECT count(DISTINCT lower(s.column_name)) FROM test_status s
    WHERE s.env_id = a.env_id AND s.asset_id = a.id)`)} AS tested_column_count`;

/**
 * One row per table: the number of its enabled tests, and the number of its columns that a test or sub-test names. Names are
 * compared without regard to case, because one platform writes `ID` where another writes `id`.
 */
export const testCoverage = sqliteView('test_coverage', {
  ...environment(),
  ...texts('asset_id', 'asset_name', 'db_name', 'schema_name', 'table_name'),
  ...integers('test_count', 'column_count', 'tested_column_count'),
}).as(sql`SELECT a.env_id, v.name AS env_name, a.id AS asset_id, a.name AS asset_name, a.db_name, a.schema_name,
  a.table_name,
  ${coverageCounts}
${fromLiveAssets} AND a.kind = 'table'`);

const testElements = (list: string, name: string) =>
  sql`SELECT DISTINCT t.env_id, v.name AS env_name, t.id AS test_id, t.name AS test_name, t.asset_id, a.name AS asset_name,
  ${label} AS ${sql.raw(name)}
FROM tests t JOIN ${elements(list)} ${joinEnvironment('t')} ${joinLiveAsset('t')}
WHERE t.deleted_at IS NULL AND ${label} IS NOT NULL`;

/** One row per test, enabled or disabled, and owner; an owner that a test has twice counts once. */
export const testOwners = sqliteView('test_owners', {
  ...environment(),
  ...texts('test_id', 'test_name', 'asset_id', 'asset_name', 'owner'),
}).as(testElements('t.owners', 'owner'));

/** One row per test, enabled or disabled, and tag; a tag that a test has twice counts once. */
export const testTags = sqliteView('test_tags', {
  ...environment(),
  ...texts('test_id', 'test_name', 'asset_id', 'asset_name', 'tag'),
}).as(testElements('t.tags', 'tag'));

/**
 * The incidents of the test `t` as a JSON array. Failing runs of a sub-test belong to one incident if the same PASS comes next. It is looked up for
 * failing runs only, in the index by test and time: `+` keeps SQLite from the key, by which it would sort all runs of the sub-test. min() finds the worst status, because ERROR, FAIL, WARN are in
 * alphabetical order.
 */
const incidents = sql`SELECT json_group_array(json_array(
    (SELECT y.rowid FROM test_executions y
      WHERE y.env_id = t.env_id AND y.test_id = t.test_id AND y.sub_test_unique_id = g.sub_test_unique_id
        AND y.status IN ${failing} AND y.start_time = g.last_start_time
      ORDER BY y.id DESC LIMIT 1),
    next_pass, first_start_time, run_count, worst_status))
  FROM (
    SELECT sub_test_unique_id, next_pass, min(start_time) AS first_start_time, max(start_time) AS last_start_time,
      count(*) AS run_count, min(status) AS worst_status
    FROM (
      SELECT f.sub_test_unique_id, f.start_time, f.status,
        (SELECT p.rowid FROM test_executions p
          WHERE p.env_id = t.env_id AND p.test_id = t.test_id AND p.start_time >= f.start_time AND p.status = 'PASS'
            AND +p.sub_test_unique_id = f.sub_test_unique_id AND (p.start_time > f.start_time OR p.id > f.id)
          ORDER BY p.start_time LIMIT 1) AS next_pass
      FROM test_executions f
      WHERE f.env_id = t.env_id AND f.test_id = t.test_id AND f.status IN ${failing}
    )
    GROUP BY sub_test_unique_id, next_pass
  ) g`;

/**
 * The tests whose incidents are shown: those that are not deleted, and those that have failing runs and were never mirrored. The conditions
 * that every row meets lead SQLite to the index of failing runs.
 */
const testsWithRuns = sql`(
  SELECT env_id, id AS test_id, name, disabled, asset_id, owners FROM tests WHERE deleted_at IS NULL
  UNION ALL
  SELECT r.env_id, r.test_id, NULL, NULL, NULL, NULL
  FROM (SELECT DISTINCT env_id, test_id FROM test_executions
    WHERE test_id >= '' AND sub_test_unique_id >= '' AND status IN ${failing}) r
  WHERE NOT EXISTS (SELECT 1 FROM tests n WHERE n.env_id = r.env_id AND n.id = r.test_id)
) t`;

const incidentDays = sql`(julianday(COALESCE(p.start_time, l.start_time)) - julianday(i.value ->> 2))`;

/**
 * One row per incident: consecutive WARN, FAIL or ERROR runs of a sub-test, out of all runs that the mirror has seen. The next PASS
 * ends the incident at `resolved_at`. Until then `resolved_at` is NULL, and the duration goes from the first run to the last one
 * seen. Runs with SKIPPED, NO_DATA or an unknown status are ignored: they neither end an incident nor belong to one.
 * The incidents of each test are found separately, so that a filter on the test, its asset or its owner reads no other runs.
 */
export const testIncidents = sqliteView('test_incidents', {
  ...environment(),
  ...texts('test_id', 'test_name'),
  ...integers('test_disabled'),
  ...texts('asset_id', 'asset_name', 'sub_test_unique_id', 'column_name', 'first_start_time', 'last_start_time'),
  ...integers('run_count'),
  ...texts('worst_status', 'last_status', 'resolved_at'),
  ...reals('duration_seconds', 'duration_hours', 'hours_to_resolve'),
  ...texts('test_owners', 'asset_owners'),
}).as(sql`SELECT t.env_id, v.name AS env_name, t.test_id, t.name AS test_name, t.disabled AS test_disabled, t.asset_id,
  a.name AS asset_name, l.sub_test_unique_id, l.column_name, ${typedText(sql`i.value ->> 2`)} AS first_start_time,
  l.start_time AS last_start_time, ${typedInteger(sql`i.value ->> 3`)} AS run_count,
  ${typedText(sql`i.value ->> 4`)} AS worst_status, l.status AS last_status, p.start_time AS resolved_at,
  ${typedReal(sql`round(${incidentDays} * 86400, 3)`)} AS duration_seconds,
  ${typedReal(sql`round(${incidentDays} * 24, 3)`)} AS duration_hours,
  ${typedReal(sql`CASE WHEN p.start_time IS NOT NULL THEN round(${incidentDays} * 24, 3) END`)} AS hours_to_resolve,
  ${listed('t.owners')} AS test_owners, ${listed('a.owners')} AS asset_owners
FROM ${testsWithRuns} ${joinEnvironment('t')} ${joinLiveAsset('t')}
JOIN json_each((${incidents})) i
JOIN test_executions l ON l.rowid = i.value ->> 0
LEFT JOIN test_executions p ON p.rowid = i.value ->> 1`);
