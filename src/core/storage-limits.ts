import { parseExactly } from './json.ts';
import type { ColumnValue, Fields, Row } from './stream.ts';

/** What the storage of a mirror cannot hold, besides U+0000 in a text (R20). */
export interface StorageLimits {
  /** The most bytes of a text that an index has. */
  readonly maxKeyBytes: number;
  /** The columns that the indexes of a table have. */
  indexed(table: string): ReadonlySet<string>;
}

/** Why a key cannot be stored; null if it can. */
export function keyFault({ maxKeyBytes }: StorageLimits, key: readonly string[]): string | null {
  for (const part of key) {
    if (part.includes('\0')) return 'the key holds U+0000';
    if (isLonger(part, maxKeyBytes)) return `the key is longer than ${maxKeyBytes} bytes`;
  }
  return null;
}

/** Why a row of these tables cannot be stored though its key can; null if nothing hinders. */
export function rowFault(
  { maxKeyBytes, indexed }: StorageLimits,
  tables: readonly (string | undefined)[],
  row: Row,
): string | null {
  for (const table of tables)
    for (const name of table === undefined ? [] : indexed(table))
      if (isLonger(row[name], maxKeyBytes)) return `${name} is longer than ${maxKeyBytes} bytes`;
  return null;
}

/** The row with U+FFFD for each U+0000 of its texts; `extra` keeps them as sent (R19, R20). */
export function withoutNul({ fields }: { readonly fields: Fields }, row: Row): Row {
  const holding = Object.keys(fields).filter((name) => holdsNul(row[name]) && fields[name]?.type === 'text');
  if (holding.length === 0) return row;
  const changed: Record<string, ColumnValue> = { ...row };
  const extra = (row['extra'] ? parseExactly(String(row['extra'])) : {}) as Record<string, unknown>;
  for (const name of holding) {
    const sent = String(row[name]);
    changed[name] = sent.replaceAll('\0', '\uFFFD');
    const [outer = name, inner] = fields[name]?.from ?? [name];
    extra[outer] = inner === undefined ? sent : { ...(extra[outer] as object | undefined), [inner]: sent };
  }
  return { ...changed, extra: JSON.stringify(extra) };
}

function holdsNul(value: ColumnValue | undefined): boolean {
  return typeof value === 'string' && value.includes('\0');
}

/** A character has at most three bytes for each of its code units. */
const MOST_BYTES = 3;

/** Whether a text has more bytes in UTF-8. */
function isLonger(value: ColumnValue | undefined, bytes: number): boolean {
  if (typeof value !== 'string' || value.length * MOST_BYTES <= bytes) return false;
  return new TextEncoder().encode(value).length > bytes;
}
