import { CLOCK_TOLERANCE_SECONDS } from './context.ts';
import { type Instant, secondsBetween } from './instant.ts';
import type { StreamName } from './stream.ts';

/**
 * What a run left whose requests or quota were spent (R6):
 * - `unread`: streams it did not come to, or not to the end of; the next run carries its cycle on
 * - `failed`: nothing but streams that had failed before; a cycle kept open for them would keep all others from being read
 */
export type LeftOver = 'unread' | 'failed';

/** The last run that did anything in the environments of the run that begins. */
export interface LastRun {
  readonly cycle: number;
  /** Null when it came to its end in another way. */
  readonly leftOver: LeftOver | null;
  /** It, and every run of its cycle before it, had `--full`. */
  readonly full: boolean;
  /** T of the run that began the cycle (R1). */
  readonly cycleBeganAt: Instant | null;
}

/** A cycle is carried on for so long; later its first reads would no longer be true of the run that ends it (R6). */
const CYCLE_SECONDS = 86_400;

/** Whether a run carries on the cycle of the last one (R6). `now` is its T: without one, no cycle is known to be young enough. */
export function continuesCycle(last: LastRun, { now, full }: { now: Instant | null; full: boolean }): boolean {
  if (last.leftOver !== 'unread' || (full && !last.full)) return false;
  if (now === null || last.cycleBeganAt === null) return false;
  const ageSeconds = secondsBetween(last.cycleBeganAt, now);
  return ageSeconds <= CYCLE_SECONDS && ageSeconds >= -CLOCK_TOLERANCE_SECONDS;
}

/** How the last try of a stream ended. */
export interface LastTry {
  readonly stream: StreamName;
  readonly status: string;
  readonly requests: number;
  readonly pages: number;
}

/** Whether a stream failed at its last try, or spent a run's last requests without a page to show for them (R6). */
export function failedLast({ status, requests, pages }: Omit<LastTry, 'stream'>): boolean {
  return status === 'failed' || status === 'denied' || (status === 'stopped' && requests > 0 && pages === 0);
}

/** The streams of `late` and those that follow one of them, in their order: what `late` brings may mark rows for these (R9). */
export function withFollowers<S extends { readonly name: StreamName; readonly dependencies: readonly StreamName[] }>(
  streams: readonly S[],
  late: ReadonlySet<StreamName>,
): S[] {
  const reached = new Set(late);
  return streams.filter(({ name, dependencies }) => {
    if (dependencies.some((each) => reached.has(each))) reached.add(name);
    return reached.has(name);
  });
}
