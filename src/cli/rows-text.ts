import { stringify } from 'csv-stringify/sync';
import { batches } from './batches.ts';

type ResultRows = Iterable<readonly unknown[]>;

/** Rows per batch: enough to be fast, few enough to use little memory. */
const BATCH = 500;

/** CSV with a header line. NULL is an empty field; an empty string is quoted. */
export function* csvText(columns: readonly string[], resultRows: ResultRows): Generator<string> {
  yield stringify([columns]);
  for (const batch of batches(resultRows, BATCH)) {
    yield stringify(
      batch.map((row) => row.map((value) => (Buffer.isBuffer(value) ? value.toString('hex') : value))),
      { cast: { string: (value) => ({ value, quoted_empty: true }) } },
    );
  }
}

/** One JSON array of objects. */
export function* jsonText(columns: readonly string[], resultRows: ResultRows): Generator<string> {
  const keys = keysOf(columns);
  let start = '[\n';
  for (const batch of batches(resultRows, BATCH)) {
    yield start + batch.map((row) => objectText(keys, row)).join(',\n');
    start = ',\n';
  }
  yield start === ',\n' ? '\n]\n' : '[]\n';
}

/** One JSON object per line. */
export function* ndjsonText(columns: readonly string[], resultRows: ResultRows): Generator<string> {
  const keys = keysOf(columns);
  for (const batch of batches(resultRows, BATCH)) yield `${batch.map((row) => objectText(keys, row)).join('\n')}\n`;
}

/** A name that occurs more than once gets a number: `id`, `id_2`. */
function keysOf(columns: readonly string[]): string[] {
  const taken = new Set(columns);
  const used = new Set<string>();
  return columns.map((name) => {
    let key = name;
    for (let n = 2; used.has(key) || (key !== name && taken.has(key)); n++) key = `${name}_${n}`;
    used.add(key);
    return JSON.stringify(key);
  });
}

function objectText(keys: readonly string[], row: readonly unknown[]): string {
  return `{${keys.map((key, i) => `${key}:${valueText(row[i])}`).join(',')}}`;
}

/** Integers keep all their digits, however large they are. */
function valueText(value: unknown): string {
  if (typeof value === 'bigint') return String(value);
  if (value === Number.POSITIVE_INFINITY) return '9e999';
  if (value === Number.NEGATIVE_INFINITY) return '-9e999';
  return JSON.stringify(Buffer.isBuffer(value) ? value.toString('hex') : value);
}
