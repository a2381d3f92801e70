import type { CustomTypesConfig } from 'pg';
import { PARSERS } from './values.ts';

type ValueParser = (text: string) => unknown;

const asText: ValueParser = (text) => text;
const bigintOf: ValueParser = (text) => BigInt(text);
const bytesOf: ValueParser = (text) => Buffer.from(text.slice('\\x'.length), 'hex');

/** A number, unless that would lose digits. */
function integerOf(text: string): number | bigint {
  const number = Number(text);
  return Number.isSafeInteger(number) ? number : BigInt(text);
}

/** PostgreSQL's type for sums and means of whole numbers, where SQLite returns an integer or a real. */
const numeric =
  (whole: ValueParser): ValueParser =>
  (text) =>
    /^-?\d+$/.test(text) ? whole(text) : Number(text);

const typesOf = (parsers: Readonly<Record<number, ValueParser>>): CustomTypesConfig => ({
  getTypeParser: ((type: number) => parsers[type] ?? asText) as CustomTypesConfig['getTypeParser'],
});

/** Converts each value to what SQLite would return. Types that a mirror does not have are returned as text. */
export const SQLITE_TYPES = typesOf(PARSERS);

/** The same for a user's statements: bytes are a BLOB, and whole numbers keep their digits, all with `bigints`. */
export function exactTypes(bigints: boolean): CustomTypesConfig {
  const exact = { ...PARSERS, 17: bytesOf, 20: integerOf, 26: integerOf, 1700: numeric(integerOf) };
  const flagOf: ValueParser = (text) => BigInt(text === 't');
  const integers = { 16: flagOf, 20: bigintOf, 21: bigintOf, 23: bigintOf, 26: bigintOf, 1700: numeric(bigintOf) };
  return typesOf(bigints ? { ...exact, ...integers } : exact);
}
