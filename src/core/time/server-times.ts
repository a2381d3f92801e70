import { addSeconds, type Instant, secondsBetween } from './instant.ts';

/** What a run's responses say about the server's time; null until one has a `Date` (R1). */
export interface ServerTimes {
  /** T: the earliest reading, as of the start of the run. */
  readonly serverTime: Instant | null;
  /** The latest reading, as of the start of the run: it decides what is due. */
  readonly latestServerTime: Instant | null;
  /** The latest reading as received. The service's lookback counts from it, as a run may last for days (R3). */
  readonly newestReading: Instant | null;
}

export const NO_TIMES: ServerTimes = { serverTime: null, latestServerTime: null, newestReading: null };

/** A reading of the server's clock: `Date` plus `Age`, and the seconds since the run's first reading. */
export interface ClockReading {
  readonly at: Instant;
  readonly elapsedSeconds: number;
}

/** `Date` has whole seconds, so whole seconds are subtracted: readings that agree give the same T. */
export function withReading(times: ServerTimes, { at, elapsedSeconds }: ClockReading): ServerTimes {
  const started = addSeconds(at, -Math.floor(elapsedSeconds));
  const { serverTime, latestServerTime, newestReading } = times;
  return {
    serverTime: serverTime === null || started < serverTime ? started : serverTime,
    latestServerTime: latestServerTime === null || started > latestServerTime ? started : latestServerTime,
    newestReading: newestReading === null || at > newestReading ? at : newestReading,
  };
}

/** How far apart the run's readings are; 0 without any. */
export function spreadSeconds({ serverTime, latestServerTime }: ServerTimes): number {
  return serverTime === null || latestServerTime === null ? 0 : secondsBetween(serverTime, latestServerTime);
}
