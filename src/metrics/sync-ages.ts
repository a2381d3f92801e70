import type { Row } from '../core/stream.ts';
import { CATALOGUE } from '../streams/catalogue.ts';
import type { SyncTimes } from './measurements.ts';

export type SyncAges = ReturnType<typeof syncAges>;
type StreamAge = ReturnType<typeof streamAges>[number];

/** Ages in seconds of what the runs have mirrored; null for what never was. */
export function syncAges({ lastSync, checkpoints }: SyncTimes, nowMs: number) {
  const ages = [...Map.groupBy(checkpoints, ({ environment }) => String(environment))].map(([environment, rows]) => {
    return { environment, streams: streamAges(environment, rows, nowMs) };
  });
  const streams = ages.flatMap((each) => each.streams);
  const hasReads = streams.some(({ isRead }) => isRead);
  return {
    /** Since the last sync that ended without problems. */
    mirror: secondsSince(lastSync[0]?.['ended_at'], nowMs),
    /** Since the time up to which the stalest stream that any run has read is mirrored. */
    oldest: oldestOf(streams.filter(({ isRead }) => isRead)),
    /** The same for the stalest stream of each environment, read or not. */
    environments: ages.map(({ environment, streams }) => ({ environment, seconds: oldestOf(streams) })),
    // Runs may leave out streams and environments: what none has begun to read is no alarm, unless that is everything.
    streams: streams.filter(({ isRead }) => isRead || !hasReads),
  };
}

/** The answer of `/healthz`. Without a maximal age, a mirror of any age is up. */
export function mirrorHealth(times: SyncTimes, nowMs: number, maxSeconds: number | null) {
  const { mirror: last_sync_age_seconds, oldest: oldest_age_seconds } = syncAges(times, nowMs);
  if (maxSeconds === null) return { status: 'up', last_sync_age_seconds } as const;
  const isYoung = oldest_age_seconds !== null && oldest_age_seconds <= maxSeconds;
  return { status: isYoung ? 'up' : 'stale', last_sync_age_seconds, oldest_age_seconds } as const;
}

/** A stream that the source does not have yet has no age, and neither has an optional one that was never read. */
function streamAges(environment: string, checkpoints: readonly Row[], nowMs: number) {
  const known = new Map(checkpoints.map((row) => [row['stream'], row]));
  return CATALOGUE.flatMap(({ name, optional: isOptional = false }) => {
    const checkpoint = known.get(name);
    const seconds = secondsSince(checkpoint?.['watermark'], nowMs);
    if (seconds === null && (isOptional || checkpoint?.['unavailable'] === 1)) return [];
    // A run has begun to read it if there is a checkpoint. Optional streams are read by some runs only.
    return { environment, stream: name, seconds, isRead: checkpoint !== undefined, isOptional };
  });
}

/** Of the streams that every run reads; null if one of them has no age, or if there is none. */
function oldestOf(streams: readonly StreamAge[]): number | null {
  const ages = streams.flatMap(({ isOptional, seconds }) => (isOptional ? [] : (seconds ?? Number.POSITIVE_INFINITY)));
  const oldest = ages.reduce((older, age) => Math.max(older, age), Number.NEGATIVE_INFINITY);
  return Number.isFinite(oldest) ? oldest : null;
}

function secondsSince(at: unknown, nowMs: number): number | null {
  return typeof at === 'string' ? Math.max(0, Math.round((nowMs - Date.parse(at)) / 1000)) : null;
}
