import { isFuture } from './context.ts';
import type { Decoded } from './decode.ts';
import type { Instant } from './instant.ts';
import { sameJson } from './json.ts';
import type { Fields, Row, Stream, Value } from './stream.ts';

/**
 * A row to be written whole, and what becomes of it. `buried` is a deleted row that stays deleted while its fields, or
 * its deletion, change.
 */
export interface Change {
  readonly row: Row;
  readonly was: 'inserted' | 'updated' | 'revived' | 'deleted' | 'buried';
}

/**
 * How far what a read shows may be believed: null for a feed, where the newest wins; for a scan or an answer by id, the
 * T of the run in which it began less the overlap: times of the mirror later than that stand against it (R10).
 */
export type Floor = Instant | null;

/** What a row becomes that the source shows; null when it stays as it is (R10, R21). */
export function newestWins(stream: Stream, held: Row | undefined, shown: Decoded, floor: Floor): Change | null {
  if (shown.isUntimed)
    return held !== undefined && held['deleted_at'] === null ? absent(held, shown.deletedAt as Instant) : null;
  if (shown.deletedAt !== null) return bury(stream, held, shown, shown.deletedAt);
  const row = fieldsShown(stream, shown.row);
  if (held === undefined) return { row: { ...blank(stream), ...row, ...LIVE }, was: 'inserted' };
  const believed =
    floor !== null && !isAfter(held['synced_at'], floor) && !(isTombstone(held) && isAfter(held['deleted_at'], floor));
  if (!believed && isAfter(held['synced_at'], shown.row['synced_at'])) return unearth(held);
  const dead = isTombstone(held) && !believed && !isAfter(shown.row['synced_at'], held['deleted_at']);
  const merged = { ...held, ...foreignFields(stream, held, shown.row), ...row, ...(dead ? {} : LIVE) };
  return sameRow(stream.fields, held, merged) ? null : { row: merged, was: fate(held, merged) };
}

/**
 * A row held from before such times were kept apart: a `synced_at` that is not believed counts as none, and a tombstone without a
 * time of its own as `absent`, which stands against nothing that is shown (R10).
 */
export function withoutFuture(held: Row | undefined, latest: Instant | null): Row | undefined {
  if (held === undefined) return undefined;
  const isRowFuture = isFuture(held['synced_at'], latest);
  const isGraveFuture = isTombstone(held) && isFuture(held['deleted_at'], latest);
  if (!isRowFuture && !isGraveFuture) return held;
  return { ...held, ...(isRowFuture ? { synced_at: null } : {}), ...(isGraveFuture ? { deletion: 'absent' } : {}) };
}

/** A live row that a finished read did not show (R11). */
export function absent(held: Row, at: Instant): Change {
  return { row: { ...held, deleted_at: at, deletion: 'absent' }, was: 'deleted' };
}

const LIVE: Row = { deleted_at: null, deletion: null };

function bury(stream: Stream, held: Row | undefined, shown: Decoded, deletedAt: Instant): Change | null {
  const grave = { deleted_at: deletedAt, deletion: 'tombstone' };
  // No time of its own: an older upsert that comes later still brings its fields, whatever the order of pages (R10).
  if (held === undefined)
    return { row: { ...blank(stream), ...fieldsShown(stream, shown.row), synced_at: null, ...grave }, was: 'buried' };
  if (isAfter(held['synced_at'], deletedAt)) return null;
  if (isTombstone(held) && !isAfter(deletedAt, held['deleted_at'])) return null;
  return { row: { ...held, ...grave }, was: held['deleted_at'] === null ? 'deleted' : 'buried' };
}

/** `absent` never stands against a row shown again, even by an older page (R10). */
function unearth(held: Row): Change | null {
  return held['deletion'] === 'absent' ? { row: { ...held, ...LIVE }, was: 'revived' } : null;
}

/** The fields this stream writes of a row: `extra` of a kind with a typed stream is that stream's to write (R19). */
export function fieldsShown(stream: Stream, row: Row): Row {
  if (stream.kinds?.[String(row['kind'])] === undefined) return row;
  const { extra: _, ...common } = row;
  return common;
}

/** Nulls for the fields of other kinds, when the kind has changed (R22). */
function foreignFields(stream: Stream, held: Row, shown: Row): Row {
  return held['kind'] === shown['kind'] ? {} : blank(stream);
}

/** Nulls for the columns that another stream fills. */
function blank(stream: Stream): Row {
  if (stream.kinds === undefined) return {};
  const names = [...Object.values(stream.kinds).flat(), 'extra'];
  return Object.fromEntries(names.map((name) => [name, null]));
}

function fate(held: Row, merged: Row): Change['was'] {
  if (merged['deleted_at'] !== null) return 'buried';
  return held['deleted_at'] === null ? 'updated' : 'revived';
}

function isTombstone(row: Row): boolean {
  return row['deletion'] === 'tombstone';
}

/** Whether `a` is later than `b`; no time counts as the oldest (R10). */
function isAfter(a: Value | undefined, b: Value | undefined): boolean {
  return (a ?? '') > (b ?? '');
}

/** Whether every column has the same value (R21). */
export function sameRow(fields: Fields, a: Row, b: Row): boolean {
  for (const name in b) if (a[name] !== b[name] && !sameField(fields, name, a, b)) return false;
  return true;
}

/** Whether a column has the same value in both rows: JSON is compared by value, whatever the order of members (R21). */
export function sameField(fields: Fields, name: string, a: Row, b: Row): boolean {
  const [one, other] = [a[name], b[name]];
  if (one === other) return true;
  const isJson = name === 'extra' || fields[name]?.type === 'json';
  return isJson && typeof one === 'string' && typeof other === 'string' && sameJson(one, other);
}
