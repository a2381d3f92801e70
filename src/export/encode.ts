import { stringify } from 'csv-stringify/sync';
import type { CellRow, CellValue, FileEncoder } from './cell.ts';
import { encodeParquet } from './encode-parquet.ts';
import type { ExportScope } from './export-work.ts';
import type { ColumnType, ExportColumn, ExportRelation } from './relation.ts';

export function encoderOf(scope: ExportScope, relation: ExportRelation): FileEncoder {
  switch (scope.format) {
    case 'parquet':
    case 'delta':
      return encodeParquet(relation, scope);
    case 'csv':
      return encodeCsv(relation.columns);
    case 'ndjson':
      return encodeNdjson(relation.columns);
  }
}

/** With a header line. NULL is an empty field; an empty text is quoted. */
function encodeCsv(columns: readonly ExportColumn[]): FileEncoder {
  let header: readonly unknown[][] = [columns.map(({ name }) => name)];
  const add = (rows: readonly CellRow[]): Uint8Array => {
    const lines = rows.map((row) => columns.map(({ type }, i) => csvValue(type, row[i] ?? null)));
    const text = stringify([...header, ...lines], {
      cast: { string: (value) => ({ value, quoted_empty: true }), boolean: String },
    });
    header = [];
    return Buffer.from(text);
  };
  return { add, end: () => add([]) };
}

/** Times and JSON as text, flags as true and false. */
function csvValue(type: ColumnType, value: CellValue): string | number | boolean | null {
  if (type === 'boolean' && value !== null) return value !== 0;
  return type === 'real' && typeof value === 'number' ? decimal(value) : value;
}

/** One JSON object per line, with the mirror's JSON text embedded as JSON. */
function encodeNdjson(columns: readonly ExportColumn[]): FileEncoder {
  const keys = columns.map(({ name }, i) => `${i === 0 ? '{' : ','}${JSON.stringify(name)}:`);
  const line = (row: CellRow): string =>
    columns.map(({ type }, i) => keys[i] + jsonText(type, row[i] ?? null)).join('');
  return {
    add: (rows) => Buffer.from(rows.map((row) => `${line(row)}}\n`).join('')),
    end: () => Buffer.alloc(0),
  };
}

function jsonText(type: ColumnType, value: CellValue): string {
  // A JSON string contains no line breaks, so only whitespace is replaced.
  if (type === 'json' && typeof value === 'string') return value.replaceAll(/[\r\n]/g, ' ');
  return type === 'real' && typeof value === 'number' ? decimal(value) : JSON.stringify(csvValue(type, value));
}

/** Readers take a column for integers if they first see some, and then fail at a fraction. */
function decimal(value: number): string {
  const text = String(value);
  return /^-?\d+$/.test(text) ? `${text}.0` : text;
}
