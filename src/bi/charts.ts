import { type BiMetricName, metricOf } from './dataset.ts';
import type { ColumnName } from './dataset-columns.ts';
import { type DatasetId, SCORES } from './datasets.ts';

interface ChartBase {
  readonly title: string;
  readonly question: string;
  readonly dataset: DatasetId;
  /** A condition on the dataset's columns. */
  readonly where?: string;
  /** The column that a filter of time applies to, instead of the dataset's. */
  readonly time?: ColumnName;
  /** How many days it shows unless a time is chosen. */
  readonly days?: number;
}

/** A single number. */
export interface ValueChart extends ChartBase {
  readonly kind: 'value';
  readonly metric: BiMetricName;
  /** It should be 0. */
  readonly isBad?: true;
  readonly subtitle?: string;
}

/** One line per series and day, or one part of a bar. */
export interface TrendChart extends ChartBase {
  readonly kind: 'line' | 'columns';
  readonly axis: ColumnName;
  readonly metrics: readonly BiMetricName[];
  readonly series?: ColumnName;
}

/** A bar per value of a column, the longest first. */
export interface BarChart extends ChartBase {
  readonly kind: 'bar';
  readonly axis: ColumnName;
  readonly metric: BiMetricName;
}

type SortKey = ColumnName | BiMetricName | `-${ColumnName | BiMetricName}`;

/** Rows, without their repetitions for each owner; with metrics, a row per group. */
export interface TableChart extends ChartBase {
  readonly kind: 'table';
  readonly columns: readonly ColumnName[];
  /** What tells rows apart that look the same. It isn't shown. */
  readonly key?: ColumnName;
  readonly metrics?: readonly BiMetricName[];
  /** With `-`, the largest come first. */
  readonly order: readonly SortKey[];
}

/** A question about the mirror, and how the answer is drawn. */
export type Chart = ValueChart | TrendChart | BarChart | TableChart;

function value(
  title: string,
  metric: BiMetricName,
  dataset: DatasetId,
  rest: Partial<Pick<ValueChart, 'isBad' | 'subtitle' | 'days' | 'time'>> = {},
): ValueChart {
  const { description } = metricOf(metric);
  return {
    kind: 'value',
    title,
    question: `${description.charAt(0).toUpperCase()}${description.slice(1)}.`,
    metric,
    dataset,
    ...rest,
  };
}

function bar(title: string, metric: BiMetricName, dataset: DatasetId, axis: ColumnName): BarChart {
  return {
    kind: 'bar',
    title,
    question: 'The 20 highest.',
    metric,
    dataset,
    axis,
  };
}

