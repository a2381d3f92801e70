import { DICTIONARY } from '../../schema/dictionary.ts';
import { type DescribedColumn, type DescribedTable, descriptionOf } from '../../schema/table.ts';
import { STATE_TABLES } from '../../schema/tables.ts';
import { type GeneratedFile, yamlFile } from './generated-file.ts';

/**
 * The columns with a closed list of values, as the dictionary documents them. All other columns may contain new values
 * that the service introduces.
 */
export const ACCEPTED_VALUES: [tables: string[], column: string, values: string[]][] = [
  [['assets', 'columns', 'tests'], 'deletion', ['tombstone', 'absent']],
  [['live_assets', 'asset_tags', 'asset_owners', 'stale_assets'], 'kind', ['table', 'bi', 'semantic', 'etl', 'other']],
  [['test_incidents'], 'worst_status', ['ERROR', 'FAIL', 'WARN']],
  [['sync_runs'], 'status', ['running', 'done', 'problems', 'refused', 'stopped', 'interrupted']],
  [['sync_runs'], 'command', ['sync', 'verify']],
  [['sync_runs'], 'left_over', ['unread', 'failed']],
  [['sync_stream_runs'], 'mode', ['scan', 'feed', 'snapshot', 'marked', 'window', 'none']],
  [['sync_stream_runs'], 'status', ['done', 'failed', 'denied', 'unavailable', 'held', 'waiting', 'stopped']],
];

const STATE = STATE_TABLES.map(descriptionOf);

/**
 * The mirror as two sources of a dbt project. An export has the tables of the first one only, and only these belong in
 * a lineage graph. Only keys of tables are tested: views are derived from tables, and some would take minutes to read.
 * Relationships have no tests, because an id may refer to an object that the token cannot see.
 */
export function dbtFiles(): GeneratedFile[] {
  const sources = [
    sourceOf(
      'obsync',
      'The mirror of a data-observability service: assets, columns, lineage, tests, their results and health.',
      DICTIONARY.filter((table) => !STATE.includes(table)),
    ),
    sourceOf(
      'obsync_state',
      'The run log and the state of obsync: how fresh the mirror is, and what went wrong.',
      DICTIONARY.filter((table) => STATE.includes(table)),
    ),
  ];
  return [yamlFile('obsync_sources.yml', { version: 2, sources })];
}

function sourceOf(name: string, description: string, tables: readonly DescribedTable[]): object {
  return {
    name,
    description,
    database: "{{ var('obsync_database', target.database) }}",
    schema: "{{ var('obsync_schema', target.schema) }}",
    tables: tables.map(tableOf),
  };
}

function tableOf(table: DescribedTable): object {
  const { name, description, columns } = table;
  const key = table.kind === 'table' ? table.key : [];
  return {
    name,
    description,
    config: name === 'environment_freshness' ? FRESHNESS : undefined,
    data_tests: key.length > 1 ? [{ unique: { arguments: { column_name: key.join(" || '/' || ") } } }] : undefined,
    columns: columns.map((column) => columnOf(name, key, column)),
  };
}

/** As old as the environment that is furthest behind: for `loaded_at_field`, dbt would take the newest. */
const FRESHNESS = {
  loaded_at_query:
    'select case when count(complete_at) = count(*) then min(cast(complete_at as timestamptz)) end from {{ this }}',
  freshness: { warn_after: { count: 24, period: 'hour' }, error_after: { count: 48, period: 'hour' } },
};

function columnOf(table: string, key: readonly string[], { name, description }: DescribedColumn): object {
  const values = ACCEPTED_VALUES.find(([tables, column]) => tables.includes(table) && column === name)?.[2];
  const tests = [
    ...(key.includes(name) ? ['not_null'] : []),
    ...(key.length === 1 && key[0] === name ? ['unique'] : []),
    ...(values === undefined ? [] : [{ accepted_values: { arguments: { values } } }]),
  ];
  return { name, description, data_tests: tests.length === 0 ? undefined : tests };
}
