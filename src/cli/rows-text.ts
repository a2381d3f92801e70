import { stringify } from 'csv-stringify/sync';

type ResultRows = readonly (readonly unknown[])[];

/** Formats rows one batch at a time, so any number of rows takes the memory of one batch. */
export interface RowsFormat {
  begin(): string;
  /** Some rows; never none. */
  batch(rows: ResultRows): string;
  end(): string;
}

/** The text of rows that arrive in portions. */
export async function* formattedPortions(
  format: RowsFormat,
  portions: AsyncIterable<ResultRows>,
): AsyncGenerator<string> {
  yield format.begin();
  for await (const portion of portions) if (portion.length > 0) yield format.batch(portion);
  yield format.end();
}

/** CSV with a header line. NULL is an empty field; an empty string is quoted. */
export function csvFormat(columns: readonly string[]): RowsFormat {
  return {
    begin: () => stringify([columns]),
    batch: (rows) =>
      stringify(
        rows.map((row) => row.map((value) => (Buffer.isBuffer(value) ? value.toString('hex') : value))),
        { cast: { string: (value) => ({ value, quoted_empty: true }) } },
      ),
    end: () => '',
  };
}

/** One JSON array of objects. */
export function jsonFormat(columns: readonly string[]): RowsFormat {
  const keys = keysOf(columns);
  let start = '[\n';
  return {
    begin: () => '',
    batch(rows) {
      const text = start + rows.map((row) => objectText(keys, row)).join(',\n');
      start = ',\n';
      return text;
    },
    end: () => (start === ',\n' ? '\n]\n' : '[]\n'),
  };
}

/** One JSON object per line. */
export function ndjsonFormat(columns: readonly string[]): RowsFormat {
  const keys = keysOf(columns);
  return {
    begin: () => '',
    batch: (rows) => `${rows.map((row) => objectText(keys, row)).join('\n')}\n`,
    end: () => '',
  };
}

/** A duplicate name gets a number: `id`, `id_2`. */
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
