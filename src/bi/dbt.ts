import { DICTIONARY } from '../../schema/dictionary.ts';
import { type DescribedColumn, type DescribedTable, descriptionOf } from '../../schema/table.ts';
import { STATE_TABLES } from '../../schema/tables.ts';
import { acceptedValuesOf } from './accepted-values.ts';
import { type GeneratedFile, yamlFile } from './generated-file.ts';

/** The table whose timestamp advances with every sync, even if no rows have changed. */
const CLOCK_TABLE = 'mirror_environments';

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
  const key = testedKey(table);
  return {
    name,
    description,
    ...(name === CLOCK_TABLE ? { config: FRESHNESS } : {}),
    ...(key.length > 1 ? { data_tests: [uniqueTogether(key)] } : {}),
    columns: columns.map((column) => columnOf(table, column)),
  };
}

const FRESHNESS = {
  loaded_at_field: 'cast(mirrored_at as timestamptz)',
  freshness: { warn_after: { count: 24, period: 'hour' }, error_after: { count: 48, period: 'hour' } },
};

function testedKey({ kind, key }: DescribedTable): readonly string[] {
  return kind === 'table' ? key : [];
}

function uniqueTogether(key: readonly string[]): object {
  return { unique: { arguments: { column_name: key.join(" || '/' || ") } } };
}

function columnOf(table: DescribedTable, { name, description }: DescribedColumn): object {
  const key = testedKey(table);
  const values = acceptedValuesOf(table.name, name);
  const tests = [
    ...(key.includes(name) ? ['not_null'] : []),
    ...(key.length === 1 && key[0] === name ? ['unique'] : []),
    ...(values === null ? [] : [{ accepted_values: { arguments: { values } } }]),
  ];
  return { name, description, ...(tests.length === 0 ? {} : { data_tests: tests }) };
}
