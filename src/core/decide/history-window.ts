import type { HistoryGap, Read } from '../checkpoint.ts';
import { type Context, isFuture } from '../context.ts';
import type { DueTest } from '../ports/destination.ts';
import { LOOKBACK_DAYS } from '../read-api.ts';
import { addDays, type Instant, laterOf } from '../time/instant.ts';

/** How many days late executions may be reported (R22). */
const LATE_DAYS = 7;

interface HistoryWindow {
  /** `start_time_from`; null without a server time, when the service decides (R1). */
  readonly opens: Instant | null;
  readonly gaps: readonly HistoryGap[];
}

type WindowTimes = Pick<Context, 'serverTime' | 'newestReading'>;

/** The window of a history that is due (R22). */
export function historyWindow(due: DueTest, times: WindowTimes): HistoryWindow {
  // Like a watermark, a reading time in the future is not trusted (R1).
  const readAt = isFuture(due.readAt, times.serverTime) ? null : due.readAt;
  const since = readAt === null || due.hasRejected ? null : addDays(readAt, -LATE_DAYS);
  return windowSince(since, readAt ?? due.knownFrom, times);
}

/**
 * A history's read as it starts over: from the last start time that it has read. So a history longer than a run makes
 * progress, however often its cursor or its bound expires (R6). It keeps its date, because executions that are reported
 * late may start before (R22). Null if the read has to start at its beginning.
 */
export function resumedHistory(read: Read, times: WindowTimes): Read | null {
  const { history, at, query } = read;
  if (history === null || history.through === null || at === null) return null;
  const { opens, gaps } = windowSince(history.through, history.through, times);
  if (opens === null) return null;
  return {
    ...read,
    cursor: null,
    query: { ...query, start_time_from: opens },
    history: { ...history, gaps: [...history.gaps, ...gaps] },
  };
}

/** The window starts by T, but the service's lookback counts from the newest reading (R1). */
function windowSince(
  since: Instant | null,
  known: Instant | null,
  { serverTime, newestReading }: WindowTimes,
): HistoryWindow {
  if (serverTime === null || newestReading === null) return { opens: null, gaps: [] };
  const earliest = addDays(serverTime, -LOOKBACK_DAYS);
  const shownFrom = addDays(newestReading, -LOOKBACK_DAYS);
  return {
    opens: since === null ? earliest : laterOf(earliest, since),
    gaps: known !== null && known < shownFrom ? [{ from: known, to: shownFrom }] : [],
  };
}
