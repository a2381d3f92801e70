import { isExactNumber, toJson } from '../json.ts';
import type { ColumnValue, Field } from '../stream.ts';
import { type Instant, parseInstant } from '../time/instant.ts';

/** A value as SQLite stores it; undefined if it has the wrong type. */
export function toValue(field: Field, sent: unknown): ColumnValue | undefined {
  switch (field.type) {
    case 'id':
      return typeof sent === 'string' && sent.isWellFormed() ? sent : undefined;
    case 'text':
      // UTF-8 cannot encode half of a surrogate pair (R19).
      return typeof sent === 'string' ? sent.toWellFormed() : undefined;
    case 'instant':
      return instantOf(sent);
    case 'integer':
      return typeof sent === 'number' && Number.isSafeInteger(sent) ? sent : undefined;
    case 'number':
      return numberOf(sent);
    case 'boolean':
      return typeof sent === 'boolean' ? Number(sent) : undefined;
    case 'json':
      return typeof sent === 'object' && !isExactNumber(sent) ? toJson(sent) : undefined;
  }
}

/** The number itself, or the nearest one that can be stored. */
function numberOf(sent: unknown): number | undefined {
  const value = isExactNumber(sent) ? Number(sent.rawJSON) : sent;
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
}

export function instantOf(sent: unknown): Instant | undefined {
  return typeof sent === 'string' ? (parseInstant(sent) ?? undefined) : undefined;
}

/** For a required field: the nearest storable value to an integer that is too large. `extra` keeps it as sent (R19). */
export function fallbackValue({ type }: Field, sent: unknown): ColumnValue {
  const value = type === 'integer' ? numberOf(sent) : undefined;
  return value !== undefined && Number.isInteger(value) ? value : null;
}

export function faultOf(name: string, field: Field, sent: unknown): string {
  return sent === undefined || sent === null ? `${name} is missing` : `${name} is not ${TYPE_NAMES[field.type]}`;
}

/** The names of the types in messages. */
const TYPE_NAMES: Readonly<Record<Field['type'], string>> = {
  id: 'a well-formed string',
  text: 'a string',
  integer: 'an integer',
  number: 'a number',
  boolean: 'a boolean',
  instant: 'an instant',
  json: 'an object or an array',
};
