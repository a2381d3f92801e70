import type { HistoryGap, Read } from '../checkpoint.ts';
import { type Context, isFuture } from '../context.ts';
import type { DecodedPage } from '../decode/decode.ts';
import type { DueTest } from '../ports/destination.ts';
import { LOOKBACK_DAYS } from '../read-api.ts';
import { addDays, type Instant, laterOf, parseInstant } from '../time/instant.ts';

/** How many days late executions may be reported (R22). */
const LATE_DAYS = 7;

interface HistoryWindow {
  /** `start_time_from`; null without a server time, when the service decides (R1). */
  readonly opens: Instant | null;
  /** When the history was last read, if that time is trusted. */
  readonly readAt: Instant | null;
  readonly gaps: readonly HistoryGap[];
}

type WindowTimes = Pick<Context, 'serverTime' | 'newestReading'>;

/** The window of a history that is due (R22). */
export function historyWindow(due: DueTest, times: WindowTimes): HistoryWindow {
  // Like a watermark, a reading time in the future is not trusted (R1).
  const readAt = isFuture(due.readAt, times.serverTime) ? null : due.readAt;
  const since = readAt === null || due.hasRejected ? null : addDays(readAt, -LATE_DAYS);
  return { readAt, ...windowSince(since, readAt ?? due.knownFrom, times) };
}

/**
 * A history's read as it starts over: from the last start time that it has read. So a history longer than a run makes
 * progress, however often its cursor or its bound expires (R6). It keeps its date, because executions that are reported
 * late may start before (R22). Null for any other read, and without a server time.
 */
export function resumedHistory({ paging: _, ...read }: Read, times: WindowTimes): Read | null {
  const { history, at, query } = read;
  const opened = query['start_time_from'];
  if (history === null || at === null || opened === undefined) return null;
  const { readAt = null, knownFrom = null, through = null, gaps = [] } = history;
  const known = readAt === null ? (through ?? knownFrom) : laterOf(readAt, through ?? readAt);
  const { opens, gaps: added } = windowSince(through ?? String(opened), known, times);
  if (opens === null) return null;
  return {
    ...read,
    cursor: null,
    query: { ...query, start_time_from: opens },
    // A later gap from the same time covers the earlier one.
    history: { ...history, gaps: [...gaps.filter(({ from }) => from !== added[0]?.from), ...added] },
  };
}

/** The window starts by T, but the service's lookback counts from the newest reading (R1). */
function windowSince(
  since: Instant | null,
  known: Instant | null,
  { serverTime, newestReading }: WindowTimes,
): Pick<HistoryWindow, 'opens' | 'gaps'> {
  if (serverTime === null || newestReading === null) return { opens: null, gaps: [] };
  const earliest = addDays(serverTime, -LOOKBACK_DAYS);
  const shownFrom = addDays(newestReading, -LOOKBACK_DAYS);
  return {
    opens: since === null ? earliest : laterOf(earliest, since),
    gaps: known !== null && known < shownFrom ? [{ from: known, to: shownFrom }] : [],
  };
}

/**
 * A history is read in the order of its start times; one in the future is not trusted (R10). As long as a read makes
 * progress, its restarts don't count (R7).
 */
export function withHistoryProgress(read: Read, { rows, rejected }: DecodedPage, latest: Instant | null): Read {
  const { history } = read;
  if (history === null) return read;
  const last = [rows.at(-1)?.row['start_time'], startTimeOf(rejected.at(-1)?.payload)];
  const through = last
    .filter((at) => typeof at === 'string' && !isFuture(at, latest))
    .reduce<string>((newest, at) => laterOf(newest, String(at)), history.through ?? '');
  if (through === (history.through ?? '')) return read;
  return { ...read, restarts: 0, history: { ...history, through } };
}

/** The start time of an execution that could not be stored. */
function startTimeOf(payload = '{}'): Instant | null {
  return parseInstant(String(JSON.parse(payload)?.start_time));
}
