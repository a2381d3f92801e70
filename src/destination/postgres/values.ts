import type { CustomTypesConfig } from 'pg';
import type { ColumnKind } from '../../../schema/column-types.ts';
import type { ColumnValue } from '../../core/stream.ts';
import type { Instant } from '../../core/time/instant.ts';

/** Converts a value's text to what SQLite would return, by type id. Values of other types stay as they are. */
export const PARSERS: Readonly<Record<number, (text: string) => ColumnValue>> = {
  /** bool */ 16: (text) => Number(text === 't'),
  /** int8, int2, int4 */ 20: Number,
  21: Number,
  23: Number,
  /** float4, float8, numeric */ 700: Number,
  701: Number,
  1700: Number,
  /** json */ 114: String,
  /** date */ 1082: dayOf,
  /** timestamptz */ 1184: instantOf,
};

/** The types that a statement names for the values of each kind of column. */
export const TYPES: Readonly<Record<ColumnKind, string>> = {
  text: 'text',
  integer: 'bigint',
  real: 'double precision',
  time: 'timestamptz',
  day: 'date',
  flag: 'boolean',
  json: 'json',
};

/**
 * PostgreSQL writes `2026-11-20 04:10:00.12+00`, without trailing zeros, and the year 0 as `0001-… BC`. Values that
 * no mirror contains, such as `infinity` or a five-digit year, stay as PostgreSQL writes them.
 */
function instantOf(text: string): Instant {
  const isBefore = text.endsWith('BC');
  if (text[4] !== '-' || (isBefore && !text.startsWith('0001-'))) return text;
  const end = text.indexOf('+');
  const fraction = text.slice('2026-11-20 04:10:00.'.length, end);
  const year = isBefore ? '0000' : text.slice(0, 4);
  return `${year}${text.slice(4, 10)}T${text.slice(11, 19)}.${fraction.padEnd(6, '0')}Z`;
}

/** PostgreSQL writes a day of the year 0 as `0001-02-03 BC`. */
function dayOf(text: string): string {
  return text.startsWith('0001-') && text.endsWith('BC') ? `0000${text.slice(4, 10)}` : text;
}

/** A value as the text of a parameter of unknown kind. */
export function parameter(value: unknown): unknown {
  if (typeof value !== 'string') return value;
  return TIME_OF_YEAR_0.test(value) ? timeText(value) : storable(value);
}

/** Only a time or a day looks like this. */
const TIME_OF_YEAR_0 = /^0000-\d\d-\d\d(T\d\d:\d\d:\d\d\.\d{6}Z)?$/;

/** PostgreSQL stores no U+0000. A sync has replaced it in rows (R19); this is for copied files, reasons and errors. */
function storable(text: string): string {
  return text.includes('\0') ? text.replaceAll('\0', '\uFFFD') : text;
}

/** A value of a column as the text of a parameter. */
export function columnValue(kind: ColumnKind, value: ColumnValue): ColumnValue {
  if (value === null) return null;
  if (kind === 'time' || kind === 'day') return timeText(String(value));
  return kind === 'text' ? storable(String(value)) : value;
}

/** A column's values as the text of an array. Built for every page, so it checks first whether to escape. */
export function arrayText(kind: ColumnKind, values: readonly ColumnValue[]): string {
  return kind === 'text' || kind === 'json' ? quotedArray(values) : plainArray(kind, values);
}

const ESCAPED = /["\\]/;

function quotedArray(values: readonly ColumnValue[]): string {
  let text = '';
  for (const value of values) {
    if (value === null) {
      text += ',NULL';
      continue;
    }
    const each = String(value);
    text += ESCAPED.test(each) ? `,"${each.replaceAll(/["\\]/g, '\\$&')}"` : `,"${each}"`;
  }
  return storable(`{${text.slice(1)}}`);
}

function plainArray(kind: ColumnKind, values: readonly ColumnValue[]): string {
  let text = '';
  for (const value of values) {
    if (value === null) text += ',NULL';
    else if (kind === 'time' || kind === 'day') text += `,${quotedTime(String(value))}`;
    else text += `,${value}`;
  }
  return `{${text.slice(1)}}`;
}

function quotedTime(at: Instant): Instant {
  const text = timeText(at);
  return text === at ? at : `"${text}"`;
}

/** The year 0 is 1 BC. */
function timeText(at: Instant): Instant {
  return at.startsWith('0000-') ? `0001${at.slice(4)} BC` : at;
}

type ValueParser = (text: string) => unknown;

const asText: ValueParser = (text) => text;

/** A number, unless that would lose digits. */
function integerOf(text: string): number | bigint {
  const number = Number(text);
  return Number.isSafeInteger(number) ? number : BigInt(text);
}

const typesOf = (parsers: Readonly<Record<number, ValueParser>>): CustomTypesConfig => ({
  getTypeParser: ((type: number) => parsers[type] ?? asText) as CustomTypesConfig['getTypeParser'],
});

/** Converts each value to what SQLite would return. Types that a mirror does not have are returned as text. */
export const SQLITE_TYPES = typesOf(PARSERS);

/** The same for a user's statements: bytes are a BLOB, and whole numbers keep their digits, all with `bigints`. */
export function exactTypes(bigints: boolean): CustomTypesConfig {
  const whole: ValueParser = bigints ? BigInt : integerOf;
  const exact: Record<number, ValueParser> = {
    ...PARSERS,
    /** bytea */ 17: (text) => Buffer.from(text.slice('\\x'.length), 'hex'),
    /** int8, oid */ 20: whole,
    26: whole,
    /** numeric, also for sums and means of whole numbers, where SQLite returns an integer or a real */
    1700: (text) => (/^-?\d+$/.test(text) ? whole(text) : Number(text)),
  };
  return typesOf(bigints ? { ...exact, 16: (text) => BigInt(text === 't'), 21: BigInt, 23: BigInt } : exact);
}
