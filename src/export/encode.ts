import { stringify } from 'csv-stringify/sync';
import { type CellRow, type CellValue, checkValue, type FileEncoder } from './cell.ts';
import { encodeParquet } from './encode-parquet.ts';
import type { ExportScope } from './export-work.ts';
import type { ExportColumn, ExportRelation } from './relation.ts';

export function encoderOf(scope: ExportScope, relation: ExportRelation): FileEncoder {
  switch (scope.format) {
    case 'parquet':
    case 'delta':
      return encodeParquet(relation, scope);
    case 'csv':
      return encodeCsv(relation);
    case 'ndjson':
      return encodeNdjson(relation);
  }
}

/** With a header line. NULL is an empty field; an empty text is quoted. */
function encodeCsv({ name: table, columns }: ExportRelation): FileEncoder {
  let header: readonly unknown[][] = [columns.map(({ name }) => name)];
  const add = (rows: readonly CellRow[]): Uint8Array => {
    const lines = rows.map((row) => columns.map((column, i) => csvValue(table, column, row[i] ?? null)));
    const text = stringify([...header, ...lines], {
      cast: { string: (value) => ({ value, quoted_empty: true }), boolean: String },
    });
    header = [];
    return Buffer.from(text);
  };
  return { add, end: () => add([]) };
}

function csvValue(table: string, column: ExportColumn, value: CellValue): string | number | boolean | null {
  const plain = plainValue(table, column, value);
  return column.type === 'real' && typeof plain === 'number' ? decimal(plain) : plain;
}

/** One JSON object per line, with the mirror's JSON text embedded as JSON. */
function encodeNdjson({ name: table, columns }: ExportRelation): FileEncoder {
  const keys = columns.map(({ name }, i) => `${i === 0 ? '{' : ','}${JSON.stringify(name)}:`);
  const line = (row: CellRow): string =>
    columns.map((column, i) => keys[i] + jsonText(table, column, row[i] ?? null)).join('');
  return {
    add: (rows) => Buffer.from(rows.map((row) => `${line(row)}}\n`).join('')),
    end: () => Buffer.alloc(0),
  };
}

function jsonText(table: string, column: ExportColumn, value: CellValue): string {
  const plain = plainValue(table, column, value);
  // A JSON string contains no line breaks, so only whitespace is replaced.
  if (column.type === 'json' && typeof plain === 'string') return plain.replaceAll(/[\r\n]/g, ' ');
  return column.type === 'real' && typeof plain === 'number' ? decimal(plain) : JSON.stringify(plain);
}

/** Readers take a column for integers if they first see some, and then fail at a fraction. */
function decimal(value: number): string {
  const text = String(value);
  return /^-?\d+$/.test(text) ? `${text}.0` : text;
}

/** Times and JSON as text, flags as true and false. */
function plainValue(table: string, column: ExportColumn, value: CellValue): string | number | boolean | null {
  checkValue(table, column, value);
  return column.type === 'boolean' && value !== null ? value !== 0 : value;
}
