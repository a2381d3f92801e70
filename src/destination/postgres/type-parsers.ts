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

/** What sums and means of whole numbers are in PostgreSQL: SQLite gives an integer or a real. */
const numeric =
  (whole: ValueParser): ValueParser =>
  (text) =>
    /^-?\d+$/.test(text) ? whole(text) : Number(text);

const typesOf = (parsers: Readonly<Record<number, ValueParser>>): CustomTypesConfig => ({
  getTypeParser: ((type: number) => parsers[type] ?? asText) as CustomTypesConfig['getTypeParser'],
});

/** Makes of each value what SQLite would give. All types that a mirror does not have are given as text. */
export const SQLITE_TYPES = typesOf(PARSERS);

/**
 * The same for any statement of a user: bytes are a BLOB, and whole numbers keep all their digits. With `bigints` every
 * one of them is a bigint.
 */
export function exactTypes(bigints: boolean): CustomTypesConfig {
  const exact = { ...PARSERS, 17: bytesOf, 20: integerOf, 26: integerOf, 1700: numeric(integerOf) };
  const flagOf: ValueParser = (text) => BigInt(text === 't');
  const integers = { 16: flagOf, 20: bigintOf, 21: bigintOf, 23: bigintOf, 26: bigintOf, 1700: numeric(bigintOf) };
  return typesOf(bigints ? { ...exact, ...integers } : exact);
}
