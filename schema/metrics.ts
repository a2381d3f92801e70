/** A number that dashboards show: an expression over one view. Group it by `env_id` and whatever else the view has. */
export interface MetricDefinition {
  readonly view: string;
  readonly aggregate: keyof typeof AGGREGATES;
  readonly of: string;
  /** For a ratio: what the sum is divided by, aggregated likewise. */
  readonly per?: string;
  /** The column with the time that it is shown over; without one, it is true of now. */
  readonly time?: string;
  readonly unit: 'count' | 'fraction' | 'hours';
  readonly expression: string;
  readonly description: string;
}

const AGGREGATES = {
  sum: (of: string) => `sum(${of})`,
  average: (of: string) => `avg(${of})`,
  count: (of: string) => `count(${of})`,
  count_distinct: (of: string) => `count(distinct ${of})`,
  max: (of: string) => `max(${of})`,
} as const;

/** A metric in SQL, over rows that count once. */
export function expressionOf({ aggregate, of, per }: Pick<MetricDefinition, 'aggregate' | 'of' | 'per'>): string {
  const aggregated = AGGREGATES[aggregate](of);
  return per === undefined ? aggregated : `${aggregated} / nullif(${AGGREGATES[aggregate](per)}, 0)`;
}

function metric(definition: Omit<MetricDefinition, 'expression'>): MetricDefinition {
  return { ...definition, expression: expressionOf(definition) };
}

export const METRICS = {
  'failing tests': metric({
    view: 'failing_tests',
    aggregate: 'count',
    of: 'sub_test_unique_id',
    unit: 'count',
    description: 'how many tests and sub-tests are failing or warning',
  }),
  'failing assets': metric({
    view: 'failing_tests',
    aggregate: 'count_distinct',
    of: "env_id || '/' || asset_id",
    unit: 'count',
    description: 'how many assets have a failing test',
  }),
  'pass rate': metric({
    view: 'test_runs_daily',
    aggregate: 'sum',
    of: 'pass_count * 1.0',
    per: 'run_count - other_count',
    time: 'day',
    unit: 'fraction',
    description: 'the part that passed of the runs that came to a verdict, 0 to 1; skipped runs do not count',
  }),
  incidents: metric({
    view: 'test_incidents',
    aggregate: 'count',
    of: 'first_start_time',
    time: 'first_start_time',
    unit: 'count',
    description: 'how many times a test began to fail',
  }),
  'open incidents': metric({
    view: 'test_incidents',
    aggregate: 'count',
    of: 'case when resolved_at is null and test_disabled is not true then first_start_time end',
    time: 'first_start_time',
    unit: 'count',
    description: 'how many incidents of enabled tests are not resolved',
  }),
  'mean time to resolve': metric({
    view: 'test_incidents',
    aggregate: 'average',
    of: 'hours_to_resolve',
    time: 'resolved_at',
    unit: 'hours',
    description: 'hours from the first failing run to the run that passed, of incidents that are resolved',
  }),
  coverage: metric({
    view: 'test_coverage',
    aggregate: 'average',
    of: 'case when test_count > 0 then 1.0 else 0.0 end',
    unit: 'fraction',
    description: 'the part of all tables that have a test',
  }),
  'column coverage': metric({
    view: 'test_coverage',
    aggregate: 'sum',
    of: 'tested_column_count * 1.0',
    per: 'column_count',
    unit: 'fraction',
    description: 'the part of all columns that a test names',
  }),
  freshness: metric({
    view: 'stale_assets',
    aggregate: 'count',
    of: 'asset_id',
    unit: 'count',
    description: 'how many assets were not updated for 30 days',
  }),
  health: metric({
    view: 'asset_health',
    aggregate: 'average',
    of: 'total',
    unit: 'fraction',
    description: "the mean of the assets' total scores, from 0 to 1",
  }),
} as const satisfies Readonly<Record<string, MetricDefinition>>;

export type MetricName = keyof typeof METRICS;
