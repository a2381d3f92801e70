import { isFuture } from '../context.ts';
import { isJsonObject, toJson } from '../json.ts';
import { AS_SENT } from '../read-api.ts';
import type { ChildTable, ColumnValue, Fields, Row, Stream } from '../stream.ts';
import type { Instant } from '../time/instant.ts';
import { fallbackValue, faultOf, instantOf, toValue } from './field-value.ts';
import { isDeeper, MAX_LEVELS, truncateNesting } from './nesting.ts';
import { idFault, keyFault, rowFault, type StorageLimits, unstorableKey, withoutNul } from './storage-limits.ts';

/** An accepted item: its key, its row, and its child rows in catalogue order. */
export interface DecodedRow {
  readonly key: readonly string[];
  readonly row: Row;
  /** Set when the item is a tombstone. */
  readonly deletedAt: Instant | null;
  /** Set if the tombstone's own time is not trusted; `deletedAt` is then the server time when it was read (R10). */
  readonly isUntimed?: true;
  readonly parts: readonly (readonly Row[])[];
}

/** A row that the mirror cannot store, with its key if it has one (R20). */
export interface RejectedRow {
  readonly key: readonly string[] | null;
  /** The key, or the payload if there is none: it identifies the row in `rejected_rows`. */
  readonly rowKey: string;
  readonly reason: string;
  readonly payload: string;
}

export interface DecodedPage {
  readonly rows: readonly DecodedRow[];
  readonly rejected: readonly RejectedRow[];
  /** Set if more slices of the same page follow (R27). */
  readonly isPart?: true;
}

type ListItem = Readonly<Record<string, unknown>>;

export interface DecodeContext {
  /** Whether every item must be a tombstone, with `deleted_at`. */
  readonly tombstones?: boolean;
  /** The newest server time; null while none is known. */
  readonly newestReading?: Instant | null;
  /** The test whose history this is: its executions need not name it. */
  readonly testId?: string;
  /** What the mirror cannot hold; null if it can hold everything. */
  readonly limits?: StorageLimits | null | undefined;
}

/** Turns the items of a page into rows one by one: a bad item does not affect the others (R20). */
export function decodePage(
  stream: DecodableStream,
  items: Iterable<unknown>,
  { tombstones = false, newestReading = null, testId, limits = null }: DecodeContext = {},
): DecodedPage {
  const rows: DecodedRow[] = [];
  const rejected: RejectedRow[] = [];
  for (const sent of items) {
    const item = asFirstSent(stream, testId === undefined ? sent : withTestId(sent, testId));
    const decoded = decodeItem(stream, item, newestReading);
    const result = limits === null || decoded === null ? decoded : withinLimits(stream, item, decoded, limits);
    if (result === null) continue;
    if ('reason' in result) rejected.push(result);
    else if (tombstones && result.deletedAt === null) rejected.push(reject(item, result.key, 'deleted_at is missing'));
    else rows.push(result);
  }
  return { rows, rejected };
}

function withTestId(item: unknown, testId: string): unknown {
  return isJsonObject(item) && typeof item['test_id'] !== 'string' ? { ...item, test_id: testId } : item;
}

/**
 * The item as the service sent it, if it comes from a served mirror (R20): values of the wrong type return to their
 * empty optional fields. Whatever else the member has stays in it.
 */
function asFirstSent({ fields }: DecodableStream, item: unknown): unknown {
  if (!isJsonObject(item) || !isJsonObject(item[AS_SENT])) return item;
  const isReturned = ([name]: [string, unknown]): boolean => {
    const field = Object.hasOwn(fields, name) ? fields[name] : undefined;
    return field !== undefined && !field.required && field.from === undefined && isEmpty(item[name]);
  };
  const { true: returned = [], false: others = [] } = Object.groupBy(Object.entries(item[AS_SENT]), (each) =>
    isReturned(each) ? 'true' : 'false',
  );
  const { [AS_SENT]: _, ...own } = item;
  if (returned.length === 0) return item;
  const rest = others.length === 0 ? {} : { [AS_SENT]: Object.fromEntries(others) };
  return { ...own, ...rest, ...Object.fromEntries(returned) };
}

function isEmpty(value: unknown): boolean {
  return value === undefined || value === null || (Array.isArray(value) && value.length === 0);
}

/** A key as text: the id, or the two parts of an edge's key as JSON. */
export function joinKey(key: readonly string[]): string {
  const [id] = key;
  return key.length === 1 && id !== undefined ? id : JSON.stringify(key);
}

