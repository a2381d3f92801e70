/**
 * A number that dashboards show, as an expression over one view. Group it by `env_id` and whatever else the view has.
 */
export interface MetricDefinition {
  readonly view: string;
  readonly expression: string;
  readonly description: string;
}

export const METRICS = {
  'pass rate': {
    view: 'test_runs_daily',
    expression: 'sum(pass_count * 1.0) / nullif(sum(run_count - other_count), 0)',
    description: 'the part that passed of the runs that came to a verdict, 0 to 1; skipped runs do not count',
  },
  coverage: {
    view: 'test_coverage',
    expression: 'avg(case when test_count > 0 then 1.0 else 0.0 end)',
    description: 'the part of all tables that have a test',
  },
  'mean time to resolve': {
    view: 'test_incidents',
    expression: 'avg(hours_to_resolve)',
    description: 'hours from the first failing run to the run that passed, of incidents that are resolved',
  },
  freshness: {
    view: 'stale_assets',
    expression: 'count(asset_id)',
    description: 'how many assets were not updated for 30 days',
  },
  health: {
    view: 'asset_health',
    expression: 'avg(total)',
    description: "the mean of the assets' total scores, from 0 to 1",
  },
} satisfies Readonly<Record<string, MetricDefinition>>;

export type MetricName = keyof typeof METRICS;
