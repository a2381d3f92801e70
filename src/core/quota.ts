/** What an account's quota is known to be: whole requests and seconds. */
export interface Quota {
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
export function secondsOfWaiting(requests: number, quota: Quota | null): number | null {
  if (quota === null) return null;
  const beyond = requests - quota.remaining;
  if (beyond <= 0) return 0;
  if (quota.limit === null || quota.limit === 0) return null;
  return quota.resetSeconds + (Math.ceil(beyond / quota.limit) - 1) * quota.windowSeconds;
}

/** What is known of the windows' length and limit, once an answer has told more: a window is as long as the longest wait. */
export function learned(known: Pick<Quota, 'limit' | 'windowSeconds'> | null, told: Quota): Quota {
  const limit = told.limit ?? known?.limit ?? null;
  const same = known !== null && known.limit === limit;
  return { ...told, limit, windowSeconds: Math.max(told.windowSeconds, same ? known.windowSeconds : 0) };
}
