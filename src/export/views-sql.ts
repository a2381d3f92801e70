import type { ExportFormat } from './formats.ts';
import type { ExportedTable, ExportManifest } from './manifest.ts';
import type { ColumnType, ExportColumn } from './relation.ts';
import { quoteName } from './sql-names.ts';

export const VIEWS_NAME = 'views.sql';

/** The tables of an export as DuckDB views over exactly the files of its manifest. */
export function viewsSql(location: string, { format, instant, tables, files }: ExportManifest): string {
  const paths = Map.groupBy(files, ({ table }) => table);
  const views = tables.map((table) => {
    const ofTable = (paths.get(table.name) ?? []).map(({ path }) => `${location}/${path}`);
    return `create or replace view ${quoteName(table.name)} as\n${select(format, table, ofTable)};\n`;
  });
  const header = `-- The mirror as of ${instant}, for DuckDB: run \`.read views.sql\` again after each export.\n`;
  return [header, ...views].join('\n');
}

function select(format: ExportFormat, { columns }: ExportedTable, paths: readonly string[]): string {
  if (paths.length === 0)
    return `select ${columns.map(({ name, type }) => `null::${TYPES[type]} as ${quoteName(name)}`).join(', ')} where false`;
  const list = `[\n  ${paths.map(literal).join(',\n  ')}\n]`;
  const types = columns.map(({ name, type }) => `${literal(name)}: ${literal(TYPES[type])}`).join(', ');
  switch (format) {
    case 'parquet':
    case 'delta':
      return `select ${['*', ...replaced(columns)].join(' ')} from read_parquet(${list}, hive_partitioning = false)`;
    case 'csv':
      return `select * from read_csv(${list}, auto_detect = false, header = true, delim = ',', quote = '"', escape = '"',
  allow_quoted_nulls = false, parallel = false, max_line_size = ${MAX_ROW_BYTES}, hive_partitioning = false,
  columns = {${types}})`;
    case 'ndjson':
      return `select * from read_json(${list}, format = 'newline_delimited', hive_partitioning = false,
  columns = {${types}})`;
  }
}

/** What DuckDB reads of NDJSON by default; of CSV it would read 2 MB. It needs sixteen times as much memory. */
const MAX_ROW_BYTES = 16 * 1024 * 1024;

/** In Parquet files, JSON is text. */
function replaced(columns: readonly ExportColumn[]): string[] {
  const casts = columns
    .filter(({ type }) => type === 'json')
    .map(({ name }) => `${quoteName(name)}::JSON as ${quoteName(name)}`);
  return casts.length === 0 ? [] : [`replace (${casts.join(', ')})`];
}

const TYPES: Readonly<Record<ColumnType, string>> = {
  text: 'VARCHAR',
  integer: 'BIGINT',
  real: 'DOUBLE',
  boolean: 'BOOLEAN',
  timestamp: 'TIMESTAMPTZ',
  date: 'DATE',
  json: 'JSON',
};

const literal = (text: string): string => `'${text.replaceAll("'", "''")}'`;
