import { DEFAULT_WINDOW_DAYS, LOOKBACK_DAYS, SCORE_DAYS } from '../core/read-api.ts';
import { addDays, type Instant } from '../core/time/instant.ts';
import { memoizeLast } from './memoize-last.ts';

/** Limits a bound to 90 days back. An older bound is moved, not rejected. */
export function clampToLookback(bound: Instant, now: Instant): Instant {
  const oldest = addDays(now, -LOOKBACK_DAYS);
  return bound < oldest ? oldest : bound;
}

/** The default start of the window of executions. Both times are by the source's clock. */
export const monthBefore = (serverTime: Instant): Instant => addDays(serverTime, -DEFAULT_WINDOW_DAYS);

/** Scores before this time are not shown. Both times are by the source's clock. */
export const weekBefore = memoizeLast((serverTime: Instant): Instant => addDays(serverTime, -SCORE_DAYS));
