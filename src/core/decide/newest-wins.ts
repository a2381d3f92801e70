import { isFuture } from '../context.ts';
import type { DecodedRow } from '../decode/decode.ts';
import { sameJson } from '../json.ts';
import type { ColumnValue, Fields, Row, Stream } from '../stream.ts';
import type { Instant } from '../time/instant.ts';

/** A whole row to write, and how it changes. A `tombstoned` row stays deleted; only its fields or deletion change. */
export interface RowChange {
  readonly row: Row;
  readonly kind: 'inserted' | 'updated' | 'restored' | 'deleted' | 'tombstoned';
}

/** Times up to this instant yield to a scan or an `ids` lookup: its run's T less the overlap. Null for a feed (R10). */
export type TrustedUntil = Instant | null;

/** How a returned row changes the mirror; null if nothing changes (R10, R21). */
export function newestWins(
  stream: Stream,
  existing: Row | undefined,
  shown: DecodedRow,
  until: TrustedUntil,
): RowChange | null {
  if (shown.deletedAt !== null)
    return shown.isUntimed ? null : applyTombstone(stream, existing, shown, shown.deletedAt);
  const row = fieldsShown(stream, shown.row);
  if (existing === undefined) return { row: inserted(stream, row), kind: 'inserted' };
  const trusted =
    until !== null &&
    !isAfter(existing['synced_at'], until) &&
    !(isTombstone(existing) && isAfter(existing['deleted_at'], until));
  if (!trusted && isAfter(existing['synced_at'], shown.row['synced_at'])) return restoreIfAbsent(existing);
  const staysDeleted = isTombstone(existing) && !trusted && staysTombstoned(existing, shown, until);
  const merged = { ...existing, ...foreignFields(stream, existing, shown.row), ...row, ...(staysDeleted ? {} : LIVE) };
  return sameRow(stream.fields, existing, merged) ? null : { row: merged, kind: changeKind(existing, merged) };
}

/**
 * The row without times in the future, which an older version may have stored: such a `synced_at` counts as missing,
 * and such a tombstone as `absent`, which yields to any returned row (R10).
 */
export function withoutFuture(existing: Row | undefined, latest: Instant | null): Row | undefined {
  if (existing === undefined) return undefined;
  const isRowFuture = isFuture(existing['synced_at'], latest);
  const isDeletionFuture = isTombstone(existing) && isFuture(existing['deleted_at'], latest);
  if (!isRowFuture && !isDeletionFuture) return existing;
  return {
    ...existing,
    ...(isRowFuture ? { synced_at: null } : {}),
    ...(isDeletionFuture ? { deletion: 'absent' } : {}),
  };
}

/** Marks a live row as deleted because a finished read did not return it (R11). */
export function absent(existing: Row, at: Instant): RowChange {
  return { row: { ...existing, deleted_at: at, deletion: 'absent' }, kind: 'deleted' };
}

/** A new live row. Most of a first sync are copies of only one object, which is much cheaper than of several. */
function inserted(stream: Stream, row: Row): Row {
  return stream.subtypeColumns === undefined
    ? { ...row, deleted_at: null, deletion: null }
    : { ...blank(stream), ...row, ...LIVE };
}

const LIVE: Row = { deleted_at: null, deletion: null };

function applyTombstone(
  stream: Stream,
  existing: Row | undefined,
  shown: DecodedRow,
  deletedAt: Instant,
): RowChange | null {
  const tombstoneFields = { deleted_at: deletedAt, deletion: 'tombstone' };
  // `synced_at` stays null, so an older upsert on a later page still fills in the fields (R10).
  if (existing === undefined)
    return {
      row: { ...blank(stream), ...fieldsShown(stream, shown.row), synced_at: null, ...tombstoneFields },
      kind: 'tombstoned',
    };
  if (isAfter(existing['synced_at'], deletedAt) || isTie(existing, shown)) return null;
  if (isTombstone(existing) && !isAfter(deletedAt, existing['deleted_at'])) return null;
  return { row: { ...existing, ...tombstoneFields }, kind: existing['deleted_at'] === null ? 'deleted' : 'tombstoned' };
}

/** Whether the times of a row and its tombstone don't tell which is newer: then the row is looked up by id (R10). */
export function isTie(existing: Row | undefined, { row, deletedAt, isUntimed }: DecodedRow): boolean {
  if (existing === undefined) return false;
  if (deletedAt !== null) return existing['deleted_at'] === null && (isUntimed || existing['synced_at'] === deletedAt);
  return isTombstone(existing) && existing['deleted_at'] === row['synced_at'];
}

/** Whether a tombstone wins over a returned row. On a tie, an `ids` lookup decides (R10). */
function staysTombstoned(existing: Row, { row }: DecodedRow, until: TrustedUntil): boolean {
  const [diedAt, shownAt] = [existing['deleted_at'], row['synced_at']];
  return until === null ? !isAfter(shownAt, diedAt) : isAfter(diedAt, shownAt);
}

/** `absent` always yields to a returned row, even from an older page (R10). */
function restoreIfAbsent(existing: Row): RowChange | null {
  return existing['deletion'] === 'absent' ? { row: { ...existing, ...LIVE }, kind: 'restored' } : null;
}

/** The fields that this stream writes. If the row's kind has a typed stream, that stream writes `extra` (R19). */
export function fieldsShown(stream: Stream, row: Row): Row {
  if (stream.subtypeColumns?.[String(row['kind'])] === undefined) return row;
  const { extra: _, ...common } = row;
  return common;
}

/** Nulls for the fields of other kinds, and for every field of another stream if the kind has changed (R22). */
function foreignFields(stream: Stream, existing: Row, shown: Row): Row {
  return existing['kind'] === shown['kind'] ? blankOtherKinds(stream, shown) : blank(stream);
}

/** Nulls for the fields that only rows of another kind have (R22). */
export function blankOtherKinds({ subtypeColumns }: Stream, { kind }: Row): Row {
  if (subtypeColumns === undefined) return {};
  const names = Object.entries(subtypeColumns).flatMap(([each, fields]) => (each === kind ? [] : fields));
  return Object.fromEntries(names.map((name) => [name, null]));
}

/** Nulls for the columns that another stream fills. */
function blank(stream: Stream): Row {
  return stream.subtypeColumns === undefined ? {} : { ...blankOtherKinds(stream, {}), extra: null };
}

function changeKind(existing: Row, merged: Row): RowChange['kind'] {
  if (merged['deleted_at'] !== null) return 'tombstoned';
  return existing['deleted_at'] === null ? 'updated' : 'restored';
}

function isTombstone(row: Row): boolean {
  return row['deletion'] === 'tombstone';
}

/** Whether `a` is later than `b`; a missing time counts as the oldest (R10). */
export function isAfter(a: ColumnValue | undefined, b: ColumnValue | undefined): boolean {
  return (a ?? '') > (b ?? '');
}

/** Whether every column has the same value (R21). */
export function sameRow(fields: Fields, a: Row, b: Row): boolean {
  for (const name in b) if (a[name] !== b[name] && !sameField(fields, name, a, b)) return false;
  return true;
}

/** Whether a column has the same value in both rows. JSON is compared by value, ignoring the order of members (R21). */
export function sameField(fields: Fields, name: string, a: Row, b: Row): boolean {
  const [one, other] = [a[name], b[name]];
  if (one === other) return true;
  const isJson = name === 'extra' || fields[name]?.type === 'json';
  return isJson && typeof one === 'string' && typeof other === 'string' && sameJson(one, other);
}
