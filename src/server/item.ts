import { type ExactNumber, isExactNumber, isJsonObject, parseExactly } from '../core/json.ts';
import type { Field, Fields } from '../core/stream.ts';
import type { CollectionListing } from './listings.ts';

/** A row as SQLite gives it. */
export type SqlRow = Readonly<Record<string, string | number | null>>;

export type ApiItem = Record<string, unknown>;

/** A row as the API shows it: fields in their place, unknown members back among them. */
export function itemOf(fields: Fields, sqlRow: SqlRow, nulls: CollectionListing['nulls']): ApiItem {
  const apiItem: ApiItem = {};
  for (const { name, field, path } of placesOf(fields)) {
    const stored = sqlRow[name] ?? null;
    if (stored === null && nulls !== 'shown') continue;
    const value = shown(field, stored);
    if (path === null) apiItem[name] = value;
    else place(apiItem, path, value);
  }
  return typeof sqlRow.extra === 'string' ? withExtra(fields, apiItem, sqlRow.extra) : apiItem;
}

interface FieldPlace {
  readonly name: string;
  readonly field: Field;
  /** Null where the field stands in the item itself, under its name. */
  readonly path: readonly string[] | null;
}

const places = new WeakMap<Fields, readonly FieldPlace[]>();

/** Made once for each collection: a page has hundreds of rows. */
function placesOf(fields: Fields): readonly FieldPlace[] {
  const known = places.get(fields);
  if (known !== undefined) return known;
  const made = Object.entries(fields).map(([name, field]) => ({ name, field, path: field.from ?? null }));
  places.set(fields, made);
  return made;
}

function shown({ type }: Field, value: string | number | null): unknown {
  if (type === 'json' && typeof value === 'string') return parsed(value);
  return type === 'boolean' && value !== null ? value !== 0 : value;
}

function place(apiItem: ApiItem, path: readonly string[], value: unknown): void {
  const [name = '', ...rest] = path;
  if (rest.length === 0) apiItem[name] = value;
  else {
    const inner = (apiItem[name] ?? {}) as ApiItem;
    apiItem[name] = inner;
    place(inner, rest, value);
  }
}

function withExtra(fields: Fields, apiItem: ApiItem, extra: string): ApiItem {
  const members = parsed(extra);
  if (!isJsonObject(members)) return apiItem;
  const whole = together(apiItem, members);
  for (const [name, { type, from, required }] of Object.entries(fields)) {
    // What may be left out is written as it is.
    if (type !== 'integer' || !required) continue;
    const path = from ?? [name];
    const value = path.reduce<unknown>((within, step) => (isJsonObject(within) ? within[step] : undefined), whole);
    if (isExactNumber(value)) place(whole, path, integerOf(value));
  }
  return whole;
}

/** As the writers of answers take it in a field of integers. */
function integerOf({ rawJSON: source }: ExactNumber): bigint | number {
  return /^-?\d+$/.test(source) ? BigInt(source) : Number(source);
}

/**
 * A known field gives way only where it has no value, its value of another type was kept in `extra` (R20), or where `extra` has
 * the number that it could only come near. What an object held beyond its known fields goes back into it (R19).
 */
function together(apiItem: ApiItem, members: ApiItem): ApiItem {
  const added = Object.entries(members).flatMap(([name, member]) => {
    const held = Object.hasOwn(apiItem, name) ? apiItem[name] : null;
    if (held === null || isExactNumber(member)) return [[name, member]];
    return isJsonObject(held) && isJsonObject(member) ? [[name, together(held, member)]] : [];
  });
  return { ...apiItem, ...Object.fromEntries(added) };
}

/** JSON text, or the text itself should another program have written something else there. */
function parsed(text: string): unknown {
  try {
    return parseExactly(text);
  } catch {
    return text;
  }
}
