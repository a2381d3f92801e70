import { SyncError } from '../core/errors.ts';
import { parseInstant } from '../core/time/instant.ts';
import type { ColumnType, ExportColumn, ExportRelation } from './relation.ts';

/** A value as SQLite stores it in a table of the mirror. */
export type CellValue = string | number | null;

export type CellRow = readonly CellValue[];

/** Turns rows into the bytes of one file. */
export interface FileEncoder {
  /** The bytes that these rows add to the file, with its beginning on the first call. Valid until the next call. */
  add(rows: readonly CellRow[]): Uint8Array;
  end(): Uint8Array;
}

/** Which values a column may hold besides NULL, so every format can represent the mirror's rows. */
const FITS: Readonly<Record<ColumnType, (value: CellValue) => boolean>> = {
  text: (value) => typeof value === 'string',
  json: (value) => typeof value === 'string',
  integer: Number.isSafeInteger,
  real: Number.isFinite,
  boolean: (value) => value === 0 || value === 1,
  timestamp: (value) => typeof value === 'string' && parseInstant(value) === value,
  date: (value) => typeof value === 'string' && parseInstant(`${value}T00:00:00.000000Z`)?.slice(0, 10) === value,
};

/** SQLite stores any value in any column, whatever its type. @throws SyncError `run` */
export function checkRows({ name, columns }: ExportRelation, rows: readonly CellRow[]): void {
  for (const row of rows) columns.forEach((column, i) => void checkValue(name, column, row[i] ?? null));
}

function checkValue(table: string, { name, type }: ExportColumn, value: CellValue): void {
  if (value === null || FITS[type](value)) return;
  const shown = typeof value === 'string' ? JSON.stringify(value.slice(0, MAX_SHOWN)) : String(value);
  throw new SyncError(
    'run',
    `the mirror has ${shown} in a column ${name} of type ${type}, in ${table}: was it written by another program? Run \`obsync verify --repair\``,
  );
}

const MAX_SHOWN = 80;
