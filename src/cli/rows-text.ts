import { stringify } from 'csv-stringify/sync';

/** Rows that arrive in portions. Any number of them takes the memory of one portion. */
export type RowPortions = AsyncIterable<readonly (readonly unknown[])[]>;

/** CSV with a header line. NULL is an empty field; an empty string is quoted. */
export async function* csvText(columns: readonly string[], portions: RowPortions): AsyncGenerator<string> {
  yield stringify([columns]);
  for await (const rows of portions)
    yield stringify(
      rows.map((row) => row.map((value) => (Buffer.isBuffer(value) ? value.toString('hex') : value))),
      { cast: { string: (value) => ({ value, quoted_empty: true }) } },
    );
}

export async function* jsonText(columns: readonly string[], portions: RowPortions): AsyncGenerator<string> {
  const keys = keysOf(columns);
  let start = '[\n';
  for await (const rows of portions) {
    if (rows.length === 0) continue;
    yield start + rows.map((row) => objectText(keys, row)).join(',\n');
    start = ',\n';
  }
  yield start === ',\n' ? '\n]\n' : '[]\n';
}

export async function* ndjsonText(columns: readonly string[], portions: RowPortions): AsyncGenerator<string> {
  const keys = keysOf(columns);
  for await (const rows of portions) yield rows.map((row) => `${objectText(keys, row)}\n`).join('');
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