export type DecodableStream = Pick<Stream, 'key' | 'fields' | 'method' | 'childTables'> &
  Partial<Pick<Stream, 'table' | 'historyTables'>>;

/** Turns an item into a row, or rejects it; null if the mirror cannot store its key. `latest` is the server time. */
export function decodeItem(
  stream: DecodableStream,
  item: unknown,
  latest: Instant | null = null,
): DecodedRow | RejectedRow | null {
  if (!isJsonObject(item)) return reject(item, null, 'not an object');
  const key = stream.key.map((field) => item[field]);
  if (!key.every(isKey)) return reject(item, null, `no usable ${stream.key.join(', ')}`);
  const unusable = keyFault(key);
  if (unusable !== null) return rejectKey(stream, item, unusable);
  if (isDeeper(item, MAX_LEVELS)) return reject(item, key, `nested deeper than ${MAX_LEVELS} levels`);
  const deletedAt = tombstoneOf(stream, item);
  if (deletedAt === undefined) return reject(item, key, 'deleted_at is not an instant');
  const decoded = decodeFields(stream.fields, item, RESERVED);
  const fault = decoded.fault ?? historyFault(stream, decoded.row);
  if (fault !== null && deletedAt === null) return reject(item, key, fault);
  const parts: Row[][] = stream.childTables === undefined ? NO_PARTS : [];
  for (const part of stream.childTables ?? []) {
    const rows = decodePart(part, item, decoded.row);
    if (typeof rows === 'string') return reject(item, key, rows);
    parts.push(rows);
    decoded.unknown?.delete(part.each);
  }
  if (isFuture(decoded.row['synced_at'], latest)) disbelieve(decoded, item);
  const { row } = decoded;
  row['extra'] = asJson(decoded.unknown);
  return latest !== null && isFuture(deletedAt, latest)
    ? { key, row, deletedAt: latest, isUntimed: true, parts }
    : { key, row, deletedAt, parts };
}

/** Why the history tables cannot store a row; null if they can. */
function historyFault({ historyTables = [] }: DecodableStream, row: Row): string | null {
  for (const { table, key } of historyTables) {
    const fault = keyFault(key.map((name) => row[name]));
    if (fault !== null) return `${table}: ${fault}`;
  }
  return null;
}

/** A row as this mirror can store it. Nothing is looked up, seen or marked under a key that it cannot store (R20). */
function withinLimits(
  stream: DecodableStream,
  item: unknown,
  decoded: DecodedRow | RejectedRow,
  limits: StorageLimits,
): DecodedRow | RejectedRow | null {
  const unusable = decoded.key === null ? null : unstorableKey(limits, decoded.key);
  if (unusable !== null) return rejectKey(stream, item, unusable);
  if ('reason' in decoded) return decoded;
  const tables = [stream.table, ...(stream.historyTables ?? []).map(({ table }) => table)];
  const fault = idFault(stream, decoded.row) ?? rowFault(limits, tables, decoded.row);
  if (fault !== null) return reject(item, decoded.key, fault);
  const parts = (stream.childTables ?? []).map((part, i) => ({ part, rows: decoded.parts[i] ?? [] }));
  for (const { part, rows } of parts)
    for (const row of rows) {
      const partFault =
        unstorableKey(
          limits,
          part.key.map((name) => String(row[name])),
        ) ?? rowFault(limits, [part.table], row);
      if (partFault !== null) return reject(item, decoded.key, `${part.each}: ${partFault}`);
    }
  return {
    ...decoded,
    row: withoutNul(stream, decoded.row),
    parts: parts.map(({ part, rows }) => rows.map((row) => withoutNul(part, row))),
  };
}

/** An untrusted time counts as missing, so the next response replaces the row (R10). `extra` keeps it as sent. */
function disbelieve(decoded: DecodedFields, item: ListItem): void {
  decoded.row['synced_at'] = null;
  decoded.unknown ??= new Map();
  decoded.unknown.set('synced_at', item['synced_at']);
}

/** For rows of streams without child tables. */
const NO_PARTS: Row[][] = [];

const RESERVED: ReadonlySet<string> = new Set(['deleted_at']);

interface DecodedFields {
  readonly row: Record<string, ColumnValue>;
  /** Fields that are not in the catalogue, and values of the wrong type (R19, R20); null if there are none. */
  unknown: Map<string, unknown> | null;
  /** What is wrong with a required field; null if nothing is. */
  readonly fault: string | null;
}

