import { CLOCK_TOLERANCE_SECONDS } from '../context.ts';
import type { StreamName } from '../stream.ts';
import { type Instant, secondsBetween } from '../time/instant.ts';

/**
 * What a run left undone when it ran out of requests or quota (R6):
 * - `unread`: streams that it did not reach or finish; the next run continues its cycle
 * - `failed`: only streams that had failed before. The cycle ends, because while it stays open, no other stream is read
 *   again
 */
export type UnfinishedWork = 'unread' | 'failed';

/** The last run that did something in the environments of the new run. */
export interface LastRun {
  readonly cycle: number;
  /** Null if the run ended for another reason. */
  readonly leftOver: UnfinishedWork | null;
  /** Whether this run and every earlier run of its cycle had `--full`. */
  readonly full: boolean;
  /** T of the run that began the cycle (R1). */
  readonly cycleBeganAt: Instant | null;
}

/** A cycle is continued for 24 hours at most: after that, its first reads are too old for the run that ends it (R6). */
const CYCLE_SECONDS = 86_400;

/** Whether a run continues the last run's cycle (R6). `now` is T of the new run; without it, the age is unknown. */
export function continuesCycle(last: LastRun, { now, full }: { now: Instant | null; full: boolean }): boolean {
  if (last.leftOver !== 'unread' || (full && !last.full)) return false;
  if (now === null || last.cycleBeganAt === null) return false;
  const ageSeconds = secondsBetween(last.cycleBeganAt, now);
  return ageSeconds <= CYCLE_SECONDS && ageSeconds >= -CLOCK_TOLERANCE_SECONDS;
}

/** How a stream ended when it was last tried. */
export interface LastAttempt {
  readonly stream: StreamName;
  readonly status: string;
  readonly requests: number;
  readonly pages: number;
}

/** Whether a stream failed when it was last tried, or used up a run's last requests without getting a page (R6). */
export function lastAttemptFailed({ status, requests, pages }: Omit<LastAttempt, 'stream'>): boolean {
  return status === 'failed' || status === 'denied' || (status === 'stopped' && requests > 0 && pages === 0);
}

/** The streams of `late` and their dependents, in catalogue order: reading `late` may mark rows for them (R9). */
export function withDependents<S extends { readonly name: StreamName; readonly dependencies: readonly StreamName[] }>(
  streams: readonly S[],
  late: ReadonlySet<StreamName>,
): S[] {
  const reached = new Set(late);
  return streams.filter(({ name, dependencies }) => {
    if (dependencies.some((each) => reached.has(each))) reached.add(name);
    return reached.has(name);
  });
}
