import { DIMENSIONS } from '../../schema/health.ts';
import { capitalize } from '../core/capitalize.ts';

/** How a column of a dataset is shown. */
export interface DatasetColumn {
  readonly label: string;
  readonly type: 'text' | 'integer' | 'real' | 'flag' | 'time' | 'day';
  readonly unit?: 'fraction' | 'hours';
  readonly description?: string | undefined;
}

const column =
  (shown: Pick<DatasetColumn, 'type' | 'unit'>) =>
  (label: string, description?: string): DatasetColumn => ({ ...shown, label, description });

/** Columns whose label is their name. */
const named = <Name extends string>(shown: ReturnType<typeof column>, ...names: readonly Name[]) => {
  const columns = names.map((name) => [name, shown(capitalize(name.replaceAll('_', ' ')))]);
  return Object.fromEntries(columns) as Readonly<Record<Name, DatasetColumn>>;
};

const text = column({ type: 'text' });
const integer = column({ type: 'integer' });
const time = column({ type: 'time' });
const flag = column({ type: 'flag' });
const day = column({ type: 'day' });
const score = column({ type: 'real', unit: 'fraction' });
const hours = column({ type: 'real', unit: 'hours' });

/** Columns have the same meaning in all datasets, so that a filter on one applies to every chart that has it. */
export const COLUMNS = {
  ...named(text, 'severity', 'status', 'worst_status', 'dimension', 'stream', 'mode', 'error', 'command'),
  ...named(integer, 'days_since_update', 'requests', 'rows_written', 'rows_deleted', 'rows_rejected'),
  ...named(score, 'score', ...DIMENSIONS),
  ...named(day, 'day', 'history_since'),
  ...named(time, 'missing_since'),
  env_name: text('Environment'),
  owner: text('Owner', 'One owner: a row is repeated for each of its owners, so count with the metrics.'),
  owner_count: integer('Number of owners'),
  tag: text('Tag', 'One tag of the test: a row is repeated for each of them too.'),
  tag_count: integer('Number of tags'),
  row_key: text('Key of the row'),
  owners: text('Owners', 'All owners, separated by commas: those of the test or, without any, of the asset.'),
  schema_name: text('Schema'),
  asset_name: text('Asset'),
  asset_kind: text('Kind'),
  table_name: text('Table'),
  test_name: text('Test'),
  test_type: text('Type of test'),
  column_name: text('Column'),
  tags: text('Tags', "All tags, separated by commas: the test's or, for an asset, its own."),
  reason: text('Reason', 'The error text of the run or, without one, why it ended so.'),
  url: text('Link', 'The asset on the page of obsync or, without `--page-url`, a BI asset in its own platform.'),
  failure_count: integer('Failures'),
  start_time: time('Last run'),
  first_start_time: time('Failing since'),
  last_start_time: time('Last failing run'),
  resolved_at: time('Resolved'),
  hours_open: hours('Hours open', 'Only if the mirror knows when it began.'),
  hours_to_resolve: hours('Hours to resolve', 'Only if the mirror knows when it began.'),
  is_begin_known: flag(
    'Beginning known',
    'False if it was already failing in the first run that the mirror has of it.',
  ),
  test_disabled: flag('Disabled'),
  is_open: flag('Open'),
  run_count: integer('Runs'),
  pass_count: integer('Passed runs'),
  warn_count: integer('Warning runs'),
  fail_count: integer('Failed runs'),
  error_count: integer('Runs with an error'),
  other_count: integer('Other runs', 'Skipped, without data, or of a status that obsync does not know.'),
  downstream_name: text('Asset downstream'),
  downstream_kind: text('Kind of the asset downstream'),
  downstream_asset_id: text('Id of the asset downstream'),
  test_count: integer('Tests'),
  column_count: integer('Columns'),
  tested_column_count: integer('Tested columns'),
  readers: integer('Direct readers', 'Assets that read from it directly.'),
  updated_at: time('Updated'),
  total: score('Total score'),
  complete_at: time('Mirrored up to'),
  hours_since_sync: hours(
    'Hours since sync',
    'Since the time up to which every stream is mirrored or, if one was never read to its end, since the first read.',
  ),
  last_synced_at: time('Synced by the service'),
  last_sync_status: text('Its result'),
  is_done: integer('Up to date'),
  started_at: time('Started'),
  ended_at: time('Ended'),
  seen_at: time('Seen'),
  env_id: text('Id of the environment'),
  asset_id: text('Id of the asset'),
  test_id: text('Id of the test'),
  sub_test_unique_id: text('Id of the sub-test'),
} satisfies Readonly<Record<string, DatasetColumn>>;

export type ColumnName = keyof typeof COLUMNS;

/** The colour of each status in every tool. They differ in lightness too, for the colour-blind. */
export const STATUS_COLORS = { PASS: '#2E9E6B', WARN: '#F2A900', FAIL: '#C8321F', ERROR: '#6B2C91' } as const;

/** Whether a column has one of these statuses. */
export const isStatus = (column: string): boolean => column === 'status' || column === 'worst_status';
