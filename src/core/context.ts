import type { RetentionPolicy } from './decide/retention.ts';
import { limitsIn, type StorageLimits } from './decode/storage-limits.ts';
import { LOOKBACK_DAYS } from './read-api.ts';
import { addDays, addSeconds, type Instant } from './time/instant.ts';
import type { ServerTimes } from './time/server-times.ts';

/** The options of a run that decisions depend on. */
export interface DecisionOptions {
  readonly full: boolean;
  /** Days between the scans of a stream; `auto`: by the pages of its last scan (R13). */
  readonly fullEveryDays: number | 'auto';
  readonly overlapSeconds: number;
  readonly pageSize: number;
  readonly allowShrink: boolean;
  /** How long a stream that was live may answer 404 before the run fails (R15). */
  readonly graceSeconds: number;
  readonly retention: RetentionPolicy;
  /** What the mirror cannot hold (R20); null if it can hold everything. */
  readonly limits?: StorageLimits | null | undefined;
}

/** What a decision depends on besides the checkpoint and the page. */
export interface Context extends ServerTimes {
  readonly run: number;
  readonly cycle: number;
  readonly options: DecisionOptions;
  /** The options' limits, adjusted to the environment where rows are decoded. */
  readonly limits?: StorageLimits | null | undefined;
}

export function inEnvironment(context: Context, envId: string): Context {
  return { ...context, limits: limitsIn(context.limits, envId) };
}

/** The oldest time bound that is sent: one day less than the API's lookback, to be safe (R3). */
const OLDEST_BOUND_DAYS = LOOKBACK_DAYS - 1;

/** A time in the mirror that is later than T by more than this is not trusted (R1). */
export const CLOCK_TOLERANCE_SECONDS = 3600;

/** Whether a time is too far ahead of the server's to be trusted (R1, R10); never without a server time. */
export function isFuture(time: unknown, latest: Instant | null): boolean {
  // Nearly every time is in the past, so the calculation is skipped.
  if (latest === null || typeof time !== 'string' || time <= latest) return false;
  return time > addSeconds(latest, CLOCK_TOLERANCE_SECONDS);
}

/** Whether a bound is too old to be sent (R3). Without a server time no bound can be trusted. */
export function isOutOfLookback(bound: Instant, { newestReading }: Pick<Context, 'newestReading'>): boolean {
  return newestReading === null || bound < addDays(newestReading, -OLDEST_BOUND_DAYS);
}

/** The bound or, if it is too old, the oldest that may be sent plus one day to spare for a long run (R3). */
export function withinLookback(bound: Instant | null, context: Pick<Context, 'newestReading'>): Instant | null {
  if (bound === null || context.newestReading === null) return null;
  return isOutOfLookback(bound, context) ? addDays(context.newestReading, 1 - OLDEST_BOUND_DAYS) : bound;
}
