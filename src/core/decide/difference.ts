import type { DecodedRow } from '../decode/decode.ts';
import type { ChildTable, Row, Stream } from '../stream.ts';
import { blankOtherKinds, fieldsShown, sameField, sameRow } from './newest-wins.ts';

/** How closely source and mirror are compared: the number of tables, the keys, or every field. */
export type CompareDepth = 'count' | 'ids' | 'rows';

/** A row of the mirror with its child rows, in catalogue order. */
export interface ExistingRow {
  readonly row: Row;
  readonly parts: readonly (readonly Row[])[];
  /** Set if the row itself is missing and only child rows are left. */
  readonly partial?: true;
}

/** How a row of the mirror differs from the source's; `extra` means that only the mirror has it. */
export interface RowDifference {
  readonly what: 'missing' | 'extra' | 'unequal';
  /** The fields that differ. A child row's field is prefixed with its key: `score`, `dimensions.freshness`. */
  readonly fields: readonly string[];
}

/** How the mirror's row differs from the source's; null if a sync would not change it. */
export function differenceOf(
  stream: Stream,
  held: ExistingRow | undefined,
  shown: DecodedRow,
  depth: CompareDepth,
): RowDifference | null {
  if (held === undefined || held.partial || !isLive(held.row)) return stream.subtype === undefined ? MISSING : null;
  // A typed stream fills only rows of its own kind; the parent stream decides which rows exist.
  const isOfKind = stream.subtype === undefined || held.row[stream.subtype.field] === stream.subtype.is;
  if (depth !== 'rows' || !isOfKind) return null;
  const expected = expectedFields(stream, shown.row);
  const fields = Object.keys(expected).filter((name) => !sameField(stream.fields, name, held.row, expected));
  const parts = (stream.childTables ?? []).flatMap((part, i) =>
    differingParts(part, held.parts[i] ?? [], shown.parts[i] ?? []),
  );
  return fields.length + parts.length === 0 ? null : { what: 'unequal', fields: [...fields, ...parts] };
}

const MISSING: RowDifference = { what: 'missing', fields: [] };

/** Rows of snapshots and lineage have no `deleted_at`; they are always live. */
export function isLive(row: Row): boolean {
  return (row['deleted_at'] ?? null) === null;
}

/** The values that the mirror's row must have in the fields that this stream writes. */
function expectedFields(stream: Stream, shown: Row): Row {
  if (stream.subtype !== undefined)
    return Object.fromEntries([...(stream.writes ?? []), 'extra'].map((name) => [name, shown[name] ?? null]));
  return { ...blankOtherKinds(stream, shown), ...fieldsShown(stream, shown) };
}

/** The child rows that only one side has, or that differ. */
function differingParts(table: ChildTable, held: readonly Row[], shown: readonly Row[]): string[] {
  const own = table.key.at(-1) as string;
  const before = new Map(held.map((row) => [row[own], row]));
  const after = new Map(shown.map((row) => [row[own], row]));
  const differs = ([name, row]: [Row[string] | undefined, Row]): boolean =>
    !sameRow(table.fields, before.get(name) ?? {}, row);
  const names = [
    ...[...after].filter(differs).map(([name]) => name),
    ...[...before.keys()].filter((name) => !after.has(name)),
  ];
  return names.map((name) => `${table.each}.${name}`);
}
