import { addDays, type Instant } from '../core/instant.ts';
import { DEFAULT_WINDOW_DAYS, LOOKBACK_DAYS, SCORE_DAYS } from '../core/read-api.ts';
import { rememberingLast } from './remember.ts';

/** A bound reaches back 90 days at most; an older one is cut, not refused. */
export function clamped(bound: Instant, now: Instant): Instant {
  const oldest = addDays(now, -LOOKBACK_DAYS);
  return bound < oldest ? oldest : bound;
}

/** Where the window of executions begins when nothing is said; `serverTime` is the source's, by which runs have their times. */
export const monthBefore = (serverTime: Instant): Instant => addDays(serverTime, -DEFAULT_WINDOW_DAYS);

/** Scores older than this are not shown; `serverTime` is the source's, by which scores have their times. */
export const weekBefore = rememberingLast((serverTime: Instant): Instant => addDays(serverTime, -SCORE_DAYS));
