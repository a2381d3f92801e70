import { SyncError } from '../core/errors.ts';
import type { ColumnType, ExportColumn } from './relation.ts';

/** A value as SQLite stores it in a table of the mirror. */
export type CellValue = string | number | null;

export type CellRow = readonly CellValue[];

/** Turns rows into the bytes of one file. */
export interface FileEncoder {
  /** The bytes that these rows add to the file; before the first rows, its beginning. They are good until the next call. */
  add(rows: readonly CellRow[]): Uint8Array;
  /** The end of the file. */
  end(): Uint8Array;
}

const NUMERIC: readonly ColumnType[] = ['integer', 'real', 'boolean'];

/** SQLite stores what it is given, whatever the type of the column. @throws SyncError `run` */
export function checkValue({ name, type }: ExportColumn, value: CellValue): void {
  const isNumeric = NUMERIC.includes(type);
  if (value === null || (typeof value === 'number' && isNumeric) || (typeof value === 'string' && !isNumeric)) return;
  throw new SyncError(
    'run',
    `the mirror has ${JSON.stringify(value)} in a column ${name} of type ${type}: was it written by another program? Run \`obsync verify --repair\``,
  );
}
