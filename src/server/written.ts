import type { Field } from '../core/stream.ts';
import type { CollectionListing } from './listings.ts';
import { jsonTypeOf } from './schemas.ts';

/** The column of a field. The times of a `feedClock` row are the mirror's own. */
export const columnOf = ({ feedClock }: Pick<CollectionListing, 'feedClock'>, name: string): string =>
  feedClock === 'r' && name === 'synced_at' ? 'r.mirrored_at' : `r."${name}"`;

/** SQL of the length of an item in bytes. SQLite knows it without reading long values. */
export function lengthOf({ entry }: Pick<CollectionListing, 'entry'>): string {
  const lengths = Object.entries(entry.fields).map(([name, { required }]) =>
    required ? `octet_length(r."${name}")` : `ifnull(octet_length(r."${name}"), 0)`,
  );
  return `(${[...lengths, 'ifnull(octet_length(r.extra), 0)'].join(' + ')})`;
}

/** The conditions that the row's JSON has the described types. */
export function whereJsonFits({ entry }: Pick<CollectionListing, 'entry'>): string[] {
  return Object.entries(entry.fields)
    .filter(([name, { type }]) => type === 'json' && jsonTypeOf(name) !== undefined)
    .map(([name]) => {
      const column = `r."${name}"`;
      return `(${column} is null or iif(json_valid(${column}), json_type(${column}), '') = '${jsonTypeOf(name)}')`;
    });
}

interface WrittenMember {
  readonly name: string;
  readonly column: string;
  readonly value: string;
  readonly mayLack: boolean;
}

/** SQL that writes an item as JSON. A serializer is slower, by half for pages of 500: 780 a second, not 1200. */
export function writtenItem(listing: CollectionListing): string {
  const members = Object.entries(listing.entry.fields).map(([name, field]): WrittenMember => {
    const column = columnOf(listing, name);
    const mayLack = !listing.entry.serve.showsNulls && !field.required;
    return { name, column, value: writtenValue(column, field), mayLack };
  });
  const whole = `json_object(${members.map(({ name, value }) => `'${name}', ${value}`).join(', ')})`;
  const there = members.filter(({ mayLack }) => mayLack).map(({ column }) => `${column} is not null`);
  // One call for all members takes less time than one for each.
  return there.length === 0 ? whole : `iif(${there.join(' and ')}, ${whole}, ${inPieces(members)})`;
}

function writtenValue(column: string, { type }: Field): string {
  if (type === 'boolean') return `iif(${column} is null, null, json(iif(${column} = 0, 'false', 'true')))`;
  // If another program has written something else there, it is shown as text.
  return type === 'json' ? `iif(json_valid(${column}), json(${column}), ${column})` : column;
}

/** The same without the members that have no value. The first member always has one. */
function inPieces(members: readonly WrittenMember[]): string {
  const pieces = members.map(({ name, column, value, mayLack }, i) => {
    const label = `'${i === 0 ? '{' : ','}"${name}":'`;
    return mayLack
      ? `iif(${column} is null, null, ${label} || json_quote(${value}))`
      : `${label}, json_quote(${value})`;
  });
  return `concat(${pieces.join(', ')}, '}')`;
}
