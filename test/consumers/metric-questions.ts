import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { MirrorFile } from '../../src/destination/sqlite/open.ts';
import { folder } from '../export/setup.ts';

/** What a metric is grouped by, as azem and MetricFlow name it. */
interface Grouping {
  readonly name: string;
  readonly kind: 'text' | 'day';
  readonly azem: string;
  readonly metricflow: string;
}

const ENVIRONMENT: Grouping = {
  name: 'environment',
  kind: 'text',
  azem: 'environments.name',
  metricflow: 'environment__name',
};

function ofView(view: string, column: string): Grouping {
  return { name: column, kind: 'text', azem: `${view}.${column}`, metricflow: `${view}__${column}` };
}

const timeOf = (column: string, grain: string): Grouping => ({
  name: grain,
  kind: 'day',
  azem: column,
  metricflow: `metric_time__${grain}`,
});

interface Question {
  readonly metric: string;
  readonly by: readonly Grouping[];
  /** Returns the groups and the value. */
  readonly sql: string;
}

const QUESTIONS: readonly Question[] = [
  { metric: 'failing_tests', by: [], sql: 'select count(*) from failing_tests' },
  {
    metric: 'failing_assets',
    by: [ENVIRONMENT],
    sql: 'select env_name, count(distinct asset_id) from failing_tests group by env_name',
  },
  {
    metric: 'incidents',
    by: [ofView('test_incidents', 'worst_status')],
    sql: 'select worst_status, count(*) from test_incidents group by worst_status',
  },
  {
    metric: 'open_incidents',
    by: [],
    sql: 'select count(*) from test_incidents where resolved_at is null and coalesce(test_disabled, 0) = 0',
  },
  {
    metric: 'column_coverage',
    by: [ENVIRONMENT],
    sql: `select env_name, 1.0 * sum(tested_column_count) / sum(column_count) from test_coverage group by env_name`,
  },
  {
    metric: 'pass_rate',
    by: [],
    sql: 'select 1.0 * sum(pass_count) / sum(run_count - other_count) from test_runs_daily',
  },
  {
    metric: 'pass_rate',
    by: [ENVIRONMENT, timeOf('test_runs_daily.day', 'day')],
    sql: `select env_name, day, 1.0 * pass_count / (pass_count + warn_count + fail_count + error_count)
      from test_runs_daily`,
  },
  {
    metric: 'coverage',
    by: [],
    sql: 'select 1.0 * count(nullif(test_count, 0)) / count(*) from test_coverage',
  },
  {
    metric: 'coverage',
    by: [ENVIRONMENT, ofView('test_coverage', 'schema_name')],
    sql: `select env_name, schema_name, 1.0 * count(nullif(test_count, 0)) / count(*)
      from test_coverage group by env_name, schema_name`,
  },
  {
    metric: 'mean_time_to_resolve',
    by: [],
    sql: 'select avg(hours_to_resolve) from test_incidents where resolved_at is not null',
  },
  {
    metric: 'mean_time_to_resolve',
    by: [ENVIRONMENT, ofView('test_incidents', 'worst_status')],
    sql: 'select env_name, worst_status, avg(hours_to_resolve) from test_incidents group by env_name, worst_status',
  },
  {
    metric: 'mean_time_to_resolve',
    by: [timeOf('test_incidents.resolved_at', 'month')],
    sql: "select substr(resolved_at, 1, 7) || '-01', avg(hours_to_resolve) from test_incidents group by 1",
  },
  { metric: 'freshness', by: [], sql: 'select count(*) from stale_assets' },
  {
    metric: 'freshness',
    by: [ofView('stale_assets', 'kind')],
    sql: 'select kind, count(*) from stale_assets group by kind',
  },
  { metric: 'health', by: [], sql: 'select sum(total) / count(total) from asset_health' },
  {
    metric: 'health',
    by: [ENVIRONMENT],
    sql: 'select env_name, sum(total) / count(total) from asset_health group by env_name',
  },
];

/** Writes the questions with the mirror's answers, in the form that `mirror.py` compares with. @returns the path */
export function writeAnswers({ connection }: MirrorFile): string {
  const answered = QUESTIONS.map(({ metric, by, sql }) => ({
    name: [metric, ...by.map(({ name }) => name)].join(' '),
    columns: [...by, { name: metric, kind: 'real' }],
    rows: connection.prepare(sql).raw().all(),
    metric,
    by,
  }));
  const path = join(folder(), 'answers.json');
  writeFileSync(path, JSON.stringify(answered));
  return path;
}
