import { type ChartSection, metric } from './chart.ts';

const SCORES = ['total', 'completeness', 'uniqueness', 'freshness', 'validity', 'accuracy', 'consistency'];

/** How much is tested, and what is not? */
export const COVERAGE_CHARTS: ChartSection = {
  title: 'Coverage',
  charts: [
    {
      id: 'coverage',
      title: 'Tested tables',
      question: 'What fraction of the tables has a test?',
      kind: 'value',
      columns: [{ name: 'coverage', type: 'real', unit: 'fraction' }],
      sql: () => `select ${metric('coverage')} as coverage
from test_coverage`,
    },
    {
      id: 'column-coverage',
      title: 'Tested columns',
      question: 'What fraction of the columns has a test?',
      kind: 'value',
      columns: [{ name: 'column_coverage', type: 'real', unit: 'fraction' }],
      sql: () => `select sum(tested_column_count * 1.0) / nullif(sum(column_count), 0) as column_coverage
from test_coverage`,
    },
    {
      id: 'coverage-by-schema',
      title: 'Tested tables by schema',
      question: 'Which schemas have the lowest test coverage?',
      kind: 'bar',
      columns: [
        { name: 'schema_name', type: 'text' },
        { name: 'coverage', type: 'real', unit: 'fraction' },
      ],
      sql: () => `select coalesce(schema_name, 'no schema') as schema_name, ${metric('coverage')} as coverage
from test_coverage
group by 1
order by 2, 1 limit 30`,
    },
    {
      id: 'untested-tables',
      title: 'Untested tables',
      question: 'Which tables without a test have the most direct readers?',
      kind: 'table',
      columns: [
        { name: 'env_name', type: 'text' },
        { name: 'schema_name', type: 'text' },
        { name: 'table_name', type: 'text' },
        { name: 'owners', type: 'text' },
        { name: 'column_count', type: 'integer' },
        { name: 'direct_downstream_count', type: 'integer' },
      ],
      sql: () => `select env_name, schema_name, table_name, owners, column_count, direct_downstream_count
from coverage_by_impact
where test_count = 0
order by direct_downstream_count desc, column_count desc, table_name limit 100`,
    },
  ],
};

/** Is it getting better? */
export const HEALTH_CHARTS: ChartSection = {
  title: 'Health trend',
  charts: [
    {
      id: 'health',
      title: 'Health',
      question: 'What is the mean of the total scores of all assets?',
      kind: 'value',
      columns: [{ name: 'health', type: 'real', unit: 'fraction' }],
      sql: () => `select ${metric('health')} as health
from asset_health`,
    },
    {
      id: 'pass-rate',
      title: 'Pass rate of the last 7 days',
      question: 'What fraction of the runs of the last 7 days passed?',
      kind: 'value',
      columns: [{ name: 'pass_rate', type: 'real', unit: 'fraction' }],
      sql: (dialect) => `select ${metric('pass rate')} as pass_rate
from test_runs_daily
where day > ${dialect.daysAgo(7)}`,
    },
    {
      id: 'pass-rate-daily',
      title: 'Pass rate by day',
      question: 'What fraction of each day’s runs passed, in each environment?',
      kind: 'line',
      columns: [
        { name: 'day', type: 'date' },
        { name: 'env_name', type: 'text' },
        { name: 'pass_rate', type: 'real', unit: 'fraction' },
      ],
      sql: (dialect) => `select day, env_name, ${metric('pass rate')} as pass_rate
from test_runs_daily
where day > ${dialect.daysAgo(90)}
group by day, env_name
order by day, env_name`,
    },
    {
      id: 'health-daily',
      title: 'Health by day',
      question: 'How did the mean score of each dimension change?',
      kind: 'line',
      columns: [
        { name: 'day', type: 'date' },
        { name: 'dimension', type: 'text' },
        { name: 'score', type: 'real', unit: 'fraction' },
      ],
      sql: (dialect) => `select day, dimension, avg(score) as score
from health_daily
where day > ${dialect.daysAgo(90)}
group by day, dimension
order by day, dimension`,
    },
    {
      id: 'worst-assets',
      title: 'Assets with the worst health',
      question: 'Which assets have the lowest scores, and in which dimension?',
      kind: 'table',
      columns: [
        { name: 'env_name', type: 'text' },
        { name: 'asset_name', type: 'text' },
        ...SCORES.map((name) => ({ name, type: 'real', unit: 'fraction' }) as const),
        { name: 'test_count', type: 'integer' },
      ],
      sql: () => `select env_name, asset_name, ${SCORES.join(', ')}, test_count
from asset_health
order by total, asset_name limit 50`,
    },
  ],
};

