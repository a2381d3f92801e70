import type { Checkpoint } from './checkpoint.ts';
import { type DecodedRow, joinKey } from './decode.ts';
import { type ExistingRow, isLive } from './difference.ts';
import { addDays, addSeconds, type Instant, sameHour, secondsBetween } from './instant.ts';
import { changeMarks, type FollowUpMark } from './marks.ts';
import { newestWins } from './newest-wins.ts';
import type { Row, Stream } from './stream.ts';

/** Both sides of a row in which source and mirror differ; undefined on the side that lacks it. */
export interface RowPair {
  readonly existing: ExistingRow | undefined;
  readonly shown: DecodedRow | undefined;
}

/** When the mirror was brought up to date, and what has gone by since. */
export interface RefreshTimes {
  /** Of the stream, or of the one that leads it. */
  readonly watermark: Instant | null;
  readonly now: Instant | null;
  /** When the service itself last refreshed the environment, as far as it says. */
  readonly refreshedAt: Instant | null;
  /** The same, as the last run met it before it read anything else. */
  readonly metRefreshAt: Instant | null;
}

type WatermarkTimes = RefreshTimes & { readonly watermark: Instant };

/**
 * Why the next sync brings a row that differs: the source has `changed` it since the last one, or it is read whole, and nothing
 * tells whether the source changed or the mirror was wrong (`ambiguous`).
 */
export type PendingCause = 'changed' | 'ambiguous';

/** What the times of a row, and of its snapshot, say; null when it is no matter of time. */
export function causeOf(stream: Stream, rowPair: RowPair, refreshTimes: RefreshTimes): PendingCause | null {
  const { watermark } = refreshTimes;
  if (watermark === null) return null;
  if (isChanged(rowPair, watermark) || hasLeft(stream, rowPair, { ...refreshTimes, watermark })) return 'changed';
  return stream.method === 'snapshot' && isAmbiguous(stream, rowPair, { ...refreshTimes, watermark })
    ? 'ambiguous'
    : null;
}

/** A row that has the same time on both sides was not changed by the source. */
function isChanged({ existing, shown }: RowPair, watermark: Instant): boolean {
  if (shown === undefined) return false;
  const bucketAt = latestBucket(shown.row, shown.parts);
  if (bucketAt !== null)
    return bucketAt > (latestBucket(existing?.row ?? {}, existing?.parts ?? []) ?? '') && endOf(bucketAt) > watermark;
  const at = changedAt(shown.row);
  return at !== null && at >= watermark && at > heldSince(existing);
}

/** A deletion that the mirror knows of has to be older than the row: else the next feed brings nothing back (R10). */
function heldSince(held: ExistingRow | undefined): Instant | '' {
  if (held === undefined || held.partial) return '';
  if (isLive(held.row)) return changedAt(held.row) ?? '';
  return held.row['deletion'] === 'tombstone' ? String(held.row['deleted_at']) : '';
}

/**
 * Edges between assets have no times; scores are read once an hour (R22), may be revised while their hour lasts, and go without
 * a word when the tests of their asset do.
 */
function isAmbiguous(stream: Stream, { existing, shown }: RowPair, watermarkTimes: WatermarkTimes): boolean {
  const { watermark, now } = watermarkTimes;
  const hasTimes = ['synced_at', 'start_time', 'bucket_at'].some((name) => name in stream.fields);
  if (!hasTimes) return isRefreshed(watermarkTimes);
  if (!stream.hourly) return false;
  const bucketAt = latestBucket(shown?.row ?? {}, [...(shown?.parts ?? []), ...(existing?.parts ?? [])]);
  const isOpen = shown !== undefined && bucketAt !== null && endOf(bucketAt) > watermark;
  return isOpen || (now !== null && now > watermark && !sameHour(watermark, now));
}

/** T has whole seconds: of a refresh in that very second, only what the run met as it began tells that it came before. */
function isRefreshed({ watermark, refreshedAt, metRefreshAt }: WatermarkTimes): boolean {
  if (refreshedAt === null || refreshedAt <= watermark) return false;
  return secondsBetween(watermark, refreshedAt) >= 1 || refreshedAt !== metRefreshAt;
}

/** Whether a score fell out of the service's window between the last sync and now. */
function hasLeft({ retention }: Stream, { existing, shown }: RowPair, { watermark, now }: WatermarkTimes): boolean {
  const bucketAt = existing === undefined || shown !== undefined ? null : latestBucket(existing.row, existing.parts);
  if (retention === undefined || bucketAt === null || now === null) return false;
  const shownUntil = addDays(bucketAt, retention.days);
  return endOf(shownUntil) >= watermark && shownUntil < now;
}

/** A bucket is an hour wide. */
function endOf(bucketAt: Instant): Instant {
  return addSeconds(bucketAt, 3600);
}

/** When the source last changed a row, as far as its fields tell: an execution is told of once it has ended. */
function changedAt(row: Row): Instant | null {
  const { synced_at: syncedAt, start_time: startTime, duration_seconds: seconds } = row;
  if (typeof syncedAt === 'string') return syncedAt;
  return typeof startTime === 'string' ? addSeconds(startTime, Math.ceil(Number(seconds ?? 0))) : null;
}

/** The latest bucket of a score and its dimensions; null for what has none. */
function latestBucket(row: Row, parts: ExistingRow['parts']): Instant | null {
  const buckets = [row, ...parts.flat()].flatMap(({ bucket_at: at }) => (typeof at === 'string' ? [at] : []));
  return buckets.reduce<Instant | null>((latest, at) => (latest === null || at > latest ? at : latest), null);
}

/** What a page of a feed is going to do to the mirror, and the marks that this leaves (R13, R18, R22). */
export interface UpcomingChanges {
  readonly changed: readonly string[];
  readonly deleted: readonly string[];
  readonly marks: readonly FollowUpMark[];
}

export function changesAhead(
  stream: Stream,
  rows: readonly DecodedRow[],
  held: ReadonlyMap<string, ExistingRow>,
): UpcomingChanges {
  const changes = rows.flatMap((shown) => {
    const row = held.get(joinKey(shown.key))?.row;
    const change = isOfOneTime(row, shown) ? null : newestWins(stream, row, shown, null);
    if (change === null) return [];
    // A tombstone of what the mirror never held: what it owns may be held.
    return [row === undefined && change.kind === 'tombstoned' ? { ...change, kind: 'deleted' as const } : change];
  });
  const ids = (all: typeof changes): string[] => all.map(({ row }) => String(row[stream.key[0]]));
  return {
    // What is buried stays deleted, whatever its fields.
    changed: ids(changes.filter(({ kind }) => kind !== 'tombstoned')),
    deleted: ids(changes.filter(({ kind }) => kind === 'deleted')),
    marks: changes.flatMap((change) => changeMarks(stream, change, null)),
  };
}

/** The overlap of a feed shows rows again; where they differ, the source is not the cause. */
function isOfOneTime(row: Row | undefined, { row: shown, deletedAt }: DecodedRow): boolean {
  return row !== undefined && isLive(row) && deletedAt === null && row['synced_at'] === shown['synced_at'];
}

/** Whether a stream was never synced to its end: there is nothing to compare. */
export function isUnsynced({ method }: Stream, checkpoint: Checkpoint): boolean {
  const { scanEndedCycle, watermark, finishedCycle, unavailable } = checkpoint;
  if (method === 'feed' || method === 'marked') return scanEndedCycle === null;
  return watermark === null && (finishedCycle === null || unavailable);
}
