import { type Instant, secondsBetween } from '../time/instant.ts';

/** What is known of an account's quota, in whole requests and seconds. */
export interface AccountQuota {
  /** The requests of one window; null if no answer stated them. */
  readonly limit: number | null;
  /** The requests that are left in the current window. */
  readonly remaining: number;
  /** The seconds until that window ends. */
  readonly resetSeconds: number;
  /** The length of a window, as far as it is known: the longest time to the end of a window that an answer stated. */
  readonly windowSeconds: number;
}

/**
 * How many seconds so many requests have to wait for quota (R23), without the time that the service takes to answer.
 * Null if the remaining requests are too few and the limit of the next window is unknown.
 */
export function secondsOfWaiting(requests: number, quota: AccountQuota | null): number | null {
  if (quota === null) return null;
  const beyond = requests - quota.remaining;
  if (beyond <= 0) return 0;
  if (quota.limit === null || quota.limit === 0) return null;
  return quota.resetSeconds + (Math.ceil(beyond / quota.limit) - 1) * quota.windowSeconds;
}

/**
 * What is known of the quota after an answer has stated it. The longest window counts, unless the limit has changed.
 */
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
  /** When it was noted, by the machine's clock. */
  readonly notedAt: Instant;
}

/** What is left of the current window. */
export type WindowLeft = Pick<AccountQuota, 'remaining' | 'resetSeconds'>;

/**
 * What is left of the window that was noted last (R23); null after that window has ended. `now` is by the machine's
 * clock. Notes from the future, as after the clock was set back, are ignored. A wrong clock costs a wait of one window
 * at most.
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