/** What breaks, and how long until it is fixed? */
export const INCIDENT_CHARTS: ChartSection = {
  title: 'Incidents',
  charts: [
    {
      id: 'open-incidents',
      title: 'Open incidents',
      question: 'How many incidents of enabled tests are open?',
      kind: 'value',
      columns: [{ name: 'open_incidents', type: 'integer' }],
      sql: (dialect) => `select count(*) as open_incidents
from test_incidents
where resolved_at is null and ${dialect.isUnset('test_disabled')}`,
    },
    {
      id: 'mean-time-to-resolve',
      title: 'Mean time to resolve',
      question: 'How many hours does it take until a failing test passes again?',
      kind: 'value',
      columns: [{ name: 'mean_hours_to_resolve', type: 'real', unit: 'hours' }],
      sql: () => `select ${metric('mean time to resolve')} as mean_hours_to_resolve
from test_incidents`,
    },
    {
      id: 'incidents-daily',
      title: 'Incidents by day',
      question: 'How many incidents began on each day, and how bad did they get?',
      kind: 'bar',
      columns: [
        { name: 'day', type: 'date' },
        { name: 'worst_status', type: 'text' },
        { name: 'incidents', type: 'integer' },
      ],
      sql: (dialect) => `select ${dialect.dayOf('first_start_time')} as day, worst_status, count(*) as incidents
from test_incidents
where ${dialect.dayOf('first_start_time')} > ${dialect.daysAgo(90)}
group by 1, 2
order by 1, 2`,
    },
    {
      id: 'open-incidents-list',
      title: 'List of open incidents',
      question: 'Which incidents of enabled tests are open, since when, and who owns them? Oldest first.',
      kind: 'table',
      columns: [
        { name: 'env_name', type: 'text' },
        { name: 'asset_name', type: 'text' },
        { name: 'test_name', type: 'text' },
        { name: 'worst_status', type: 'text' },
        { name: 'last_status', type: 'text' },
        { name: 'first_start_time', type: 'timestamp' },
        { name: 'hours_open', type: 'real', unit: 'hours' },
        { name: 'run_count', type: 'integer' },
        { name: 'test_owners', type: 'text' },
        { name: 'asset_owners', type: 'text' },
      ],
      sql: (dialect) => `select env_name, asset_name, test_name, worst_status, last_status, first_start_time,
  ${dialect.hoursSince('first_start_time')} as hours_open, run_count, test_owners, asset_owners
from test_incidents
where resolved_at is null and ${dialect.isUnset('test_disabled')}
order by first_start_time, test_name limit 500`,
    },
    {
      id: 'incidents-by-owner',
      title: 'Incidents by owner',
      question: 'Who has the most incidents, and how long do they take to resolve? Includes disabled tests.',
      kind: 'table',
      columns: [
        { name: 'env_name', type: 'text' },
        { name: 'owner', type: 'text' },
        { name: 'incident_count', type: 'integer' },
        { name: 'open_with_disabled', type: 'integer' },
        { name: 'resolved_count', type: 'integer' },
        { name: 'mean_hours_to_resolve', type: 'real', unit: 'hours' },
      ],
      sql: () => `select env_name, owner, incident_count, open_count as open_with_disabled, resolved_count, mean_hours_to_resolve
from test_incidents_by_owner
order by open_count desc, incident_count desc, owner limit 100`,
    },
  ],
};
