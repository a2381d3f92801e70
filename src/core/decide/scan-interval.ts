import type { Checkpoint, RoundCheckpoint } from '../checkpoint.ts';
import { CLOCK_TOLERANCE_SECONDS, type Context, type DecisionOptions, isFuture } from '../context.ts';
import type { DueTestsQuery, RoundFacts } from '../ports/destination.ts';
import { DAY_SECONDS } from '../time/duration.ts';
import { addSeconds, earlierOf, type Instant } from '../time/instant.ts';
import type { ServerTimes } from '../time/server-times.ts';
import { currentLookup } from './round.ts';

/** The longest time between two scans of a stream under `auto` (R13). */
export const MAX_AUTO_DAYS = 7;

const MIN_AUTO_SECONDS = 3600;

/** So a stream's scans take at most six requests an hour on average. */
const AUTO_SECONDS_PER_PAGE = 600;

/** When the next scan of a stream is due by the time of its last one (R13); null before its first scan has ended. */
export function nextScanAt(
  { scanEndedAt, scanPages }: Pick<Checkpoint, 'scanEndedAt' | 'scanPages'>,
  { fullEveryDays }: Pick<DecisionOptions, 'fullEveryDays'>,
): Instant | null {
  return scanEndedAt === null ? null : addSeconds(scanEndedAt, intervalSeconds(scanPages, fullEveryDays));
}

/**
 * The histories last read before this time are due by age, with or without a new latest execution; null if none is
 * (R13). As long as the latest executions are read, they show what is new. Under `auto`, each history counts as a page.
 */
export function staleHistoriesBefore(
  { histories: { count, latestReadAt } }: Pick<RoundFacts, 'histories'>,
  { serverTime, latestServerTime, options: { fullEveryDays } }: Omit<Context, 'run' | 'cycle' | 'limits'>,
): Instant | null {
  if (serverTime === null || latestServerTime === null) return null;
  const before = earlierOf(serverTime, addSeconds(latestServerTime, -intervalSeconds(count, fullEveryDays)));
  const isShown = latestReadAt !== null && latestReadAt >= before && !isFuture(latestReadAt, latestServerTime);
  return isShown ? null : before;
}

function intervalSeconds(pages: number, fullEveryDays: DecisionOptions['fullEveryDays']): number {
  if (fullEveryDays !== 'auto') return fullEveryDays * DAY_SECONDS;
  return Math.max(MIN_AUTO_SECONDS, Math.min(MAX_AUTO_DAYS * DAY_SECONDS, pages * AUTO_SECONDS_PER_PAGE));
}

/** The tests whose histories are due in a round; one that was read in this run is never due by age again. */
export function dueTestsQuery({ round }: RoundCheckpoint, times: ServerTimes, limit: number): DueTestsQuery {
  const { before } = currentLookup(round);
  const { serverTime, latestServerTime: latest } = times;
  const isAging = before !== null && serverTime !== null && latest !== null;
  const fresh = isAging
    ? { from: earlierOf(before, serverTime), until: addSeconds(latest, CLOCK_TOLERANCE_SECONDS) }
    : null;
  return { limit, run: round.run, fresh };
}
