import { addDays, type Instant } from '../core/instant.ts';
import { rememberingLast } from './remember.ts';

const LOOKBACK_DAYS = 90;
const DEFAULT_WINDOW_DAYS = 30;
const SCORE_DAYS = 7;

/** A bound reaches back 90 days at most; an older one is cut, not refused. */
export function clamped(bound: Instant, now: Instant): Instant {
  const oldest = addDays(now, -LOOKBACK_DAYS);
  return bound < oldest ? oldest : bound;
}

/** Where the window of executions begins when nothing is said; `serverTime` is the source's, by which runs have their times. */
export const monthBefore = (serverTime: Instant): Instant => addDays(serverTime, -DEFAULT_WINDOW_DAYS);

/** Scores older than this are not shown; `serverTime` is the source's, by which scores have their times. */
export const weekBefore = rememberingLast((serverTime: Instant): Instant => addDays(serverTime, -SCORE_DAYS));