/** Every chart by its id. An id never changes: tools identify a chart by it. */
export const CHARTS = {
  'failing-tests': value('Failing tests', 'failing tests', 'failing_tests', { isBad: true }),
  'failing-assets': value('Failing assets', 'failing assets', 'failing_tests', { isBad: true }),
  'pass-rate': value('Pass rate', 'pass rate', 'test_runs', { days: 7, subtitle: 'of 7 days, or of the time chosen' }),
  'open-incidents': value('Open incidents', 'open incidents', 'test_incidents', { isBad: true }),
  'mirror-age': value('Hours since sync', 'hours since sync', 'environments'),
  'failing-by-owner': bar('Failing tests by owner', 'failing tests', 'failing_tests', 'owner'),
  'failing-by-schema': bar('Failing tests by schema', 'failing tests', 'failing_tests', 'schema_name'),
  'failing-list': {
    title: 'List of failing tests',
    question: 'Which tests are failing, on which assets, and why? Newest runs first.',
    kind: 'table',
    dataset: 'failing_tests',
    columns: [
      ...(['asset_name', 'test_name', 'column_name', 'status', 'reason', 'owners', 'start_time', 'url'] as const),
      ...(['failure_count', 'severity', 'env_name'] as const),
    ],
    key: 'row_key',
    order: ['-start_time', 'test_name'],
  },
  'failing-impact': {
    title: 'Downstream of failing assets',
    question: 'Which failing assets do the most dashboards and assets depend on?',
    kind: 'table',
    dataset: 'failing_test_impact',
    columns: ['env_name', 'asset_name'],
    key: 'asset_id',
    metrics: ['failing tests', 'assets downstream', 'dashboards downstream'],
    order: ['-dashboards downstream', '-assets downstream', 'asset_name'],
  },
  'pass-rate-daily': {
    title: 'Pass rate by day',
    question: 'What part of each day’s runs passed, in each environment?',
    kind: 'line',
    dataset: 'test_runs',
    axis: 'day',
    metrics: ['pass rate'],
    series: 'env_name',
    days: 90,
  },
  'failing-runs-daily': {
    title: 'Failing runs by day',
    question: 'How many runs of each day warned, failed or ended with an error?',
    kind: 'columns',
    dataset: 'test_runs',
    axis: 'day',
    metrics: ['WARN', 'FAIL', 'ERROR'],
    days: 90,
  },
  'health-daily': {
    title: 'Health by day',
    question: 'How did the mean score of each dimension change?',
    kind: 'line',
    dataset: 'health_daily',
    axis: 'day',
    metrics: ['mean score'],
    series: 'dimension',
    days: 90,
  },
  'history-since': {
    title: 'History since',
    question:
      'Since when does the mirror have the runs of tests? Trends and incidents begin then; `obsync sync --history` reads back 90 days.',
    kind: 'table',
    dataset: 'environments',
    columns: ['env_name', 'history_since'],
    order: ['env_name'],
  },
  'incidents-daily': {
    title: 'Incidents by day',
    question:
      'How many incidents began on each day, and how bad did they get? Leaves out those that had begun before the history did.',
    kind: 'columns',
    dataset: 'test_incidents',
    axis: 'first_start_time',
    metrics: ['incidents'],
    series: 'worst_status',
    where: 'is_begin_known',
    time: 'first_start_time',
    days: 90,
  },
  'mean-time-to-resolve': value('Mean time to resolve', 'mean time to resolve', 'test_incidents', {
    subtitle: 'hours, of resolved incidents',
    time: 'resolved_at',
  }),
  'open-incidents-list': {
    title: 'List of open incidents',
    question: 'Which incidents of enabled tests are open, since when, and who owns them? Oldest first.',
    kind: 'table',
    dataset: 'test_incidents',
    columns: [
      ...(['asset_name', 'test_name', 'status', 'worst_status', 'owners', 'first_start_time', 'hours_open'] as const),
      ...(['is_begin_known', 'run_count', 'url', 'column_name', 'env_name'] as const),
    ],
    key: 'row_key',
    where: 'is_open',
    order: ['first_start_time', 'test_name'],
  },
  'incidents-by-owner': {
    title: 'Incidents by owner',
    question: 'Who has the most incidents, and how long do they take to resolve?',
    kind: 'table',
    dataset: 'test_incidents',
    columns: ['owner'],
    metrics: ['open incidents', 'incidents', 'mean time to resolve'],
    order: ['-open incidents', '-incidents', 'owner'],
  },
  coverage: value('Tested tables', 'coverage', 'test_coverage'),
  'column-coverage': value('Tested columns', 'column coverage', 'test_coverage'),
  health: value('Health', 'health', 'asset_health', { subtitle: 'mean of the total scores' }),
  'stale-assets': value('Stale assets', 'freshness', 'stale_assets', { subtitle: 'not updated for 30 days' }),
  'coverage-by-schema': {
    title: 'Coverage by schema',
    question: 'Which schemas have the lowest test coverage?',
    kind: 'table',
    dataset: 'test_coverage',
    columns: ['env_name', 'schema_name'],
    metrics: ['tables', 'coverage', 'column coverage'],
    order: ['coverage', '-tables', 'schema_name'],
  },
  'untested-tables': {
    title: 'Untested tables',
    question: 'Which tables without a test have the most direct readers?',
    kind: 'table',
    dataset: 'test_coverage',
    columns: ['env_name', 'schema_name', 'table_name', 'owners', 'column_count', 'readers'],
    where: 'test_count = 0',
    order: ['-readers', '-column_count', 'table_name'],
  },
  'worst-assets': {
    title: 'Assets with the worst health',
    question: 'Which assets have the lowest scores, and in which dimension?',
    kind: 'table',
    dataset: 'asset_health',
    key: 'row_key',
    columns: ['env_name', 'schema_name', 'asset_name', ...SCORES, 'test_count', 'owners', 'url'],
    order: ['total', 'asset_name'],
  },
  'stale-list': {
    title: 'List of stale assets',
    question: 'Which assets were not updated for the longest time?',
    kind: 'table',
    dataset: 'stale_assets',
    columns: ['env_name', 'schema_name', 'asset_name', 'asset_kind', 'owners', 'updated_at', 'days_since_update'],
    order: ['-days_since_update', 'asset_name'],
  },
  environments: {
    title: 'Environments',
    question: 'When was each environment mirrored, and when did the service itself sync it?',
    kind: 'table',
    dataset: 'environments',
    columns: [
      ...(['env_name', 'mirrored_at', 'hours_since_sync', 'history_since', 'last_synced_at'] as const),
      ...(['last_sync_status', 'missing_since'] as const),
    ],
    order: ['mirrored_at', 'env_name'],
  },
  'rejected-rows': value('Rejected rows', 'rejected rows', 'rejected_rows', { isBad: true }),
  streams: {
    title: 'Last result of each stream',
    question: 'Which part of the mirror is not up to date, and why?',
    kind: 'table',
    dataset: 'streams',
    columns: ['is_done', 'env_name', 'stream', 'status', 'mode', 'reason', 'ended_at', 'rows_rejected', 'error'],
    order: ['is_done', 'env_name', 'stream'],
  },
  runs: {
    title: 'Runs',
    question: 'How did the last syncs end, and what did they write?',
    kind: 'table',
    dataset: 'runs',
    columns: [
      ...(['started_at', 'ended_at', 'command', 'status', 'requests', 'rows_written'] as const),
      ...(['rows_deleted', 'rows_rejected', 'error'] as const),
    ],
    order: ['-started_at'],
  },
} as const satisfies Readonly<Record<string, Chart>>;

export type ChartId = keyof typeof CHARTS;
