import { addDays, type Instant } from '../core/instant.ts';

const LOOKBACK_DAYS = 90;
const DEFAULT_WINDOW_DAYS = 30;
const SCORE_DAYS = 7;

/** A bound reaches back 90 days at most; an older one is cut, not refused. */
export function clamped(bound: Instant, now: Instant): Instant {
  const oldest = addDays(now, -LOOKBACK_DAYS);
  return bound < oldest ? oldest : bound;
}

/** Where the window of executions begins when nothing is said. */
export const monthBefore = (now: Instant): Instant => addDays(now, -DEFAULT_WINDOW_DAYS);

/** Scores older than this are not shown. */
export const weekBefore = (now: Instant): Instant => addDays(now, -SCORE_DAYS);
