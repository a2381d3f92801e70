import { type ExactNumber, isExactNumber, isJsonObject, parseExactly } from '../core/json.ts';
import { AS_SENT } from '../core/read-api.ts';
import type { Field, Fields } from '../core/stream.ts';
import { parseInstant } from '../core/time/instant.ts';
import type { SqlRow } from '../page-data/sql.ts';
import type { CollectionEndpoint } from '../streams/endpoint.ts';
import { jsonTypeOf } from './schemas.ts';

export type ApiItem = Record<string, unknown>;

/**
 * Reads rows as the API returns them: fields in their places, merged with the unknown members from `extra`. A field
 * whose value does not have the described type is empty, and the value is in `AS_SENT` (R20).
 */
export function itemReader(fields: Fields, { showsNulls }: Pick<CollectionEndpoint, 'showsNulls'> = {}) {
  // Listed once, because a page has hundreds of rows.
  const entries = Object.entries(fields);
  return (row: SqlRow): ApiItem => {
    const item: ApiItem = {};
    const misfits = new Map<string, unknown>();
    for (const [name, field] of entries) {
      const stored = row[name] ?? null;
      if (stored === null && !showsNulls) continue;
      const value = apiValue(field, stored);
      if (field.from !== undefined) setAtPath(item, field.from, value);
      else if (field.type !== 'json' || value === null || fits(name, field, value)) item[name] = value;
      else misfits.set(name, value);
    }
    const members = typeof row.extra === 'string' ? parseOrText(row.extra) : null;
    if (isJsonObject(members)) takeMisfits(members, fields, row, misfits);
    const whole = isJsonObject(members) ? withIntegers(mergeMembers(item, members), fields) : item;
    if (misfits.size === 0) return whole;
    const sent = { ...(whole[AS_SENT] as object | undefined), ...Object.fromEntries(misfits) };
    return { ...whole, ...emptyLists(fields, misfits), [AS_SENT]: sent };
  };
}

/** A list is never null. */
function emptyLists(fields: Fields, misfits: ReadonlyMap<string, unknown>): ApiItem {
  const names = [...misfits.keys()].filter((name) => fields[name]?.empty !== undefined);
  return Object.fromEntries(names.map((name) => [name, []]));
}

const RFC_3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/;

/** Whether a value has the type that the OpenAPI document names for the field. */
function fits(name: string, { type }: Field, value: unknown): boolean {
  switch (type) {
    case 'id':
    case 'text':
      return typeof value === 'string';
    case 'instant':
      return typeof value === 'string' && RFC_3339.test(value) && parseInstant(value) !== null;
    case 'boolean':
      return typeof value === 'boolean';
    case 'number':
      return typeof value === 'number' || isExactNumber(value);
    case 'integer':
      return isExactNumber(value) ? isInt64(value.rawJSON) : Number.isSafeInteger(value);
    case 'json': {
      const expected = jsonTypeOf(name);
      return expected === undefined || expected === (Array.isArray(value) ? 'array' : isJsonObject(value) && 'object');
    }
  }
}

const isInt64 = (digits: string): boolean =>
  /^-?\d+$/.test(digits) && BigInt.asIntN(64, BigInt(digits)) === BigInt(digits);

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

/** Moves members of a wrong type to the misfits. */
function takeMisfits(members: ApiItem, fields: Fields, row: SqlRow, misfits: Map<string, unknown>): void {
  for (const [name, member] of Object.entries(members)) {
    // The service itself may send a member of this name.
    if (name === AS_SENT && !isJsonObject(member)) {
      misfits.set(name, member);
      delete members[name];
    }
    const field = Object.hasOwn(fields, name) ? fields[name] : undefined;
    if (field === undefined || field.required || fits(name, field, member)) continue;
    if ((row[name] ?? null) === null) misfits.set(name, member);
    delete members[name];
  }
}

/** Converts required integers only: optional fields are serialized as they are. */
function withIntegers(merged: ApiItem, fields: Fields): ApiItem {
  for (const [name, { type, from, required }] of Object.entries(fields)) {
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
 * A member of `extra` replaces a known field only if the field is empty, because its time is not trusted (R10) or an
 * earlier version did not know it, or if `extra` has the exact number. Unknown members of an object return to that
 * object (R19).
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
