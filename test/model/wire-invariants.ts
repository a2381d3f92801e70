import type { RunSummary } from '../../src/sync/summary.ts';
import { UNTIL_RUN_ENDS, type WireFault } from './wire-faults.ts';

/** A run that came to its end, as the service saw it. */
export interface ServedRun {
  readonly summary: RunSummary;
  readonly faults: readonly WireFault[];
  /** Requests that the service has met. */
  readonly received: number;
  /** Whether an answer had a `Date` that was wrong, or one of a cache. */
  readonly hasWrongDates: boolean;
  /** Further tries of the source after the first. */
  readonly retries: number;
  /** The service's time as it began and as it ended. */
  readonly fromMs: number;
  readonly toMs: number;
}

/** What of the rules about requests a run broke. */
export function wireViolations(run: ServedRun): string[] {
  return [...wrongServerTime(run), ...starvedByOneList(run), ...requestsDuringOutage(run)];
}

/** A request may take so long. Every gateway's clock is off by more. */
const LONGEST_TRANSFER_MS = 60_000;

/** T is a time of the service, whatever clock a gateway has, unless answers of the service itself have a wrong `Date` (R1). */
function wrongServerTime({ summary: { server_time }, hasWrongDates, fromMs, toMs }: ServedRun): string[] {
  if (server_time === null || hasWrongDates) return [];
  const ms = Date.parse(server_time);
  // An answer that arrives late gives an earlier time for the start.
  const isOwn = ms >= fromMs - LONGEST_TRANSFER_MS && ms <= toMs;
  return isOwn ? [] : [`${server_time} is no time of the service (R1)`];
}

/** A list that is refused while others answer ends no run, whatever it costs (R9). */
function starvedByOneList({ summary, faults }: ServedRun): string[] {
  const isAlone = faults.some(({ list }) => list !== undefined);
  return isAlone && summary.recovery === 'quota' ? [`one refused list ended the run: ${summary.error} (R9)`] : [];
}

/**
 * Two lists may fail by themselves before a third tells that the service is away: by a scan and by the feed beside it (R9), each
 * whole and at half the limit. Then one probe goes on (R24).
 */
function requestsDuringOutage({ faults, received, retries }: ServedRun): string[] {
  const outage = faults.find(({ times, list }) => times === UNTIL_RUN_ENDS && list === undefined);
  if (outage === undefined) return [];
  const most = (2 * 2 * 2 + 1) * (retries + 1) + 4;
  const sent = received - outage.at + 1;
  return sent > most ? [`${sent} requests while the service was away, ${most} are enough (R24)`] : [];
}
