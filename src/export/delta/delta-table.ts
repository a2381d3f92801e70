import { DICTIONARY } from '../../../schema/dictionary.ts';
import type { ValueBounds } from '../column-bounds.ts';
import type { ExportedFile, ExportedTable, ExportManifest } from '../manifest.ts';
import type { ColumnType, ExportColumn } from '../relation.ts';
import type { DeltaField } from './delta-action.ts';

/** The oldest versions of the protocol, which every Delta reader supports. */
export const PROTOCOL = { minReaderVersion: 1, minWriterVersion: 2 } as const;

export type DeltaTable = ReturnType<typeof deltaTable>;

const TYPES: Readonly<Record<ColumnType, string>> = {
  text: 'string',
  json: 'string',
  integer: 'long',
  real: 'double',
  boolean: 'boolean',
  timestamp: 'timestamp',
  date: 'date',
};

/** The tables of an export that are written as Delta tables. */
export function deltaTables({ format, tables, files }: ExportManifest): DeltaTable[] {
  const byTable = Map.groupBy(files, ({ table }) => table);
  return format === 'delta' ? tables.map((table) => deltaTable(table, byTable.get(table.name) ?? [])) : [];
}

/** Without partition columns: the bounds of the environment and the time in `stats` let a reader skip files. */
function deltaTable({ name, columns }: ExportedTable, files: readonly ExportedFile[]) {
  // An export of another version may have other tables and columns.
  const described = DICTIONARY.find((each) => each.name === name);
  const fields = columns.map((column): DeltaField => {
    const known = described?.columns.find((each) => each.name === column.name);
    const metadata = known === undefined ? {} : { comment: known.description };
    return { name: column.name, type: TYPES[column.type], nullable: true, metadata };
  });
  const metaData = {
    name,
    ...(described === undefined ? {} : { description: described.description }),
    format: { provider: 'parquet', options: {} },
    schemaString: JSON.stringify({ type: 'struct', fields }),
    partitionColumns: [],
  };
  return { name, metaData, files: new Map(files.map((file) => [deltaPath(file.path), tableFile(file, columns)])) };
}

/** The folders' names may contain encoded values, so a path has `%`, which a URI encodes once more. */
function deltaPath(path: string): string {
  return encodeURI(path.slice(path.indexOf('/') + 1));
}

function tableFile({ path, ...file }: ExportedFile, columns: readonly ExportColumn[]) {
  return {
    path: deltaPath(path),
    size: file.bytes,
    stats: statsOf(file, columns),
    /** Relative to the folder of the export. */
    file: path,
    /** The files whose rows it has, exactly: a reader of changes skips it and their removal. */
    joins: (file.joins ?? []).map(deltaPath),
  };
}

function statsOf({ rows, bounds }: Pick<ExportedFile, 'rows' | 'bounds'>, columns: readonly ExportColumn[]): string {
  const times = new Set(columns.filter(({ type }) => type === 'timestamp').map(({ name }) => name));
  const rounded = Object.entries(bounds).map(
    ([name, bound]) => [name, times.has(name) ? inMilliseconds(bound) : bound] as const,
  );
  const each = <T>(of: (bound: readonly [string, string]) => T): Record<string, T> =>
    Object.fromEntries(rounded.map(([column, bound]) => [column, of(bound)]));
  return JSON.stringify({
    numRecords: rows,
    minValues: each(([least]) => least),
    maxValues: each(([, most]) => most),
    nullCount: each(() => 0),
  });
}

/** Delta readers expect bounds of times in milliseconds: rounded outwards, they cover all values. */
function inMilliseconds([least, greatest]: ValueBounds): ValueBounds {
  const next = greatest.slice(MILLISECONDS_END, -1) === '000' ? 0 : 1;
  return [
    `${least.slice(0, MILLISECONDS_END)}Z`,
    new Date(Date.parse(`${greatest.slice(0, MILLISECONDS_END)}Z`) + next).toISOString(),
  ];
}

const MILLISECONDS_END = '2026-11-20T04:10:00.123'.length;
