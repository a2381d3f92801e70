import { DEFAULT_WINDOW_DAYS, LOOKBACK_DAYS, SCORE_DAYS } from '../core/read-api.ts';
import { addDays, type Instant } from '../core/time/instant.ts';
import { memoizeLast } from './memoize-last.ts';

/** A bound reaches back at most 90 days. An older bound is moved up, not refused. */
export function clampToLookback(bound: Instant, now: Instant): Instant {
  const oldest = addDays(now, -LOOKBACK_DAYS);
  return bound < oldest ? oldest : bound;
}

/** The default start of the window of executions. Their times are of the source's clock, and so is `serverTime`. */
export const monthBefore = (serverTime: Instant): Instant => addDays(serverTime, -DEFAULT_WINDOW_DAYS);

/** Older scores are not shown. Their times are of the source's clock, and so is `serverTime`. */
export const weekBefore = memoizeLast((serverTime: Instant): Instant => addDays(serverTime, -SCORE_DAYS));
