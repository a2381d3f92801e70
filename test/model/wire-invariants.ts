import type { RunSummary } from '../../src/sync/summary.ts';
import { UNTIL_RUN_ENDS, type WireFault } from './wire-faults.ts';

/** A run that ended, as the service saw it. */
export interface ServedRun {
  readonly summary: RunSummary;
  readonly faults: readonly WireFault[];
  /** How many requests the service received. */
  readonly received: number;
  /** Whether a response had a wrong `Date`, or that of a cache. */
  readonly hasWrongDates: boolean;
  /** How often the source retries a request. */
  readonly retries: number;
  /** The service's time at the start and end of the run. */
  readonly fromMs: number;
  readonly toMs: number;
}

/** The rules about requests that a run broke. */
export function wireViolations(run: ServedRun): string[] {
  return [...wrongServerTime(run), ...starvedByOneList(run), ...requestsDuringOutage(run)];
}

/** The longest that a request may take. Every gateway's clock is off by more. */
const LONGEST_TRANSFER_MS = 60_000;

/** T is the service's time, whatever a gateway's clock says, unless the service itself sent a wrong `Date` (R1). */
function wrongServerTime({ summary: { server_time }, hasWrongDates, fromMs, toMs }: ServedRun): string[] {
  if (server_time === null || hasWrongDates) return [];
  const ms = Date.parse(server_time);
  // A response that arrives late makes the start look earlier, and `Date` has whole seconds.
  const isOwn = ms >= fromMs - LONGEST_TRANSFER_MS - 1000 && ms <= toMs;
  return isOwn ? [] : [`${server_time} is not a time of the service (R1)`];
}

/** A list that is refused while others answer never ends the run (R9). */
function starvedByOneList({ summary, faults }: ServedRun): string[] {
  const isAlone = faults.some(({ list }) => list !== undefined);
  return isAlone && summary.recovery === 'quota' ? [`one refused list ended the run: ${summary.error} (R9)`] : [];
}

/**
 * Two lists may fail before a third one proves that the service is down. Each may be tried by a scan and by its feed
 * (R9), whole and at half the limit. After that, only one probe is sent (R24).
 */
function requestsDuringOutage({ faults, received, retries }: ServedRun): string[] {
  const outage = faults.find(({ times, list }) => times === UNTIL_RUN_ENDS && list === undefined);
  if (outage === undefined) return [];
  const most = (2 * 2 * 2 + 1) * (retries + 1) + 4;
  const sent = received - outage.at + 1;
  return sent > most ? [`${sent} requests while the service was down, ${most} are enough (R24)`] : [];
}
