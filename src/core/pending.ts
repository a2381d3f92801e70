import { boundOf } from './begin.ts';
import type { Checkpoint } from './checkpoint.ts';
import { type Context, isOutOfLookback } from './context.ts';
import type { Decoded } from './decode.ts';
import type { Difference, HeldRow } from './difference.ts';
import { addDays, addSeconds, type Instant } from './instant.ts';
import { newestWins } from './newest-wins.ts';
import type { Row, Stream } from './stream.ts';

/** All that is known of one row in which source and mirror differ. */
export interface Evidence {
  readonly difference: Difference;
  readonly held: HeldRow | undefined;
  /** Undefined when the source does not show the row. */
  readonly shown: Decoded | undefined;
  /** When the source's tombstone says that it went; null when there is none. */
  readonly tombstoneAt: Instant | null;
}

/** How far the mirror says it has come with the stream, or with the one that leads it. */
export interface Progress {
  readonly checkpoint: Checkpoint;
  readonly context: Context;
}

/**
 * Whether the source has changed the row since the mirror was brought up to date: then the next sync brings it, and it is
 * no difference. The row's own times tell, against the watermark: what was there before it, the last round has shown (R2).
 */
export function isPending(stream: Stream, evidence: Evidence, { checkpoint, context }: Progress): boolean {
  const { watermark } = checkpoint;
  if (watermark === null) return false;
  return PENDING[evidence.difference.what](stream, evidence, { watermark, now: context.now });
}

/**
 * Whether the next sync mends a difference all the same: a snapshot is read whole, and a feed reaches back beyond the watermark
 * (R2), where the row's own times let it (R10). It came late to the source, or got lost in the mirror: nobody can tell.
 */
export function isMendedBySync(stream: Stream, { held, shown }: Evidence, { checkpoint, context }: Progress): boolean {
  if (stream.method === 'snapshot') return !stream.hourly;
  if (stream.method !== 'feed') return false;
  const since = boundOf(checkpoint, context);
  // It is scanned (R1, R3, R12, R13).
  if (since === null || checkpoint.scanDue !== null || isOutOfLookback(since, context.now)) return true;
  if (shown === undefined) return false;
  return (changedAt(shown.row) ?? '') >= since && newestWins(stream, held?.row, shown, null) !== null;
}

/** Whether a stream was never synced to its end: there is nothing to compare. */
export function isUnsynced({ method }: Stream, checkpoint: Checkpoint): boolean {
  const { scanEndedPass, watermark, finishedPass, unavailable } = checkpoint;
  if (method === 'feed' || method === 'marked') return scanEndedPass === null;
  return watermark === null && (finishedPass === null || unavailable);
}

interface Times {
  readonly watermark: Instant;
  readonly now: Instant | null;
}

type Judge = (stream: Stream, evidence: Evidence, times: Times) => boolean;

const PENDING: Readonly<Record<Difference['what'], Judge>> = {
  missing: isNew,
  extra: isGone,
  unequal: isChanged,
};

/** A deletion that the mirror knows of has to be older: else the next feed brings nothing back (R10). */
function isNew(_stream: Stream, { held, shown }: Evidence, { watermark }: Times): boolean {
  const at = shown === undefined ? null : changedAt(shown.row);
  const buriedAt = held?.row['deletion'] === 'tombstone' ? String(held.row['deleted_at']) : '';
  return at !== null && at >= watermark && at > buriedAt;
}

/** A row that has the same time on both sides was not changed by the source. */
function isChanged(_stream: Stream, { held, shown }: Evidence, { watermark }: Times): boolean {
  if (held === undefined || shown === undefined) return false;
  const bucketAt = latestBucket(shown.row, shown.parts);
  if (bucketAt !== null)
    return bucketAt > (latestBucket(held.row, held.parts) ?? '') && addSeconds(bucketAt, HOUR_SECONDS) > watermark;
  const at = changedAt(shown.row);
  return at !== null && at >= watermark && at > (changedAt(held.row) ?? '');
}

function isGone(stream: Stream, { held, tombstoneAt }: Evidence, { watermark, now }: Times): boolean {
  if (held === undefined) return false;
  if (tombstoneAt !== null) return tombstoneAt >= watermark && tombstoneAt >= String(held.row['synced_at'] ?? '');
  const bucketAt = stream.hourly ? latestBucket(held.row, held.parts) : null;
  return bucketAt !== null && now !== null && hasLeftWindow(bucketAt, watermark, now);
}

const HOUR_SECONDS = 3600;

/** The service shows no score for an asset whose results are older, in days. */
const SCORE_DAYS = 7;

/** Whether a score fell out of the service's window between the last sync and now; a bucket is an hour wide. */
function hasLeftWindow(bucketAt: Instant, watermark: Instant, now: Instant): boolean {
  const shownUntil = addDays(bucketAt, SCORE_DAYS);
  return addSeconds(shownUntil, HOUR_SECONDS) >= watermark && shownUntil < now;
}

/** When the source last changed a row, as far as its fields tell: an execution is told of once it has ended. */
function changedAt(row: Row): Instant | null {
  const { synced_at: syncedAt, start_time: startTime, duration_seconds: seconds, bucket_at: bucketAt } = row;
  if (typeof syncedAt === 'string') return syncedAt;
  if (typeof startTime === 'string') return addSeconds(startTime, Math.ceil(Number(seconds ?? 0)));
  return typeof bucketAt === 'string' ? bucketAt : null;
}

/** The latest bucket of a score and its dimensions; null for what has none. */
function latestBucket(row: Row, parts: HeldRow['parts']): Instant | null {
  const buckets = [row, ...parts.flat()].flatMap(({ bucket_at: at }) => (typeof at === 'string' ? [at] : []));
  return buckets.reduce<Instant | null>((latest, at) => (latest === null || at > latest ? at : latest), null);
}
