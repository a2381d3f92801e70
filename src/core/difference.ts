import type { Decoded } from './decode.ts';
import { fieldsShown, sameField, sameRow } from './newest-wins.ts';
import type { Part, Row, Stream } from './stream.ts';

/** How closely source and mirror are compared: how many tables there are, the keys, or every field. */
export type Depth = 'count' | 'ids' | 'rows';

/** A row the mirror holds, with the rows of its parts in the catalogue's order. */
export interface HeldRow {
  readonly row: Row;
  readonly parts: readonly (readonly Row[])[];
  /** The row itself is not there: its parts were left behind. */
  readonly torn?: true;
}

/** What sets the mirror apart from the source in one row; `extra` is a row that only the mirror has. */
export interface Difference {
  readonly what: 'missing' | 'extra' | 'unequal';
  /** The fields that differ, parts by their own key: `score`, `dimensions.freshness`. */
  readonly fields: readonly string[];
}

/** How the mirror's row differs from what the source shows of it; null when a sync would leave it as it is. */
export function differenceOf(
  stream: Stream,
  held: HeldRow | undefined,
  shown: Decoded,
  depth: Depth,
): Difference | null {
  if (held === undefined || held.torn || !isLive(held.row)) return stream.within === undefined ? MISSING : null;
  if (depth !== 'rows' || !fills(stream, held.row)) return null;
  const expected = expectedFields(stream, shown.row);
  const fields = Object.keys(expected).filter((name) => !sameField(stream.fields, name, held.row, expected));
  const parts = (stream.parts ?? []).flatMap((part, i) => partsApart(part, held.parts[i] ?? [], shown.parts[i] ?? []));
  return fields.length + parts.length === 0 ? null : { what: 'unequal', fields: [...fields, ...parts] };
}

const MISSING: Difference = { what: 'missing', fields: [] };

/** Rows of snapshots and of lineage have no deletion: they are live or not there. */
export function isLive(row: Row): boolean {
  return (row['deleted_at'] ?? null) === null;
}

/** A typed stream has a say in rows of its own kind alone; which rows there are, its leader decides. */
function fills({ within }: Stream, row: Row): boolean {
  return within === undefined || row[within.field] === within.is;
}

/** What the mirror's row has to say in the fields that this stream decides on. */
function expectedFields(stream: Stream, shown: Row): Row {
  if (stream.within !== undefined)
    return Object.fromEntries([...(stream.writes ?? []), 'extra'].map((name) => [name, shown[name] ?? null]));
  const foreign = Object.entries(stream.kinds ?? {}).filter(([kind]) => kind !== shown['kind']);
  return { ...blank(foreign.flatMap(([, names]) => names)), ...fieldsShown(stream, shown) };
}

function blank(names: readonly string[]): Row {
  return Object.fromEntries(names.map((name) => [name, null]));
}

/** The parts that only one side has, or that are not the same on both. */
function partsApart(part: Part, held: readonly Row[], shown: readonly Row[]): string[] {
  const own = part.key.at(-1) as string;
  const before = new Map(held.map((row) => [row[own], row]));
  const after = new Map(shown.map((row) => [row[own], row]));
  const apart = ([name, row]: [unknown, Row]): boolean => !sameRow(part.fields, before.get(name as string) ?? {}, row);
  const names = [
    ...[...after].filter(apart).map(([name]) => name),
    ...[...before.keys()].filter((name) => !after.has(name)),
  ];
  return names.map((name) => `${part.each}.${name}`);
}
