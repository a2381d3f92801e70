import type { ExistingRow, RowDifference } from '../core/decide/difference.ts';
import type { RowPair } from '../core/decide/pending.ts';
import type { ColumnValue, Row, Stream } from '../core/stream.ts';

type FieldValue = ColumnValue | Row;

/** What both sides have in a field: its value, or a whole child row; null for none. Texts are cut at 200 characters. */
export interface FieldValues {
  readonly mirror: FieldValue;
  readonly source: FieldValue;
}

/** Both values of each field in which a row of a stream differs. */
export function fieldValues(
  stream: Stream,
  { fields }: RowDifference,
  { existing, shown }: RowPair,
): Record<string, FieldValues> {
  const [mirror, source] = [existing, shown].map((side) => (side === undefined ? {} : withChildRows(stream, side)));
  return valuesByField(fields, mirror ?? {}, source ?? {});
}

export function valuesByField(
  fields: readonly string[],
  mirror: Readonly<Record<string, FieldValue>>,
  source: Readonly<Record<string, FieldValue>>,
): Record<string, FieldValues> {
  const pairs = fields.map((name) => [name, { mirror: cut(mirror[name]), source: cut(source[name]) }] as const);
  return Object.fromEntries(pairs);
}

/** A row with its child rows, under the names that `RowDifference` gives their fields. */
function withChildRows({ childTables = [] }: Stream, { row, parts }: Pick<ExistingRow, 'row' | 'parts'>) {
  const childRows = childTables.flatMap(({ each, key, fields }, i) =>
    (parts[i] ?? []).map((child): [string, Row] => [
      `${each}.${child[key.at(-1) ?? '']}`,
      Object.fromEntries(Object.keys(fields).map((name) => [name, child[name] ?? null])),
    ]),
  );
  return { ...row, ...Object.fromEntries(childRows) };
}

/** A report may list 20,000 rows, and a field may have a megabyte. */
const MAX_CHARACTERS = 200;

function cut(value: FieldValue | undefined): FieldValue {
  if (typeof value !== 'string' || value.length <= MAX_CHARACTERS) return value ?? null;
  return `${value.slice(0, MAX_CHARACTERS - 1)}…`;
}
