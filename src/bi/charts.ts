import { capitalize } from '../core/capitalize.ts';
import { BI_METRICS, type BiMetricName } from './dataset.ts';
import type { ColumnName } from './dataset-columns.ts';
import { DATASETS, type DatasetId, SCORES } from './datasets.ts';

/** A question about the mirror, and how the answer is drawn. */
export interface Chart {
  /** A line or a part of a column has a point per day; a bar stands for a value, the longest first. */
  readonly kind: 'value' | 'line' | 'columns' | 'bar' | 'table';
  readonly title: string;
  readonly question: string;
  readonly dataset: DatasetId;
  /** What rows are grouped by: all columns of a list, so owners do not repeat them; else the axis and the series. */
  readonly columns: readonly ColumnName[];
  /** Distinguishes rows that look the same; the key of the row in a list. It isn't shown. */
  readonly key: readonly ColumnName[];
  readonly metrics: readonly BiMetricName[];
  readonly order: readonly { readonly name: ColumnName | BiMetricName; readonly isDescending: boolean }[];
  /** A condition on the dataset's columns. */
  readonly where?: string;
  /** The column that a filter of time applies to; null if the rows are of now. */
  readonly time: ColumnName | null;
  /** How many days it shows unless a time is chosen. */
  readonly days?: number;
  /** The number should be 0. */
  readonly isBad?: true;
  readonly subtitle?: string;
}

type SortKey = ColumnName | BiMetricName;

interface ChartDetails extends Partial<Omit<Chart, 'kind' | 'title' | 'dataset' | 'order'>> {
  readonly question: string;
  /** With `-`, the largest come first. Without an order, rows are sorted by their columns. */
  readonly order?: readonly (SortKey | `-${SortKey}`)[];
}

export function chart(kind: Chart['kind'], title: string, dataset: DatasetId, details: ChartDetails): Chart {
  const { columns = [], metrics = [], order = columns, ...rest } = details;
  const sorted = order.map((key) => ({
    name: key.replace(/^-/, '') as SortKey,
    isDescending: key.startsWith('-'),
  }));
  return {
    kind,
    title,
    dataset,
    time: DATASETS[dataset].time ?? null,
    key: metrics.length === 0 && 'row_key' in DATASETS[dataset].select ? ['row_key'] : [],
    ...rest,
    columns,
    metrics,
    order: sorted,
  };
}

function value(title: string, metric: BiMetricName, dataset: DatasetId, rest: Partial<ChartDetails> = {}): Chart {
  const question = `${capitalize(BI_METRICS[metric].description)}.`;
  return chart('value', title, dataset, { question, metrics: [metric], ...rest });
}

function bar(title: string, metric: BiMetricName, dataset: DatasetId, axis: ColumnName): Chart {
  const question = 'The highest first, at most 20 of them as bars.';
  return chart('bar', title, dataset, { question, columns: [axis], metrics: [metric], order: [`-${metric}`, axis] });
}

