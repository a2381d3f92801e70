import type { SyncTimes } from './measurements.ts';
import { syncAges } from './sync-ages.ts';

/** The answer of `/healthz`. */
interface MirrorHealth {
  readonly status: 'up' | 'stale';
  readonly last_sync_age_seconds: number | null;
  /** As in `SyncAges`; only if an age is asked for. */
  readonly oldest_age_seconds?: number | null;
}

/** Without a maximal age, a mirror of any age is up. */
export function mirrorHealth(times: SyncTimes, nowMs: number, maxSeconds: number | null): MirrorHealth {
  const { mirror: last_sync_age_seconds, oldest: oldest_age_seconds } = syncAges(times, nowMs);
  if (maxSeconds === null) return { status: 'up', last_sync_age_seconds };
  const isYoung = oldest_age_seconds !== null && oldest_age_seconds <= maxSeconds;
  return { status: isYoung ? 'up' : 'stale', last_sync_age_seconds, oldest_age_seconds };
}
