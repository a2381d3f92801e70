import { parseExactly } from '../json.ts';
import type { ColumnValue, Fields, Row } from '../stream.ts';

/** The most bytes in each part of a key, in every mirror (R20). */
const MAX_KEY_BYTES = 1000;

/** What a mirror's storage cannot hold, besides U+0000 in text (R20). */
export interface StorageLimits {
  /** The most bytes that the texts of an index entry may have together. */
  readonly maxEntryBytes: number;
  /** The columns of each index of a table, including its key. */
  indexes(table: string): readonly (readonly string[])[];
}

/** The limits within an environment, whose id is part of every index entry. */
export function limitsIn(limits: StorageLimits | null | undefined, envId: string): StorageLimits | null {
  return limits ? { ...limits, maxEntryBytes: limits.maxEntryBytes - byteLength(envId) } : null;
}

/** Why no mirror can store a row under this key; null if every mirror can. */
export function keyFault(key: readonly (ColumnValue | undefined)[]): string | null {
  for (const part of key) if (isLonger([part], MAX_KEY_BYTES)) return `the key is longer than ${MAX_KEY_BYTES} bytes`;
  return null;
}

/** Why this mirror cannot store a row under this key; null if it can. */
export function unstorableKey({ maxEntryBytes }: StorageLimits, key: readonly string[]): string | null {
  if (key.some(holdsNul)) return 'the key holds U+0000';
  return isLonger(key, maxEntryBytes) ? `the key is longer than ${maxEntryBytes} bytes` : null;
}

/** Why a row of these tables cannot be stored although its key can; null if it can. */
export function rowFault(
  { maxEntryBytes, indexes }: StorageLimits,
  tables: readonly (string | undefined)[],
  row: Row,
): string | null {
  for (const table of tables)
    for (const names of table === undefined ? [] : indexes(table)) {
      const texts = names.map((name) => row[name]);
      if (isLonger(texts, maxEntryBytes)) {
        const given = names.filter((name) => typeof row[name] === 'string');
        return `an index entry of ${given.join(', ')} is longer than ${maxEntryBytes} bytes`;
      }
    }
  return null;
}

/** The row with U+FFFD for each U+0000 in its texts; `extra` keeps them as sent (R19, R20). */
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

/** The most UTF-8 bytes per code unit. */
const MAX_BYTES = 3;

/** Whether the texts among the values have more than `bytes` bytes in UTF-8 together. */
function isLonger(values: readonly (ColumnValue | undefined)[], bytes: number): boolean {
  let characters = 0;
  for (const value of values) if (typeof value === 'string') characters += value.length;
  return (
    characters * MAX_BYTES > bytes && byteLength(values.filter((value) => typeof value === 'string').join('')) > bytes
  );
}

function byteLength(text: string): number {
  return new TextEncoder().encode(text).length;
}
