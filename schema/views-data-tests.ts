import { sql } from 'drizzle-orm';
import { sqliteView } from 'drizzle-orm/sqlite-core';
import {
  environment,
  fromLiveAssets,
  integers,
  joinEnvironment,
  joinLiveAsset,
  listed,
  reals,
  texts,
} from './view-parts.ts';

const failing = sql.raw(`('WARN', 'FAIL', 'ERROR')`);

const enabled = sql.raw(`COALESCE(t.disabled, 0) = 0`);

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
  a.name AS asset_name, COALESCE(x.column_name, t.column_name) AS column_name, x.quality_dimension, x.status,
  x.failure_count, x.result_reason, x.exception, x.id AS execution_id, x.start_time, x.duration_seconds,
  ${listed('t.owners')} AS test_owners, ${listed('a.owners')} AS asset_owners
FROM tests t ${joinEnvironment('t')} ${joinLiveAsset('t')}
LEFT JOIN latest_test_executions x ON x.env_id = t.env_id AND x.test_id = t.id
WHERE t.deleted_at IS NULL AND ${enabled}`);

/** The rows of `test_status` whose latest result is WARN, FAIL or ERROR. */
export const failingTests = sqliteView('failing_tests', testStatusColumns()).as(
  sql`SELECT * FROM test_status WHERE status IN ${failing}`,
);

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
  (SELECT count(*) FROM tests t
    WHERE t.env_id = a.env_id AND t.asset_id = a.id AND t.deleted_at IS NULL AND ${enabled}) AS test_count,
  (SELECT count(*) FROM columns c
    WHERE c.env_id = a.env_id AND c.asset_id = a.id AND c.deleted_at IS NULL) AS column_count,
  (SELECT count(DISTINCT lower(s.column_name)) FROM test_status s
    WHERE s.env_id = a.env_id AND s.asset_id = a.id) AS tested_column_count
${fromLiveAssets} AND a.kind = 'table'`);

/**
 * One row per incident: consecutive WARN, FAIL or ERROR runs of a sub-test, out of all runs that the mirror has seen. The next PASS
 * ends the incident at `resolved_at`. Until then `resolved_at` is NULL, and the duration goes from the first run to the last one
 * seen. Runs with SKIPPED, NO_DATA or an unknown status are ignored: they neither end an incident nor belong to one.
 * min() finds the worst status, because ERROR, FAIL, WARN are in alphabetical order.
 */
export const testIncidents = sqliteView('test_incidents', {
  ...environment(),
  ...texts('test_id', 'test_name'),
  ...integers('test_disabled'),
  ...texts('asset_id', 'asset_name', 'sub_test_unique_id', 'column_name', 'first_start_time', 'last_start_time'),
  ...integers('run_count'),
  ...texts('worst_status', 'last_status', 'resolved_at'),
  ...reals('duration_seconds', 'duration_hours'),
}).as(sql`SELECT i.env_id, v.name AS env_name, i.test_id, t.name AS test_name, t.disabled AS test_disabled, t.asset_id,
  a.name AS asset_name, i.sub_test_unique_id, i.column_name, i.first_start_time, i.last_start_time, i.run_count,
  i.worst_status, i.last_status, i.resolved_at,
  round(i.days * 86400, 3) AS duration_seconds, round(i.days * 24, 3) AS duration_hours
FROM (
  SELECT env_id, test_id, sub_test_unique_id, column_name, min(start_time) OVER stretch AS first_start_time,
    start_time AS last_start_time, count(*) OVER stretch AS run_count, min(status) OVER stretch AS worst_status,
    status AS last_status, next_status, next_start_time AS resolved_at,
    julianday(COALESCE(next_start_time, start_time)) - julianday(min(start_time) OVER stretch) AS days
  FROM (
    SELECT env_id, test_id, sub_test_unique_id, column_name, start_time, status,
      lead(status) OVER runs AS next_status, lead(start_time) OVER runs AS next_start_time,
      count(CASE status WHEN 'PASS' THEN 1 END) OVER runs AS passes_before
    FROM test_executions
    WHERE status = 'PASS' OR status IN ${failing}
    WINDOW runs AS (PARTITION BY env_id, test_id, sub_test_unique_id ORDER BY start_time, id)
  )
  WHERE status <> 'PASS'
  WINDOW stretch AS (PARTITION BY env_id, test_id, sub_test_unique_id, passes_before)
) i
LEFT JOIN tests t ON t.env_id = i.env_id AND t.id = i.test_id ${joinEnvironment('i')} ${joinLiveAsset('t')}
WHERE t.deleted_at IS NULL AND (i.next_status IS NULL OR i.next_status = 'PASS')`);

/**
 * One row per environment and UTC day: the runs that the mirror has seen, even of tests deleted since, and the pass rate from 0 to 1.
 * The rate leaves out the other runs, whose status is SKIPPED, NO_DATA or unknown.
 */
export const testRunsDaily = sqliteView('test_runs_daily', {
  ...environment(),
  ...texts('day'),
  ...integers('run_count', 'pass_count', 'warn_count', 'fail_count', 'error_count', 'other_count'),
  ...reals('pass_rate'),
}).as(sql`SELECT d.*, 1.0 * d.pass_count / NULLIF(d.run_count - d.other_count, 0) AS pass_rate
FROM (
  SELECT x.env_id, v.name AS env_name, substr(x.start_time, 1, 10) AS day, count(*) AS run_count,
    sum(x.status = 'PASS') AS pass_count, sum(x.status = 'WARN') AS warn_count, sum(x.status = 'FAIL') AS fail_count,
    sum(x.status = 'ERROR') AS error_count, sum(x.status <> 'PASS' AND x.status NOT IN ${failing}) AS other_count
  FROM test_executions x ${joinEnvironment('x')}
  GROUP BY x.env_id, day
) d`);
