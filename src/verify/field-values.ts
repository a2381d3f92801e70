import type { ExistingRow, RowDifference } from '../core/decide/difference.ts';
import { sameField } from '../core/decide/newest-wins.ts';
import type { RowPair } from '../core/decide/pending.ts';
import { shortenPair } from '../core/shorten-pair.ts';
import type { ChildTable, ColumnValue, Row, Stream } from '../core/stream.ts';

type FieldValue = ColumnValue | Row;

/** What both sides have in a field: a value, or what differs in a child row; null for no value or no such row. */
export interface FieldValues {
  readonly field: string;
  readonly mirror: FieldValue;
  readonly source: FieldValue;
}

/** Both values of each field in which a row of a stream differs. Long texts are cut. */
export function fieldValues(
  { childTables = [] }: Stream,
  { fields }: RowDifference,
  { existing, shown }: RowPair,
): FieldValues[] {
  const children = new Map(childTables.flatMap((table, i) => childValues(table, existing?.parts[i], shown?.parts[i])));
  return fields.map((field) => {
    const [mirror, source] = children.get(field) ?? [existing?.row[field] ?? null, shown?.row[field] ?? null];
    return shortenedValues(field, mirror, source);
  });
}

export function shortenedValues(field: string, mirror: FieldValue, source: FieldValue): FieldValues {
  const textOf = (value: FieldValue): string => (typeof value === 'string' ? value : '');
  const [own, other] = shortenPair([textOf(mirror), textOf(source)], MAX_CHARACTERS);
  return {
    field,
    mirror: typeof mirror === 'string' ? own : mirror,
    source: typeof source === 'string' ? other : source,
  };
}

/** The child rows of both sides, under the names that `RowDifference` gives their fields. */
function childValues(
  { each, key, fields }: ChildTable,
  held: ExistingRow['parts'][number] = [],
  shown: ExistingRow['parts'][number] = [],
): [string, readonly [FieldValue, FieldValue]][] {
  const own = key.at(-1) ?? '';
  const members = [...Object.keys(fields), 'extra'].filter((name) => name !== own);
  const [before, after] = [held, shown].map((rows) => new Map(rows.map((row) => [String(row[own]), row])));
  return [...new Set([...(before?.keys() ?? []), ...(after?.keys() ?? [])])].map((name) => {
    const [mirror, source] = [before?.get(name), after?.get(name)];
    const differing = members.filter((member) => !sameField(fields, member, mirror ?? {}, source ?? {}));
    const valuesIn = (row: Row | undefined): FieldValue =>
      row === undefined ? null : Object.fromEntries(differing.map((member) => [member, row[member] ?? null]));
    return [`${each}.${name}`, [valuesIn(mirror), valuesIn(source)]];
  });
}

/** A field may have a megabyte. */
const MAX_CHARACTERS = 200;