/** Every chart by its id. An id never changes: tools identify a chart by it. */
export const CHARTS = {
  'failing-tests': value('Failing tests', 'failing tests', 'failing_tests', { isBad: true }),
  'failing-assets': value('Failing assets', 'failing assets', 'failing_tests', { isBad: true }),
  'pass-rate': value('Pass rate', 'pass rate', 'test_runs', { days: 7, subtitle: '7 days, or as filtered' }),
  'open-incidents': value('Open incidents', 'open incidents', 'test_incidents', { isBad: true }),
  'mirror-age': value('Hours since sync', 'hours since sync', 'environments'),
  'failing-by-owner': bar('Failing tests by owner', 'failing tests', 'failing_tests', 'owner'),
  'failing-by-schema': bar('Failing tests by schema', 'failing tests', 'failing_tests', 'schema_name'),
  'failing-list': chart('table', 'List of failing tests', 'failing_tests', {
    question: 'Which tests are failing, on which assets, and why? Newest runs first.',
    columns: [
      ...(['asset_name', 'test_name', 'status', 'failure_count', 'reason', 'owners', 'start_time', 'url'] as const),
      ...(['column_name', 'severity', 'env_name'] as const),
    ],
    order: ['-start_time', 'test_name'],
  }),
  'failing-impact': chart('table', 'Downstream of failing assets', 'failing_test_impact', {
    question: 'Which failing assets do the most dashboards and assets depend on?',
    columns: ['env_name', 'asset_name'],
    key: ['asset_id'],
    metrics: ['failing tests', 'assets downstream', 'dashboards downstream'],
    order: ['-dashboards downstream', '-assets downstream', 'asset_name'],
  }),
  'pass-rate-daily': chart('line', 'Pass rate by day', 'test_runs', {
    question: 'What part of each day’s runs passed, in each environment?',
    columns: ['day', 'env_name'],
    metrics: ['pass rate'],
    days: 90,
  }),
  'failing-runs-daily': chart('columns', 'Failing runs by day', 'test_runs', {
    question: 'How many runs of each day warned, failed or ended with an error?',
    columns: ['day'],
    metrics: ['WARN', 'FAIL', 'ERROR'],
    days: 90,
  }),
  'health-daily': chart('line', 'Health by day', 'health_daily', {
    question: 'How did the mean score of each dimension change?',
    columns: ['day', 'dimension'],
    metrics: ['mean score'],
    days: 90,
  }),
  'history-since': chart('table', 'History since', 'environments', {
    question:
      'Since when does the mirror have the runs of tests? Trends and incidents begin then; `obsync sync --history` reads back 90 days.',
    columns: ['env_name', 'history_since'],
    order: ['env_name'],
  }),
  'incidents-daily': chart('columns', 'Incidents by day', 'test_incidents', {
    question:
      'How many incidents began on each day, and how bad did they get? Leaves out those that had begun before the history did.',
    columns: ['first_start_time', 'worst_status'],
    metrics: ['incidents'],
    where: 'is_begin_known',
    time: 'first_start_time',
    days: 90,
  }),
  'mean-time-to-resolve': value('Mean time to resolve', 'mean time to resolve', 'test_incidents', {
    subtitle: 'hours, of resolved incidents',
    time: 'resolved_at',
  }),
  'open-incidents-list': chart('table', 'List of open incidents', 'test_incidents', {
    question: 'Which incidents of enabled tests are open, since when, and who owns them? Oldest first.',
    columns: [
      ...(['asset_name', 'test_name', 'status', 'worst_status', 'owners', 'first_start_time', 'hours_open'] as const),
      ...(['is_begin_known', 'run_count', 'url', 'column_name', 'env_name'] as const),
    ],
    where: 'is_open',
    order: ['first_start_time', 'test_name'],
  }),
  'incidents-by-owner': chart('table', 'Incidents by owner', 'test_incidents', {
    question: 'Who has the most incidents, and how long do they take to resolve?',
    columns: ['owner'],
    metrics: ['open incidents', 'incidents', 'mean time to resolve'],
    order: ['-open incidents', '-incidents', 'owner'],
  }),
  coverage: value('Tested tables', 'coverage', 'test_coverage'),
  'column-coverage': value('Tested columns', 'column coverage', 'test_coverage'),
  health: value('Health', 'health', 'asset_health', { subtitle: 'mean of the total scores' }),
  'stale-assets': value('Stale assets', 'freshness', 'stale_assets', { subtitle: 'not updated for 30 days' }),
  'coverage-by-schema': chart('table', 'Coverage by schema', 'test_coverage', {
    question: 'Which schemas have the lowest test coverage?',
    columns: ['env_name', 'schema_name'],
    metrics: ['tables', 'coverage', 'column coverage'],
    order: ['coverage', '-tables', 'schema_name'],
  }),
  'untested-tables': chart('table', 'Untested tables', 'test_coverage', {
    question: 'Which tables without a test have the most direct readers?',
    columns: ['schema_name', 'table_name', 'readers', 'column_count', 'owners', 'env_name'],
    where: 'test_count = 0',
    order: ['-readers', '-column_count', 'table_name'],
  }),
  'worst-assets': chart('table', 'Assets with the worst health', 'asset_health', {
    question: 'Which assets have the lowest scores, and in which dimension?',
    columns: ['asset_name', 'schema_name', ...SCORES, 'owners', 'url', 'test_count', 'env_name'],
    where: 'total < 1',
    order: ['total', 'asset_name'],
  }),
  'stale-list': chart('table', 'List of stale assets', 'stale_assets', {
    question: 'Which assets were not updated for the longest time?',
    columns: ['env_name', 'schema_name', 'asset_name', 'asset_kind', 'owners', 'updated_at', 'days_since_update'],
    order: ['-days_since_update', 'asset_name'],
  }),
  environments: chart('table', 'Environments', 'environments', {
    question: 'Up to when is each environment mirrored, and when did the service itself sync it?',
    columns: [
      ...(['env_name', 'complete_at', 'hours_since_sync', 'history_since', 'last_synced_at'] as const),
      ...(['last_sync_status', 'missing_since'] as const),
    ],
    order: ['complete_at', 'env_name'],
  }),
  'rejected-rows': value('Rejected rows', 'rejected rows', 'rejected_rows', { isBad: true }),
  streams: chart('table', 'Last result of each stream', 'streams', {
    question: 'Which part of the mirror is not up to date, and why?',
    columns: ['is_done', 'env_name', 'stream', 'status', 'mode', 'reason', 'ended_at', 'rows_rejected', 'error'],
    order: ['is_done', 'env_name', 'stream'],
  }),
  runs: chart('table', 'Runs', 'runs', {
    question: 'How did the last syncs end, and what did they write?',
    columns: [
      ...(['started_at', 'ended_at', 'command', 'status', 'requests', 'rows_written'] as const),
      ...(['rows_deleted', 'rows_rejected', 'error'] as const),
    ],
    order: ['-started_at'],
  }),
} satisfies Readonly<Record<string, Chart>>;

export type ChartId = keyof typeof CHARTS;

/** All metrics over a dataset: those of its view and those of its charts, in the order in which they are defined. */
export function metricsOver(id: DatasetId): BiMetricName[] {
  const { view = id } = DATASETS[id];
  const charts: readonly Chart[] = Object.values(CHARTS);
  const shown = charts.filter(({ dataset }) => dataset === id).flatMap(({ metrics }) => metrics);
  const names = Object.keys(BI_METRICS) as BiMetricName[];
  return names.filter((name) => shown.includes(name) || BI_METRICS[name].view === view);
}
