import { addDays, addSeconds, type Instant } from './instant.ts';
import { LOOKBACK_DAYS } from './read-api.ts';
import type { Source } from './source.ts';

/** What a run is told to do, as far as decisions depend on it. */
export interface DecisionOptions {
  readonly full: boolean;
  readonly fullEveryDays: number;
  readonly overlapSeconds: number;
  readonly pageSize: number;
  readonly allowShrink: boolean;
}

/** The circumstances of a decision. */
export interface Context {
  readonly run: number;
  readonly cycle: number;
  /** T, the run's time; null as long as no answer had a `Date` (R1). */
  readonly serverTime: Instant | null;
  /** The newest server time seen in the run, which may last for days: how far the service looks back is counted from it (R3). */
  readonly latestServerTime: Instant | null;
  readonly options: DecisionOptions;
}

/** No bound that is sent is older, in days: one day less than the API looks back, to be safe (R3). */
const OLDEST_BOUND_DAYS = LOOKBACK_DAYS - 1;

/** A time of the mirror that is later than T by more is not believed (R1). */
export const CLOCK_TOLERANCE_SECONDS = 3600;

/** Whether a time of a row lies so far ahead of the server's that it is not believed (R10); any is without a server time. */
export function isFuture(time: unknown, latest: Instant | null): boolean {
  // Nearly every time is past: only one that is not costs a reckoning.
  if (latest === null || typeof time !== 'string' || time <= latest) return false;
  return time > addSeconds(latest, CLOCK_TOLERANCE_SECONDS);
}

/** Whether a bound must not be sent (R3); without a server time no bound can be trusted. */
export function isOutOfLookback(bound: Instant, { latestServerTime }: Pick<Context, 'latestServerTime'>): boolean {
  return latestServerTime === null || bound < addDays(latestServerTime, -OLDEST_BOUND_DAYS);
}

/** A bound no older than may be sent, with a day to spare while the run goes on (R3). */
export function withinLookback(bound: Instant | null, context: Pick<Context, 'latestServerTime'>): Instant | null {
  if (bound === null || context.latestServerTime === null) return null;
  return isOutOfLookback(bound, context) ? addDays(context.latestServerTime, 1 - OLDEST_BOUND_DAYS) : bound;
}

/** The times of a run, as its answers have told them so far. */
export function timesOf(
  source: Pick<Source, 'serverTime' | 'latestServerTime'>,
): Pick<Context, 'serverTime' | 'latestServerTime'> {
  return { serverTime: source.serverTime(), latestServerTime: source.latestServerTime() };
}
