/** The terms that the page explains, with the dictionary's entry for each: a column or a metric. */
export const TERM_PLACES = {
  mode: 'sync_stream_runs.mode',
  runStatus: 'sync_stream_runs.status',
  testType: 'failing_tests.test_type',
  severity: 'failing_tests.severity',
  latestStatus: 'failing_tests.status',
  since: 'test_incidents.first_start_time',
  resolvedAt: 'test_incidents.resolved_at',
  passRate: 'metric.pass rate',
  meanTime: 'metric.mean time to resolve',
  health: 'metric.health',
  testCount: 'coverage_by_impact.test_count',
  testedColumns: 'coverage_by_impact.tested_column_count',
  downstream: 'coverage_by_impact.downstream_count',
  downstreamBi: 'coverage_by_impact.downstream_bi_count',
} as const;

export type TermName = keyof typeof TERM_PLACES;
