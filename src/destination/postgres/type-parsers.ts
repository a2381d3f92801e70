import type { CustomTypesConfig } from 'pg';

/** An instant as the engine writes it (R4). The session's time zone has to be UTC. */
function instantOf(shown: string): string {
  const [, date, time, fraction = ''] = /^(\S+) (\d\d:\d\d:\d\d)(?:\.(\d+))?\+00$/.exec(shown) ?? [];
  return date === undefined ? shown : `${date}T${time}.${fraction.padEnd(6, '0')}Z`;
}

/** A number, unless that would lose digits. */
function integerOf(text: string): number | bigint {
  const number = Number(text);
  return Number.isSafeInteger(number) ? number : BigInt(text);
}

/** What sums and means of whole numbers are in PostgreSQL. */
const numericOf = (text: string): number | bigint => (/^-?\d+$/.test(text) ? integerOf(text) : Number(text));

/** Makes of each value what SQLite would give, by the number of its type. All other types are given as text. */
export const AS_SQLITE: Readonly<Record<number, (text: string) => unknown>> = {
  /** boolean */
  16: (text) => Number(text === 't'),
  /** bigint, smallint, integer, oid */
  20: integerOf,
  21: Number,
  23: Number,
  26: Number,
  /** real, double precision */
  700: Number,
  701: Number,
  /** timestamptz */
  1184: instantOf,
  1700: numericOf,
};

const asText = (text: string): unknown => text;

/** The same for the driver. */
export const SQLITE_TYPES: CustomTypesConfig = {
  getTypeParser: ((type: number) => AS_SQLITE[type] ?? asText) as CustomTypesConfig['getTypeParser'],
};

const bigintOf = (text: string): unknown => BigInt(text);
const WITH_BIGINTS: typeof AS_SQLITE = {
  16: (text) => BigInt(text === 't'),
  20: bigintOf,
  21: bigintOf,
  23: bigintOf,
  26: bigintOf,
  1700: (text) => (/^-?\d+$/.test(text) ? BigInt(text) : Number(text)),
};

const bytesOf = (text: string): unknown => Buffer.from(text.slice('\\x'.length), 'hex');

/** For any statement of a user: bytes are a BLOB, and with `bigints` every integer is a bigint. */
export function exactTypes(bigints: boolean): CustomTypesConfig {
  const parsers: typeof AS_SQLITE = { ...AS_SQLITE, 17: bytesOf, ...(bigints ? WITH_BIGINTS : {}) };
  return { getTypeParser: ((type: number) => parsers[type] ?? asText) as CustomTypesConfig['getTypeParser'] };
}
