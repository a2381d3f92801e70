import { type Instant, secondsBetween } from '../time/instant.ts';

/** An account's quota, in whole requests and seconds. */
export interface AccountQuota {
  /** The requests of one window; null if no response stated them. */
  readonly limit: number | null;
  /** The requests left in the current window. */
  readonly remaining: number;
  /** The seconds until that window ends. */
  readonly resetSeconds: number;
  /** The length of a window as far as known: the longest time to the end of a window that a response stated. */
  readonly windowSeconds: number;
}

/**
 * The seconds that these requests wait for quota (R23), without response times; null if too few are left and the limit
 * of the next window is unknown.
 */
export function secondsOfWaiting(requests: number, quota: AccountQuota | null): number | null {
  if (quota === null) return null;
  const beyond = requests - quota.remaining;
  if (beyond <= 0) return 0;
  if (quota.limit === null || quota.limit === 0) return null;
  return quota.resetSeconds + (Math.ceil(beyond / quota.limit) - 1) * quota.windowSeconds;
}

/** Merges a stated quota into the known one. The longest window counts, unless the limit has changed. */
export function mergeQuota(
  known: Pick<AccountQuota, 'limit' | 'windowSeconds'> | null,
  stated: AccountQuota,
): AccountQuota {
  const limit = stated.limit ?? known?.limit ?? null;
  const same = known !== null && known.limit === limit;
  return { ...stated, limit, windowSeconds: Math.max(stated.windowSeconds, same ? known.windowSeconds : 0) };
}

/** What a run leaves of the quota for the next run. */
export interface KeptQuota extends Pick<AccountQuota, 'remaining' | 'resetSeconds'> {
  /** When it was recorded, by the machine's clock. */
  readonly notedAt: Instant;
}

/** What is left of the current window. */
export type WindowLeft = Pick<AccountQuota, 'remaining' | 'resetSeconds'>;

/**
 * What is left of the most recently recorded window (R23); null if that window has ended. `now` is by the machine's
 * clock. Records from the future, as after the clock was set back, are ignored. A wrong clock costs a wait of one
 * window at most.
 */
export function remainingWindow(kept: readonly (KeptQuota | null)[], now: Instant): WindowLeft | null {
  const last = kept
    .filter((each) => each !== null)
    .filter(({ notedAt }) => notedAt <= now)
    .reduce<KeptQuota | null>((a, b) => (a !== null && a.notedAt > b.notedAt ? a : b), null);
  if (last === null) return null;
  const resetSeconds = last.resetSeconds - secondsBetween(last.notedAt, now);
  return resetSeconds > 0 ? { remaining: last.remaining, resetSeconds } : null;
}
