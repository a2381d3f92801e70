import type { ChartSection } from './chart.ts';

/** What fails now, whose is it, and what hangs on it? */
export const FAILING_CHARTS: ChartSection = {
  title: 'Failing now',
  charts: [
    {
      id: 'failing-tests',
      title: 'Failing tests',
      question: 'How many tests and sub-tests fail or warn now?',
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
from (select distinct env_id, asset_id from failing_tests) f`,
    },
    {
      id: 'failing-by-owners',
      title: 'Failing tests by owners',
      question: 'Whose are the failing tests? Without an owner of its own, a test is its asset’s owners’.',
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
      question: 'What kind of tests fail?',
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
      title: 'The failing tests',
      question: 'Which tests fail now, on which assets? The newest runs come first.',
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
      title: 'What hangs on failing tests',
      question: 'How many assets and dashboards are downstream of each failing test?',
      kind: 'table',
      columns: [
        { name: 'env_name', type: 'text' },
        { name: 'asset_name', type: 'text' },
        { name: 'test_name', type: 'text' },
        { name: 'status', type: 'text' },
        { name: 'downstream_assets', type: 'integer' },
        { name: 'downstream_bi_assets', type: 'integer' },
      ],
      sql: () => `select env_name, asset_name, test_name, status, count(*) as downstream_assets,
  sum(case when downstream_kind = 'bi' then 1 else 0 end) as downstream_bi_assets
from failing_test_impact
group by env_id, env_name, asset_id, asset_name, test_id, test_name, sub_test_unique_id, status
order by 6 desc, 5 desc, 3 limit 100`,
    },
  ],
};
