import type { ExportFormat } from './formats.ts';
import type { ExportedFile, ExportedTable, ExportManifest } from './manifest.ts';
import { type ColumnType, type ExportColumn, quoteName } from './relation.ts';

export const VIEWS_NAME = 'views.sql';

/** The tables of an export as DuckDB views over exactly the files of its manifest. */
export function viewsSql(location: string, { format, instant, tables, files }: ExportManifest): string {
  const byTable = Map.groupBy(files, ({ table }) => table);
  const views = tables.map((table) => {
    const ofTable = (byTable.get(table.name) ?? []).map((file) => ({ ...file, path: `${location}/${file.path}` }));
    return `create or replace view ${quoteName(table.name)} as\n${select(format, table, ofTable)};\n`;
  });
  const header = `-- The mirror as of ${instant}, for DuckDB: run \`.read views.sql\` again after each export.\n`;
  return [header, ...views].join('\n');
}

function select(format: ExportFormat, { columns }: ExportedTable, files: readonly ExportedFile[]): string {
  if (files.length === 0)
    return `select ${columns.map(({ name, type }) => `null::${TYPES[type]} as ${quoteName(name)}`).join(', ')} where false`;
  const list = `[\n  ${files.map(({ path }) => literal(path)).join(',\n  ')}\n]`;
  const types = columns.map(({ name, type }) => `${literal(name)}: ${literal(TYPES[type])}`).join(', ');
  switch (format) {
    case 'parquet':
    case 'delta':
      return `select *${replaced(columns)} from read_parquet(${list}, hive_partitioning = false)`;
    case 'csv':
      return `select * from read_csv(${list}, auto_detect = false, header = true, delim = ',', quote = '"', escape = '"',
  allow_quoted_nulls = false, parallel = false, hive_partitioning = false,
  ${maxLineSize(files)}columns = {${types}})`;
    case 'ndjson':
      return `select * from read_json(${list}, format = 'newline_delimited', hive_partitioning = false,
  columns = {${types}})`;
  }
}

/** The longest line that DuckDB reads by default, and for CSV the longest that it is told to read, as of NDJSON. */
const [USUAL_LINE_BYTES, MAX_LINE_BYTES] = [2_000_000, 16 * 1024 * 1024];

/** DuckDB allocates sixteen times as much, so only where a line may be that long. */
function maxLineSize(files: readonly ExportedFile[]): string {
  return files.some(({ bytes }) => bytes > USUAL_LINE_BYTES) ? `max_line_size = ${MAX_LINE_BYTES}, ` : '';
}

/** In Parquet files, JSON is text. */
function replaced(columns: readonly ExportColumn[]): string {
  const casts = columns
    .filter(({ type }) => type === 'json')
    .map(({ name }) => `${quoteName(name)}::JSON as ${quoteName(name)}`);
  return casts.length === 0 ? '' : ` replace (${casts.join(', ')})`;
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
