import { type SQL, sql } from 'drizzle-orm';
import { day, integer, real, text } from './column-types.ts';
import { view } from './view.ts';
import type { ViewDialect } from './view-dialect.ts';
import { joinEnvironment, joinOwnersOfTest } from './view-parts.ts';

/*
 * Runs per environment and UTC day: all runs that the mirror has seen, even of tests deleted since, and the pass rate
 * from 0 to 1. The rate leaves out runs whose status is SKIPPED, NO_DATA or unknown. Before a pruning, which begins at
 * midnight UTC, only the first failing runs of open incidents are left (R17): a rate of these would say nothing.
 */

const counted = (d: ViewDialect, statuses: SQL) =>
  d.integer(sql`sum(CASE WHEN status ${statuses} THEN runs ELSE 0 END)`);

/** The daily numbers of the runs `x` by the columns of `by`. Runs are first counted by status: that reads an index. */
const daily = (d: ViewDialect, by: Readonly<Record<string, SQL>>, join: SQL) => {
  const named = sql.join(Object.entries(by).map(([name, value]) => sql`${value} AS ${sql.raw(name)}, `));
  const names = Object.keys(by);
  const groups = (env: string) => sql.raw([env, ...names, 'day'].join(', '));
  const own = (of: string) => sql.raw(names.map((name) => `${of}${name}, `).join(''));
  return sql`SELECT d.env_id, v.name AS env_name, ${own('d.')}d.day, d.run_count, d.pass_count, d.warn_count, d.fail_count,
  d.error_count, d.other_count,
  ${d.real(d.share(sql`d.pass_count`, sql`NULLIF(d.run_count - d.other_count, 0)`))} AS pass_rate
FROM (
  SELECT env_id, ${own('')}day, ${d.integer(sql`sum(runs)`)} AS run_count, ${counted(d, sql`= 'PASS'`)} AS pass_count,
    ${counted(d, sql`= 'WARN'`)} AS warn_count, ${counted(d, sql`= 'FAIL'`)} AS fail_count,
    ${counted(d, sql`= 'ERROR'`)} AS error_count,
    ${counted(d, sql`NOT IN ('PASS', 'WARN', 'FAIL', 'ERROR')`)} AS other_count
  FROM (
    SELECT x.env_id, ${named}${d.day('x.start_time')} AS day, x.status, count(*) AS runs
    FROM test_executions x ${join}
    GROUP BY ${groups('x.env_id')}, x.status
  )${d.named('by_status')}
  GROUP BY ${groups('env_id')}
) d ${joinEnvironment('d')}
LEFT JOIN pruned_history p ON p.env_id = d.env_id AND p.history = 'test_executions' AND p.action = 'delete'
WHERE COALESCE(d.day >= ${d.day('COALESCE(p.pruning_before, p.complete_before)')}, true)`;
};

const numbers = () => ({
  day: day('the UTC day; days whose runs were pruned are left out'),
  run_count: integer('runs of that day'),
  pass_count: integer('runs with `PASS`'),
  warn_count: integer('runs with `WARN`'),
  fail_count: integer('runs with `FAIL`'),
  error_count: integer('runs with `ERROR`'),
  other_count: integer('runs with any other status'),
  pass_rate: real('`pass_count` divided by the runs that came to a verdict, 0 to 1'),
});

export const testRunsDaily = view('test_runs_daily', {
  description: 'A row per environment and day, over all runs that the mirror has seen, since the last pruning.',
  key: ['env_id', 'day'],
  columns: numbers(),
  select: (d) => daily(d, {}, sql``),
});

const joinTest = sql`LEFT JOIN tests t ON t.env_id = x.env_id AND t.id = x.test_id`;

export const testRunsDailyByTestType = view('test_runs_daily_by_test_type', {
  description: 'A row per environment, type of test and day.',
  columns: {
    test_type: text('the type of the test, such as `not_null`; NULL if the mirror does not have the test'),
    ...numbers(),
  },
  select: (d) => daily(d, { test_type: sql`t.test_type` }, joinTest),
});

export const testRunsDailyBySchema = view('test_runs_daily_by_schema', {
  description: 'A row per environment, schema of the tested asset and day.',
  columns: {
    db_name: text('the database of the tested asset'),
    schema_name: text('its schema; NULL if the mirror does not know it'),
    ...numbers(),
  },
  select: (d) =>
    daily(
      d,
      { db_name: sql`a.db_name`, schema_name: sql`a.schema_name` },
      sql`${joinTest} LEFT JOIN assets a ON a.env_id = x.env_id AND a.id = t.asset_id`,
    ),
});

export const testRunsDailyByOwner = view('test_runs_daily_by_owner', {
  description:
    'A row per environment, owner and day. A run counts once for each owner of its test or, if the test has none, of its asset.',
  columns: { owner: text('one owner; NULL for runs without an owner'), ...numbers() },
  select: (d) => daily(d, { owner: sql`o.owner` }, joinOwnersOfTest(d, 'x')),
});

export const testRunsDailyByTag = view('test_runs_daily_by_tag', {
  description: 'A row per environment, tag and day. A run counts once for each tag of its test.',
  columns: { tag: text('one tag; NULL for runs of tests without a tag'), ...numbers() },
  select: (d) =>
    daily(
      d,
      { tag: sql`g.tag` },
      sql`LEFT JOIN (SELECT DISTINCT t.env_id, t.id AS test_id, ${d.label} AS tag FROM tests t ${d.joinElements('t.tags')}
    WHERE ${d.label} IS NOT NULL) g ON g.env_id = x.env_id AND g.test_id = x.test_id`,
    ),
});

export const testIncidentsByOwner = view('test_incidents_by_owner', {
  description:
    'A row per environment and owner. An incident counts once for each owner of its test or, if the test has none, of its asset.',
  columns: {
    owner: text('one owner; NULL for incidents without an owner'),
    incident_count: integer('number of incidents'),
    open_count: integer('of these, incidents that are not resolved'),
    resolved_count: integer('of these, resolved incidents'),
    mean_hours_to_resolve: real('the mean time to resolve, in hours; NULL if none is resolved'),
  },
  select: (d) => sql`SELECT i.env_id, i.env_name, o.owner, ${d.integer(sql`count(*)`)} AS incident_count,
  ${d.integer(d.countIf(sql`i.resolved_at IS NULL`))} AS open_count,
  ${d.integer(sql`count(i.resolved_at)`)} AS resolved_count,
  ${d.real(sql`avg(i.hours_to_resolve)`)} AS mean_hours_to_resolve
FROM test_incidents i ${joinOwnersOfTest(d, 'i', true)}
GROUP BY i.env_id, o.owner${d.alsoBy('i.env_name')}`,
});
