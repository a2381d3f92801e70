import type { ChartSection } from './chart.ts';

/** What is failing, who owns it, and what depends on it? */
export const FAILING_CHARTS: ChartSection = {
  title: 'Failing now',
  charts: [
    {
      id: 'failing-tests',
      title: 'Failing tests',
      question: 'How many tests and sub-tests are failing or warning?',
      kind: 'value',
      columns: [{ name: 'failing_tests', type: 'integer' }],
      sql: () => `select count(*) as failing_tests
from failing_tests`,
    },
    {
      id: 'failing-assets',
      title: 'Failing assets',
      question: 'How many assets have a failing test?',
      kind: 'value',
      columns: [{ name: 'failing_assets', type: 'integer' }],
      sql: () => `select count(*) as failing_assets
from (select distinct env_id, asset_id from failing_tests where asset_id is not null) f`,
    },
    {
      id: 'failing-by-owners',
      title: 'Failing tests by owners',
      question: 'Who owns the failing tests? A test without an owner counts for the owners of its asset.',
      kind: 'bar',
      columns: [
        { name: 'owners', type: 'text' },
        { name: 'failing_tests', type: 'integer' },
      ],
      sql: () => `select coalesce(nullif(test_owners, ''), nullif(asset_owners, ''), 'no owner') as owners, count(*) as failing_tests
from failing_tests
group by 1
order by 2 desc, 1 limit 20`,
    },
    {
      id: 'failing-by-test-type',
      title: 'Failing tests by type',
      question: 'Which types of tests are failing?',
      kind: 'bar',
      columns: [
        { name: 'test_type', type: 'text' },
        { name: 'failing_tests', type: 'integer' },
      ],
      sql: () => `select coalesce(test_type, 'no type') as test_type, count(*) as failing_tests
from failing_tests
group by 1
order by 2 desc, 1 limit 20`,
    },
    {
      id: 'failing-list',
      title: 'List of failing tests',
      question: 'Which tests are failing, on which assets? Newest runs first.',
      kind: 'table',
      columns: [
        { name: 'env_name', type: 'text' },
        { name: 'asset_name', type: 'text' },
        { name: 'test_name', type: 'text' },
        { name: 'column_name', type: 'text' },
        { name: 'severity', type: 'text' },
        { name: 'status', type: 'text' },
        { name: 'failure_count', type: 'integer' },
        { name: 'start_time', type: 'timestamp' },
        { name: 'test_owners', type: 'text' },
        { name: 'asset_owners', type: 'text' },
      ],
      sql: () => `select env_name, asset_name, test_name, column_name, severity, status, failure_count, start_time, test_owners, asset_owners
from failing_tests
order by start_time desc, test_name limit 500`,
    },
    {
      id: 'failing-impact',
      title: 'Downstream of failing tables',
      question:
        'How many assets and dashboards are downstream? Shows the 10 failing tables with the most direct readers.',
      kind: 'table',
      columns: [
        { name: 'env_name', type: 'text' },
        { name: 'asset_name', type: 'text' },
        { name: 'failing_tests', type: 'integer' },
        { name: 'downstream_assets', type: 'integer' },
        { name: 'downstream_bi_assets', type: 'integer' },
      ],
      // Each table in the result costs a walk through the lineage, so only a few are selected first.
      sql: () => `with failing as (
  select env_id, asset_id, count(*) as failing_tests from failing_tests group by env_id, asset_id),
widest as (
  select c.env_id, c.asset_id, f.failing_tests
  from failing f join coverage_by_impact c on c.env_id = f.env_id and c.asset_id = f.asset_id
  order by c.direct_downstream_count desc, f.failing_tests desc, c.asset_id limit 10)
select c.env_name, c.asset_name, w.failing_tests, c.downstream_count as downstream_assets,
  c.downstream_bi_count as downstream_bi_assets
from widest w join coverage_by_impact c on c.env_id = w.env_id and c.asset_id = w.asset_id
order by downstream_bi_assets desc, downstream_assets desc, c.asset_name`,
    },
  ],
};
