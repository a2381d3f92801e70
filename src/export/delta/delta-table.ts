import { DICTIONARY } from '../../../schema/dictionary.ts';
import type { ValueBounds } from '../column-bounds.ts';
import type { ExportedFile, ExportedTable } from '../manifest.ts';
import type { ColumnType, ExportColumn } from '../relation.ts';
import type { AddAction, DeltaField, MetaDataAction } from './delta-action.ts';

/** The oldest versions of the protocol, which every Delta reader supports. */
export const PROTOCOL = { minReaderVersion: 1, minWriterVersion: 2 } as const;

export interface DeltaTable {
  readonly name: string;
  readonly metaData: Omit<MetaDataAction, 'id' | 'createdTime' | 'configuration'>;
  readonly files: ReadonlyMap<string, TableFile>;
}

type TableFile = Pick<AddAction, 'path' | 'size' | 'stats'> & {
  /** Relative to the folder of the export. */
  readonly file: string;
  /** The files whose rows it has, exactly: a reader of changes skips it and their removal. */
  readonly joins: readonly string[];
};

const TYPES: Readonly<Record<ColumnType, string>> = {
  text: 'string',
  json: 'string',
  integer: 'long',
  real: 'double',
  boolean: 'boolean',
  timestamp: 'timestamp',
  date: 'date',
};

/** Without partition columns: the bounds of the environment and the time in `stats` let a reader skip files. */
export function deltaTable(
  { name, columns }: Pick<ExportedTable, 'name' | 'columns'>,
  files: readonly ExportedFile[],
): DeltaTable {
  // An export of another version may have other tables and columns.
  const described = DICTIONARY.find((each) => each.name === name);
  const fields = columns.map((column): DeltaField => {
    const known = described?.columns.find((each) => each.name === column.name);
    const metadata = known === undefined ? {} : { comment: known.description };
    return { name: column.name, type: TYPES[column.type], nullable: true, metadata };
  });
  return {
    name,
    metaData: {
      name,
      ...(described === undefined ? {} : { description: described.description }),
      format: { provider: 'parquet', options: {} },
      schemaString: JSON.stringify({ type: 'struct', fields }),
      partitionColumns: [],
    },
    files: new Map(files.map((file) => [deltaPath(file.path), tableFile(file, columns)])),
  };
}

/** The folders' names may contain encoded values, so a path has `%`, which a URI encodes once more. */
function deltaPath(path: string): string {
  return encodeURI(path.slice(path.indexOf('/') + 1));
}

function tableFile(file: ExportedFile, columns: readonly ExportColumn[]): TableFile {
  const joins = (file.joins ?? []).map(deltaPath);
  return { path: deltaPath(file.path), size: file.bytes, stats: statsOf(file, columns), file: file.path, joins };
}

function statsOf({ rows, bounds }: ExportedFile, columns: readonly ExportColumn[]): string {
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
  const isExact = greatest.slice(MILLISECONDS_END, -1) === '000';
  const next = isExact ? 0 : 1;
  return [
    `${least.slice(0, MILLISECONDS_END)}Z`,
    new Date(Date.parse(`${greatest.slice(0, MILLISECONDS_END)}Z`) + next).toISOString(),
  ];
}

const MILLISECONDS_END = '2026-11-20T04:10:00.123'.length;
