import { type ExactNumber, isExactNumber, isJsonObject, parseExactly } from '../core/json.ts';
import type { Field, Fields } from '../core/stream.ts';
import type { CollectionListing } from './listings.ts';

/** A row as SQLite returns it. */
export type SqlRow = Readonly<Record<string, string | number | null>>;

export type ApiItem = Record<string, unknown>;

/** A row as the API returns it: fields in their places, merged with the unknown members from `extra`. */
export function itemOf(fields: Fields, row: SqlRow, nulls: CollectionListing['nulls']): ApiItem {
  const item: ApiItem = {};
  for (const { name, field, path } of fieldPlaces(fields)) {
    const stored = row[name] ?? null;
    if (stored === null && nulls !== 'shown') continue;
    const value = apiValue(field, stored);
    if (path === null) item[name] = value;
    else setAtPath(item, path, value);
  }
  return typeof row.extra === 'string' ? withExtra(fields, item, row.extra) : item;
}

interface FieldPlace {
  readonly name: string;
  readonly field: Field;
  /** Null for a top-level field. */
  readonly path: readonly string[] | null;
}

const placesCache = new WeakMap<Fields, readonly FieldPlace[]>();

/** Cached per collection, because a page has hundreds of rows. */
function fieldPlaces(fields: Fields): readonly FieldPlace[] {
  const known = placesCache.get(fields);
  if (known !== undefined) return known;
  const paths = Object.entries(fields).map(([name, field]) => ({ name, field, path: field.from ?? null }));
  placesCache.set(fields, paths);
  return paths;
}

function apiValue({ type }: Field, value: string | number | null): unknown {
  if (type === 'json' && typeof value === 'string') return parseOrText(value);
  return type === 'boolean' && value !== null ? value !== 0 : value;
}

function setAtPath(item: ApiItem, path: readonly string[], value: unknown): void {
  const [name = '', ...rest] = path;
  if (rest.length === 0) item[name] = value;
  else {
    const inner = (item[name] ?? {}) as ApiItem;
    item[name] = inner;
    setAtPath(inner, rest, value);
  }
}

function withExtra(fields: Fields, item: ApiItem, extra: string): ApiItem {
  const members = parseOrText(extra);
  if (!isJsonObject(members)) return item;
  const merged = mergeMembers(item, members);
  for (const [name, { type, from, required }] of Object.entries(fields)) {
    // Optional fields are serialized as they are.
    if (type !== 'integer' || !required) continue;
    const path = from ?? [name];
    const value = path.reduce<unknown>((within, step) => (isJsonObject(within) ? within[step] : undefined), merged);
    if (isExactNumber(value)) setAtPath(merged, path, integerOf(value));
  }
  return merged;
}

/** The number in a form that the serializers accept for an integer field. */
function integerOf({ rawJSON: source }: ExactNumber): bigint | number {
  return /^-?\d+$/.test(source) ? BigInt(source) : Number(source);
}

/**
 * A member of `extra` replaces a known field only if the field is empty because its value had another type (R20), or if
 * `extra` has the exact number. Unknown members of an object return to that object (R19).
 */
function mergeMembers(item: ApiItem, members: ApiItem): ApiItem {
  const added = Object.entries(members).flatMap(([name, member]) => {
    const held = Object.hasOwn(item, name) ? item[name] : null;
    if (held === null || isExactNumber(member)) return [[name, member]];
    return isJsonObject(held) && isJsonObject(member) ? [[name, mergeMembers(held, member)]] : [];
  });
  return { ...item, ...Object.fromEntries(added) };
}

/** The parsed JSON; the text itself if another program has stored something that is not JSON. */
function parseOrText(text: string): unknown {
  try {
    return parseExactly(text);
  } catch {
    return text;
  }
}
