import type { Checkpoint } from '../checkpoint.ts';
import { type DecodedRow, joinKey } from '../decode/decode.ts';
import { isScanned, type Row, type Stream } from '../stream.ts';
import { addDays, addSeconds, type Instant, sameHour, secondsBetween } from '../time/instant.ts';
import { type ExistingRow, isLive } from './difference.ts';
import { asDeletion, changeMarks, type FollowUpMark } from './marks.ts';
import { newestWins } from './newest-wins.ts';

/** A row that differs, as each side has it; undefined if a side lacks it. */
export interface RowPair {
  readonly existing: ExistingRow | undefined;
  readonly shown: DecodedRow | undefined;
}

/** When the mirror and the source were last brought up to date. */
export interface RefreshTimes {
  /** The watermark of the stream; for a typed stream, of its parent stream. */
  readonly watermark: Instant | null;
  readonly now: Instant | null;
  /** When the service last refreshed the environment; null if it does not say. */
  readonly refreshedAt: Instant | null;
  /** The `refreshedAt` that the last run saw when it began. */
  readonly metRefreshAt: Instant | null;
}

type WatermarkTimes = RefreshTimes & { readonly watermark: Instant };

/**
 * Why the next sync removes a difference: the source has `changed` the row since the last sync; or the stream is read
 * whole each time, so a late change cannot be told from an error in the mirror (`ambiguous`).
 */
export type PendingCause = 'changed' | 'ambiguous';

/** Explains a difference by the times of the row and of its snapshot; null if they don't explain it. */
export function causeOf(stream: Stream, pair: RowPair, times: RefreshTimes): PendingCause | null {
  const { watermark } = times;
  if (watermark === null) return null;
  if (isChanged(pair, watermark) || hasExpired(stream, pair, { ...times, watermark })) return 'changed';
  return stream.method === 'snapshot' && isAmbiguous(stream, pair, { ...times, watermark }) ? 'ambiguous' : null;
}

/** Whether the source changed the row after the last sync: its time is later than the watermark and the mirror's. */
function isChanged({ existing, shown }: RowPair, watermark: Instant): boolean {
  if (shown === undefined) return false;
  const bucketAt = latestBucket(shown.row, shown.parts);
  if (bucketAt !== null)
    return bucketAt > (latestBucket(existing?.row ?? {}, existing?.parts ?? []) ?? '') && endOf(bucketAt) > watermark;
  const at = changedAt(shown.row);
  return at !== null && at >= watermark && at > mirroredVersionAt(existing);
}

/** The time of the mirror's version of a row, or of its tombstone, which an older row does not revive (R10). */
function mirroredVersionAt(existing: ExistingRow | undefined): Instant | '' {
  if (existing === undefined || existing.partial) return '';
  if (isLive(existing.row)) return changedAt(existing.row) ?? '';
  return existing.row['deletion'] === 'tombstone' ? String(existing.row['deleted_at']) : '';
}

/**
 * Asset edges have no times. Scores are read only once an hour (R22), but the service may change them within the hour
 * and removes them without notice when their asset's tests are gone.
 */
function isAmbiguous(stream: Stream, { existing, shown }: RowPair, times: WatermarkTimes): boolean {
  const { watermark, now } = times;
  const hasTimes = ['synced_at', 'start_time', 'bucket_at'].some((name) => name in stream.fields);
  if (!hasTimes) return isRefreshed(times);
  if (!stream.hourly) return false;
  const bucketAt = latestBucket(shown?.row ?? {}, [...(shown?.parts ?? []), ...(existing?.parts ?? [])]);
  const isOpen = shown !== undefined && bucketAt !== null && endOf(bucketAt) > watermark;
  return isOpen || (now !== null && now > watermark && !sameHour(watermark, now));
}

/**
 * Whether the service has refreshed the environment since the last sync. T has whole seconds, so a refresh in the same
 * second counts as later, unless the run saw it when it began.
 */
function isRefreshed({ watermark, refreshedAt, metRefreshAt }: WatermarkTimes): boolean {
  if (refreshedAt === null || refreshedAt <= watermark) return false;
  return secondsBetween(watermark, refreshedAt) >= 1 || refreshedAt !== metRefreshAt;
}

/** Whether a score has become too old for the service to return since the last sync. */
function hasExpired({ retention }: Stream, { existing, shown }: RowPair, { watermark, now }: WatermarkTimes): boolean {
  const bucketAt = existing === undefined || shown !== undefined ? null : latestBucket(existing.row, existing.parts);
  if (retention === undefined || bucketAt === null || now === null) return false;
  const shownUntil = addDays(bucketAt, retention.days);
  return endOf(shownUntil) >= watermark && shownUntil < now;
}

/** A bucket is an hour wide. */
function endOf(bucketAt: Instant): Instant {
  return addSeconds(bucketAt, 3600);
}

/** When the source last changed a row, by the row's own fields; for an execution, when it ended. */
function changedAt(row: Row): Instant | null {
  const { synced_at: syncedAt, start_time: startTime, duration_seconds: seconds } = row;
  if (typeof syncedAt === 'string') return syncedAt;
  return typeof startTime === 'string' ? addSeconds(startTime, Math.ceil(Number(seconds ?? 0))) : null;
}

/** The latest bucket of a score and its dimensions; null if there is none. */
function latestBucket(row: Row, parts: ExistingRow['parts']): Instant | null {
  const buckets = [row, ...parts.flat()].flatMap(({ bucket_at: at }) => (typeof at === 'string' ? [at] : []));
  return buckets.reduce<Instant | null>((latest, at) => (latest === null || at > latest ? at : latest), null);
}

/** What a page of a feed will change in the mirror, and the marks that this makes (R13, R18, R22). */
export interface UpcomingChanges {
  readonly changed: readonly string[];
  readonly deleted: readonly string[];
  readonly marks: readonly FollowUpMark[];
}

export function changesAhead(
  stream: Stream,
  rows: readonly DecodedRow[],
  existing: ReadonlyMap<string, ExistingRow>,
): UpcomingChanges {
  const changes = rows.flatMap((shown) => {
    const row = existing.get(joinKey(shown.key))?.row;
    const change = hasSameTime(row, shown) ? null : newestWins(stream, row, shown, null);
    return change === null ? [] : [asDeletion(change, row)];
  });
  const ids = (all: typeof changes): string[] => all.map(({ row }) => String(row[stream.key[0]]));
  return {
    // A deleted row stays deleted even if its fields change.
    changed: ids(changes.filter(({ kind }) => kind !== 'tombstoned')),
    deleted: ids(changes.filter(({ kind }) => kind === 'deleted')),
    marks: changes.flatMap((change) => changeMarks(stream, change, null)),
  };
}

/** Whether the feed returned an unchanged row only because of the overlap: it has the same time as in the mirror. */
function hasSameTime(row: Row | undefined, { row: shown, deletedAt }: DecodedRow): boolean {
  return row !== undefined && isLive(row) && deletedAt === null && row['synced_at'] === shown['synced_at'];
}

/** Whether a stream was never synced to the end, so there is nothing to compare. */
export function isUnsynced(stream: Stream, checkpoint: Checkpoint): boolean {
  const { scanEndedCycle, watermark, finishedCycle, unavailable } = checkpoint;
  if (isScanned(stream)) return scanEndedCycle === null;
  return watermark === null && (finishedCycle === null || unavailable);
}
