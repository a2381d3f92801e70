import { withoutNulEscapes } from '../json.ts';
import type { ColumnValue, Fields, Row } from '../stream.ts';

/** The most bytes in each part of a key, in every mirror (R20). */
const MAX_KEY_BYTES = 1000;

/** What a mirror's storage cannot hold, besides U+0000 (R19, R20). */
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
export function keyFault(key: readonly unknown[]): string | null {
  for (const part of key) {
    if (typeof part !== 'string') continue;
    if (!part.isWellFormed()) return 'the key holds half of a surrogate pair';
    if (isLonger([part], MAX_KEY_BYTES)) return `the key is longer than ${MAX_KEY_BYTES} bytes`;
  }
  return null;
}

/** Why this mirror cannot store a row under this key; null if it can. */
export function unstorableKey({ maxEntryBytes }: StorageLimits, key: readonly string[]): string | null {
  if (key.some(holdsNul)) return 'the key holds U+0000';
  return isLonger(key, maxEntryBytes) ? `the key is longer than ${maxEntryBytes} bytes` : null;
}

/** Why the ids of a row cannot be stored: with another character, they would name other rows (R20). */
export function idFault({ fields }: { readonly fields: Fields }, row: Row): string | null {
  const name = Object.keys(fields).find((each) => fields[each]?.type === 'id' && holdsNul(row[each]));
  return name === undefined ? null : `${name} holds U+0000`;
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

/** The row with U+FFFD for each U+0000 in its texts and JSON (R19). */
export function withoutNul({ fields }: { readonly fields: Fields }, row: Row): Row {
  const changed: Record<string, ColumnValue> = {};
  for (const name in row) {
    const value = row[name];
    if (typeof value !== 'string') continue;
    const isJson = name === 'extra' || fields[name]?.type === 'json';
    const stored = isJson ? withoutNulEscapes(value) : value.replaceAll('\0', '\uFFFD');
    if (stored !== value) changed[name] = stored;
  }
  return Object.keys(changed).length === 0 ? row : { ...row, ...changed };
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
