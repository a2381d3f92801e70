type ListedRow = readonly (string | number | bigint | Uint8Array | null)[];

/** Characters per portion: few enough that several portions fit into memory whatever a row holds. */
const PORTION_LENGTH = 1_000_000;
const MAX_ROWS = 5000;

export function rowObject<Value>(columns: readonly string[], row: readonly Value[]): Readonly<Record<string, Value>> {
  return Object.fromEntries(columns.map((name, i) => [name, row[i] as Value]));
}

/** How many rows the next portion may have, judging by the size of the last one's rows. */
export function nextPortion(rows: readonly ListedRow[], maxRows = MAX_ROWS): number {
  const length = rows.reduce((sum, row) => sum + lengthOf(row), 0);
  return Math.max(1, Math.min(maxRows, Math.floor((rows.length * PORTION_LENGTH) / Math.max(length, 1))));
}

/** The first portion is small, because the rows' size is unknown. */
export const FIRST_PORTION = 100;

export function* inPortions<Row extends ListedRow>(rows: Iterable<Row>): Generator<readonly Row[]> {
  let [portion, length]: [Row[], number] = [[], 0];
  for (const row of rows) {
    portion.push(row);
    length += lengthOf(row);
    if (portion.length < MAX_ROWS && length < PORTION_LENGTH) continue;
    yield portion;
    [portion, length] = [[], 0];
  }
  if (portion.length > 0) yield portion;
}

function lengthOf(row: ListedRow): number {
  const sizeOf = (value: ListedRow[number]): number =>
    typeof value === 'string' || value instanceof Uint8Array ? value.length : 8;
  return row.reduce<number>((sum, value) => sum + sizeOf(value), 0);
}
