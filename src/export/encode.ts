import { stringify } from 'csv-stringify/sync';
import { type CellRow, type CellValue, checkValue, type FileEncoder } from './cell.ts';
import { encodeParquet, type FileLabels } from './encode-parquet.ts';
import type { ExportFormat } from './formats.ts';
import type { ExportColumn, ExportRelation } from './relation.ts';

export function encoderOf(format: ExportFormat, relation: ExportRelation, labels: FileLabels): FileEncoder {
  switch (format) {
    case 'parquet':
    case 'delta':
      return encodeParquet(relation, labels);
    case 'csv':
      return encodeCsv(relation);
    case 'ndjson':
      return encodeNdjson(relation);
  }
}

/** With a header line. NULL is an empty field; an empty text is quoted. */
function encodeCsv({ name: table, columns }: ExportRelation): FileEncoder {
  let header: readonly unknown[][] = [columns.map(({ name }) => name)];
  return {
    add(rows) {
      const lines = rows.map((row) => columns.map((column, i) => plainValue(table, column, row[i] ?? null)));
      const text = stringify([...header, ...lines], {
        cast: { string: (value) => ({ value, quoted_empty: true }), boolean: String },
      });
      header = [];
      return Buffer.from(text);
    },
    end: () => Buffer.alloc(0),
  };
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
  return JSON.stringify(plain);
}

/** Times and JSON as text, flags as true and false. */
function plainValue(table: string, column: ExportColumn, value: CellValue): string | number | boolean | null {
  checkValue(table, column, value);
  return column.type === 'boolean' && value !== null ? value !== 0 : value;
}