function decodeFields(fields: Fields, item: ListItem, reserved: ReadonlySet<string>): DecodedFields {
  const row: Record<string, ColumnValue> = {};
  // A first sync decodes a million rows, so nothing is allocated that most of them don't need.
  let unknown: Map<string, unknown> | null = null;
  let misfits: [path: readonly string[], sent: unknown][] | null = null;
  let fault: string | null = null;
  for (const name in fields) {
    const field = fields[name];
    if (field === undefined) continue;
    const sent = field.from === undefined ? item[name] : dig(item, field.from);
    const value = sent === undefined || sent === null ? (field.empty ?? null) : toValue(field, sent);
    row[name] = value ?? (field.required ? fallbackValue(field, sent) : null);
    if (value === undefined) {
      misfits ??= [];
      misfits.push([field.from ?? [name], sent]);
    }
    if (field.required && row[name] === null) fault ??= faultOf(name, field, sent);
  }
  for (const name in item) {
    if (Object.hasOwn(fields, name) || reserved.has(name)) continue;
    const rest = isSource(fields, [name]) ? restOf(fields, name, item[name]) : item[name];
    if (rest === undefined) continue;
    unknown ??= new Map();
    unknown.set(name, rest);
  }
  for (const [path, sent] of misfits ?? []) unknown = putBack(unknown ?? new Map(), path, sent);
  return { row, unknown, fault };
}

/** Puts a value back where it was sent: under its name, or inside its object. */
function putBack(
  unknown: Map<string, unknown>,
  [name = '', inner]: readonly string[],
  sent: unknown,
): Map<string, unknown> {
  return unknown.set(
    name,
    inner === undefined ? sent : { ...(unknown.get(name) as object | undefined), [inner]: sent },
  );
}

function decodePart(table: ChildTable, item: ListItem, owner: Row): Row[] | string {
  const elements = item[table.each] ?? [];
  if (!Array.isArray(elements)) return `${table.each} is not an array`;
  const rows: Row[] = [];
  for (const element of elements) {
    if (!isJsonObject(element)) return `an element of ${table.each} is not an object`;
    const { row, unknown, fault } = decodeFields(table.fields, element, RESERVED);
    if (fault !== null) return `${table.each}: ${fault}`;
    for (const name of table.key) if (!(name in row)) row[name] = owner[name] ?? null;
    const unusable = keyFault(table.key.map((name) => row[name]));
    if (unusable !== null) return `${table.each}: ${unusable}`;
    row['extra'] = asJson(unknown);
    rows.push(row);
  }
  return rows;
}

/** The time of a tombstone; null for a live row, which may have none or null; undefined if it is not an instant. */
function tombstoneOf(stream: DecodableStream, item: ListItem): Instant | null | undefined {
  const sent = item['deleted_at'] ?? null;
  return stream.method === 'feed' && sent !== null ? instantOf(sent) : null;
}

function reject(item: unknown, key: readonly string[] | null, reason: string): RejectedRow {
  const payload = toJson(isDeeper(item, MAX_LEVELS) ? truncateNesting(item) : item) ?? 'null';
  return { key, rowKey: key === null ? payload : joinKey(key), reason, payload };
}

/** Rejects a key that the mirror cannot store. The mirror has no such row, so its tombstone is ignored (R20). */
function rejectKey(stream: DecodableStream, item: unknown, reason: string): RejectedRow | null {
  return isJsonObject(item) && tombstoneOf(stream, item) ? null : reject(item, null, reason);
}

function asJson(unknown: ReadonlyMap<string, unknown> | null): string | null {
  return unknown === null || unknown.size === 0 ? null : toJson(Object.fromEntries(unknown));
}

function dig(item: ListItem, from: readonly string[]): unknown {
  return from.reduce<unknown>((value, name) => (isJsonObject(value) ? value[name] : undefined), item);
}

/** Whether a field takes its value from this path. */
function isSource(fields: Fields, names: readonly string[]): boolean {
  for (const field in fields) if (names.every((name, i) => fields[field]?.from?.[i] === name)) return true;
  return false;
}

/** The members of an object that no field uses (R19). */
function restOf(fields: Fields, name: string, value: unknown): unknown {
  const rest = isJsonObject(value) ? Object.entries(value).filter(([inner]) => !isSource(fields, [name, inner])) : [];
  return rest.length === 0 ? undefined : Object.fromEntries(rest);
}

function isKey(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}
