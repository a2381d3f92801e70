/** A number that dashboards show: an expression over one view. Group it by `env_id` and whatever else the view has. */
export interface MetricDefinition {
  readonly view: string;
  readonly aggregate: keyof typeof FUNCTIONS;
  /** What is aggregated. */
  readonly of: string;
  /** For a ratio: what the sum is divided by, aggregated likewise. */
  readonly per?: string;
  /** The column with the time that it is shown over; without one, it is true of now. */
  readonly time?: string;
  readonly expression: string;
  readonly description: string;
}

const FUNCTIONS = { sum: 'sum', average: 'avg', count: 'count' } as const;

function metric(definition: Omit<MetricDefinition, 'expression'>): MetricDefinition {
  const { aggregate, of, per } = definition;
  const aggregated = `${FUNCTIONS[aggregate]}(${of})`;
  const expression = per === undefined ? aggregated : `${aggregated} / nullif(${FUNCTIONS[aggregate]}(${per}), 0)`;
  return { ...definition, expression };
}

export const METRICS = {
  'pass rate': metric({
    view: 'test_runs_daily',
    aggregate: 'sum',
    of: 'pass_count * 1.0',
    per: 'run_count - other_count',
    time: 'day',
    description: 'the part that passed of the runs that came to a verdict, 0 to 1; skipped runs do not count',
  }),
  coverage: metric({
    view: 'test_coverage',
    aggregate: 'average',
    of: 'case when test_count > 0 then 1.0 else 0.0 end',
    description: 'the part of all tables that have a test',
  }),
  'mean time to resolve': metric({
    view: 'test_incidents',
    aggregate: 'average',
    of: 'hours_to_resolve',
    time: 'resolved_at',
    description: 'hours from the first failing run to the run that passed, of incidents that are resolved',
  }),
  freshness: metric({
    view: 'stale_assets',
    aggregate: 'count',
    of: 'asset_id',
    description: 'how many assets were not updated for 30 days',
  }),
  health: metric({
    view: 'asset_health',
    aggregate: 'average',
    of: 'total',
    description: "the mean of the assets' total scores, from 0 to 1",
  }),
} as const satisfies Readonly<Record<string, MetricDefinition>>;

export type MetricName = keyof typeof METRICS;
