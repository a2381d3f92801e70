import { type Instant, secondsBetween } from './instant.ts';

/** What an account's quota is known to be: whole requests and seconds. */
export interface AccountQuota {
  /** Requests of one window; null where no answer told. */
  readonly limit: number | null;
  /** Requests left in the window under way. */
  readonly remaining: number;
  /** Until that window ends. */
  readonly resetSeconds: number;
  /** The length of a window, as far as it was seen: the longest wait for an end that an answer named. */
  readonly windowSeconds: number;
}

/**
 * How long so many requests have to wait for quota (R23), in seconds; null when what remains is too few and nobody knows
 * how many come with the next window. The time that the service itself takes comes on top.
 */
export function secondsOfWaiting(requests: number, quota: AccountQuota | null): number | null {
  if (quota === null) return null;
  const beyond = requests - quota.remaining;
  if (beyond <= 0) return 0;
  if (quota.limit === null || quota.limit === 0) return null;
  return quota.resetSeconds + (Math.ceil(beyond / quota.limit) - 1) * quota.windowSeconds;
}

/** What is known of the windows' length and limit, once an answer has told more: a window is as long as the longest wait. */
export function learned(known: Pick<AccountQuota, 'limit' | 'windowSeconds'> | null, told: AccountQuota): AccountQuota {
  const limit = told.limit ?? known?.limit ?? null;
  const same = known !== null && known.limit === limit;
  return { ...told, limit, windowSeconds: Math.max(told.windowSeconds, same ? known.windowSeconds : 0) };
}

/** What a run leaves of the quota, for the next one. */
export interface KeptQuota extends Pick<AccountQuota, 'remaining' | 'resetSeconds'> {
  /** By the machine's clock. */
  readonly notedAt: Instant;
}

/** What is left of a window that is under way. */
export type WindowLeft = Pick<AccountQuota, 'remaining' | 'resetSeconds'>;

/**
 * What of the kept quotas still holds at a time of the machine's clock: the one noted last (R23); null once its window has
 * ended. A clock that was set back tells nothing; one that was set otherwise costs a wait of one window at most.
 */
export function stillLeft(kept: readonly (KeptQuota | null)[], now: Instant): WindowLeft | null {
  const last = kept
    .filter((each) => each !== null)
    .filter(({ notedAt }) => notedAt <= now)
    .reduce<KeptQuota | null>((a, b) => (a !== null && a.notedAt > b.notedAt ? a : b), null);
  if (last === null) return null;
  const resetSeconds = last.resetSeconds - secondsBetween(last.notedAt, now);
  return resetSeconds > 0 ? { remaining: last.remaining, resetSeconds } : null;
}
