import type { Checkpoint } from './checkpoint.ts';
import { type Decoded, joinKey } from './decode.ts';
import { type HeldRow, isLive } from './difference.ts';
import { addDays, addSeconds, type Instant, sameHour, secondsBetween } from './instant.ts';
import { changeMarks, type Mark } from './marks.ts';
import { newestWins } from './newest-wins.ts';
import type { Row, Stream } from './stream.ts';

/** Both sides of a row in which source and mirror differ; undefined on the side that lacks it. */
export interface Sides {
  readonly held: HeldRow | undefined;
  readonly shown: Decoded | undefined;
}

/** When the mirror was brought up to date, and what has gone by since. */
export interface Times {
  /** Of the stream, or of the one that leads it. */
  readonly watermark: Instant | null;
  readonly now: Instant | null;
  /** When the service itself last refreshed the environment, as far as it says. */
  readonly refreshedAt: Instant | null;
  /** The same, as the last run met it before it read anything else. */
  readonly metRefreshAt: Instant | null;
}

type Since = Times & { readonly watermark: Instant };

/**
 * Why the next sync brings a row that differs: the source has `changed` it since the last one, or it is read whole, and nothing
 * tells whether the source changed or the mirror was wrong (`untold`).
 */
export type Cause = 'changed' | 'untold';

/** What the times of a row, and of its snapshot, say; null when it is no matter of time. */
export function causeOf(stream: Stream, sides: Sides, times: Times): Cause | null {
  const { watermark } = times;
  if (watermark === null) return null;
  if (isChanged(sides, watermark) || hasLeft(stream, sides, { ...times, watermark })) return 'changed';
  return stream.method === 'snapshot' && isUntold(stream, sides, { ...times, watermark }) ? 'untold' : null;
}

/** A row that has the same time on both sides was not changed by the source. */
function isChanged({ held, shown }: Sides, watermark: Instant): boolean {
  if (shown === undefined) return false;
  const bucketAt = latestBucket(shown.row, shown.parts);
  if (bucketAt !== null)
    return bucketAt > (latestBucket(held?.row ?? {}, held?.parts ?? []) ?? '') && endOf(bucketAt) > watermark;
  const at = changedAt(shown.row);
  return at !== null && at >= watermark && at > heldSince(held);
}

/** A deletion that the mirror knows of has to be older than the row: else the next feed brings nothing back (R10). */
function heldSince(held: HeldRow | undefined): Instant | '' {
  if (held === undefined || held.torn) return '';
  if (isLive(held.row)) return changedAt(held.row) ?? '';
  return held.row['deletion'] === 'tombstone' ? String(held.row['deleted_at']) : '';
}

/**
 * Edges between assets have no times; scores are read once an hour (R22), may be revised while their hour lasts, and go without
 * a word when the tests of their asset do.
 */
function isUntold(stream: Stream, { held, shown }: Sides, since: Since): boolean {
  const { watermark, now } = since;
  const hasTimes = ['synced_at', 'start_time', 'bucket_at'].some((name) => name in stream.fields);
  if (!hasTimes) return isRefreshed(since);
  if (!stream.hourly) return false;
  const bucketAt = latestBucket(shown?.row ?? {}, [...(shown?.parts ?? []), ...(held?.parts ?? [])]);
  const isOpen = shown !== undefined && bucketAt !== null && endOf(bucketAt) > watermark;
  return isOpen || (now !== null && now > watermark && !sameHour(watermark, now));
}

/** T has whole seconds: of a refresh in that very second, only what the run met as it began tells that it came before. */
function isRefreshed({ watermark, refreshedAt, metRefreshAt }: Since): boolean {
  if (refreshedAt === null || refreshedAt <= watermark) return false;
  return secondsBetween(watermark, refreshedAt) >= 1 || refreshedAt !== metRefreshAt;
}

/** Whether a score fell out of the service's window between the last sync and now. */
function hasLeft({ recent }: Stream, { held, shown }: Sides, { watermark, now }: Since): boolean {
  const bucketAt = held === undefined || shown !== undefined ? null : latestBucket(held.row, held.parts);
  if (recent === undefined || bucketAt === null || now === null) return false;
  const shownUntil = addDays(bucketAt, recent.days);
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
function latestBucket(row: Row, parts: HeldRow['parts']): Instant | null {
  const buckets = [row, ...parts.flat()].flatMap(({ bucket_at: at }) => (typeof at === 'string' ? [at] : []));
  return buckets.reduce<Instant | null>((latest, at) => (latest === null || at > latest ? at : latest), null);
}

/** What a page of a feed is going to do to the mirror, and the marks that this leaves (R13, R18, R22). */
export interface Ahead {
  readonly changed: readonly string[];
  readonly deleted: readonly string[];
  readonly marks: readonly Mark[];
}

export function changesAhead(stream: Stream, rows: readonly Decoded[], held: ReadonlyMap<string, HeldRow>): Ahead {
  const changes = rows.flatMap((shown) => {
    const row = held.get(joinKey(shown.key))?.row;
    const change = isOfOneTime(row, shown) ? null : newestWins(stream, row, shown, null);
    if (change === null) return [];
    // A tombstone of what the mirror never held: what it owns may be held.
    return [row === undefined && change.was === 'buried' ? { ...change, was: 'deleted' as const } : change];
  });
  const ids = (all: typeof changes): string[] => all.map(({ row }) => String(row[stream.key[0] as string]));
  return {
    // What is buried stays deleted, whatever its fields.
    changed: ids(changes.filter(({ was }) => was !== 'buried')),
    deleted: ids(changes.filter(({ was }) => was === 'deleted')),
    marks: changes.flatMap((change) => changeMarks(stream, change, null)),
  };
}

/** The overlap of a feed shows rows again; where they differ, the source is not the cause. */
function isOfOneTime(row: Row | undefined, { row: shown, deletedAt }: Decoded): boolean {
  return row !== undefined && isLive(row) && deletedAt === null && row['synced_at'] === shown['synced_at'];
}

/** Whether a stream was never synced to its end: there is nothing to compare. */
export function isUnsynced({ method }: Stream, checkpoint: Checkpoint): boolean {
  const { scanEndedPass, watermark, finishedPass, unavailable } = checkpoint;
  if (method === 'feed' || method === 'marked') return scanEndedPass === null;
  return watermark === null && (finishedPass === null || unavailable);
}
