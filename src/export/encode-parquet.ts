import { zstdCompressSync } from 'node:zlib';
import { ByteWriter, type ColumnSource, type KeyValue, ParquetWriter, type SchemaElement } from 'hyparquet-writer';
import type { DescribedTable } from '../../schema/table.ts';
import { DAY_MS } from '../core/time/duration.ts';
import type { Instant } from '../core/time/instant.ts';
import type { CellRow, CellValue, FileEncoder } from './cell.ts';
import type { ExportScope } from './export-work.ts';
import type { ColumnType, ExportColumn, ExportRelation } from './relation.ts';

/** Each batch of rows becomes a row group, whose bytes leave memory at once. */
export function encodeParquet({ columns, described }: ExportRelation, scope: ExportScope): FileEncoder {
  const writer = new ByteWriter();
  const take = (): Uint8Array => {
    // Not copied: the bytes are written before the next rows come.
    const bytes = writer.getBytes();
    writer.index = 0;
    return bytes;
  };
  const parquet = new ParquetWriter({
    writer,
    schema: [{ name: 'root', num_children: columns.length }, ...columns.map(schemaElement)],
    codec: 'ZSTD',
    compressors: { ZSTD: (bytes) => zstdCompressSync(bytes) },
    kvMetadata: keyValues(described, scope),
    createdBy: 'obsync',
  });
  return {
    add(rows) {
      void parquet.write({
        columnData: columns.map((column, i) => columnSource(column, i, rows)),
        rowGroupSize: rows.length,
      });
      return take();
    },
    end() {
      void parquet.finish();
      return take();
    },
  };
}

/** What a file says about itself, for readers that have only the file. */
function keyValues(
  { name, description, columns }: DescribedTable,
  { instant, schema_version }: ExportScope,
): KeyValue[] {
  const descriptions = Object.fromEntries(columns.map((column) => [column.name, column.description]));
  return [
    { key: 'obsync.table', value: name },
    { key: 'obsync.description', value: description },
    { key: 'obsync.instant', value: instant },
    { key: 'obsync.schema_version', value: String(schema_version) },
    { key: 'obsync.columns', value: JSON.stringify(descriptions) },
  ];
}

const TEXT = { type: 'BYTE_ARRAY', converted_type: 'UTF8', logical_type: { type: 'STRING' } } as const;

/** JSON is text: many readers take the type JSON for bytes, or refuse it. */
const TYPES: Readonly<Record<ColumnType, Omit<SchemaElement, 'name'>>> = {
  text: TEXT,
  json: TEXT,
  integer: { type: 'INT64' },
  real: { type: 'DOUBLE' },
  boolean: { type: 'BOOLEAN' },
  timestamp: {
    type: 'INT64',
    converted_type: 'TIMESTAMP_MICROS',
    logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MICROS' },
  },
  date: { type: 'INT32', converted_type: 'DATE', logical_type: { type: 'DATE' } },
};

export const schemaElement = ({ name, type }: ExportColumn): SchemaElement => ({
  name,
  repetition_type: 'OPTIONAL',
  ...TYPES[type],
});

type ParquetValue = string | number | bigint | boolean;

function columnSource({ name, type }: ExportColumn, at: number, rows: readonly CellRow[]): ColumnSource {
  const convert = memoized(CONVERSIONS[type]);
  let longest = 0;
  const data = rows.map((row) => {
    const value = row[at] ?? null;
    if (typeof value === 'string' && value.length > longest) longest = value.length;
    return value === null ? null : convert(value);
  });
  // Bounds of JSON are useless to a reader, and the writer keeps all bounds in full until the end of the file.
  return { name, data, statistics: type !== 'json' && longest <= LONGEST_BOUND };
}

const LONGEST_BOUND = 1000;

/** Values repeat within a batch, so equal values share one object. */
function memoized(convert: ValueConversion | undefined): ValueConversion {
  if (convert === undefined) return (value) => value as ParquetValue;
  const known = new Map<CellValue, ParquetValue>();
  return (value) => {
    let converted = known.get(value);
    if (converted === undefined) {
      converted = convert(value);
      known.set(value, converted);
    }
    return converted;
  };
}

type ValueConversion = (value: CellValue) => ParquetValue;

/** Values of other columns stay as they are. */
const CONVERSIONS: Readonly<Partial<Record<ColumnType, ValueConversion>>> = {
  integer: (value) => BigInt(Number(value)),
  boolean: (value) => value !== 0,
  timestamp: (value) => microsOf(String(value)),
  date: (value) => Date.parse(`${value}T00:00:00Z`) / DAY_MS,
};

/** The microseconds since 1970 of an instant (R4). */
function microsOf(instant: Instant): bigint {
  return BigInt(Date.parse(`${instant.slice(0, 19)}Z`)) * 1000n + BigInt(instant.slice(20, 26));
}
