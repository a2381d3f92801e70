export const QUESTIONS: readonly { readonly words: string; readonly sql: string }[] = [
  {
    words: 'Which tests fail now, on which assets?',
    sql: `select asset_name, test_name, status, failure_count as failures
from failing_tests order by start_time desc limit 5`,
  },
  {
    words: 'Is it getting better? What passed on each of the last days:',
    sql: `select day, sum(run_count) as runs, sum(fail_count + error_count) as failed,
  round(100.0 * sum(pass_count) / sum(run_count - other_count), 1) as pass_percent
from test_runs_daily group by day order by day desc limit 7`,
  },
  {
    words: 'How many incidents were there, and how long did it take to resolve them?',
    sql: `select worst_status, count(*) as incidents, count(resolved_at) as resolved,
  round(avg(duration_hours) filter (where resolved_at is not null), 1) as mean_hours_to_resolve
from test_incidents group by worst_status order by incidents desc`,
  },
  {
    words: 'What is downstream of the table that feeds the most others?',
    sql: `select depth, count(*) as assets, min(downstream_name) as for_example
from lineage_downstream
where (env_id, asset_id) = (
  select env_id, upstream_asset_id from asset_lineage
  group by 1, 2 order by count(*) desc, 2 limit 1)
group by depth order by depth`,
  },
  {
    words: 'Which tables have the most columns and no test?',
    sql: `select env_name, schema_name, table_name, column_count
from test_coverage where test_count = 0
order by column_count desc, table_name limit 5`,
  },
  {
    words: 'Which assets are in the worst health, and why?',
    sql: `select asset_name, total, completeness, uniqueness, freshness, validity
from asset_health order by total, asset_name limit 5`,
  },
];
