import { CLOCK_TOLERANCE_SECONDS } from '../context.ts';
import type { Stream, StreamName } from '../stream.ts';
import { type Instant, secondsBetween } from '../time/instant.ts';
import type { ListedEnvironment } from './environments.ts';

/**
 * What a run left undone when it ran out of requests or quota (R6):
 * - `unread`: streams that it did not reach or finish; the next run continues its cycle
 * - `failed`: only streams that had failed before. The cycle ends soon, because while it stays open, no other stream is
 *   read again
 */
export type UnfinishedWork = 'unread' | 'failed';

/** The last run that did something in the environments of the new run. */
export interface LastRun {
  readonly run: number;
  readonly cycle: number;
  /** Null if the run ended for another reason. */
  readonly leftOver: UnfinishedWork | null;
  /** Whether this run and every earlier run of its cycle had `--full`. */
  readonly full: boolean;
  /** T of the run that began the cycle (R1). */
  readonly cycleBeganAt: Instant | null;
  /** The first run of the cycle that left only streams that had failed; null if none did. */
  readonly failedSince: number | null;
}

/** A cycle is continued for 24 hours at most: after that, its first reads are too old for the run that ends it (R6). */
const CYCLE_SECONDS = 86_400;

/**
 * Whether the next run owes a turn to a long list: the last run was the first of its cycle that left only streams that
 * had failed. With a turn in every second run, no list keeps another one from being read (R6).
 */
export function owesTurn({ run, leftOver, failedSince }: LastRun, attempts: readonly LastAttempt[]): boolean {
  return leftOver === 'failed' && failedSince === run && lateStreams(attempts).some(([, { isLong }]) => isLong);
}

/** Whether a run continues the last run's cycle (R6). `now` is T of the new run; without it, the age is unknown. */
export function continuesCycle(
  last: LastRun,
  { now, full, owes }: { now: Instant | null; full: boolean; owes: boolean },
): boolean {
  if (!(owes || last.leftOver === 'unread') || (full && !last.full)) return false;
  if (now === null || last.cycleBeganAt === null) return false;
  const ageSeconds = secondsBetween(last.cycleBeganAt, now);
  return ageSeconds <= CYCLE_SECONDS && ageSeconds >= -CLOCK_TOLERANCE_SECONDS;
}

/** The last run that did something in an environment. */
export interface LastVisit {
  readonly run: number;
  /** In how many of its streams. */
  readonly streams: number;
}

/**
 * The environments in the order in which a run reads them: first those that its cycle has begun, then those in which
 * the last run did less than in another one, as if it had stopped there, then the one that was read least recently.
 * Otherwise runs that are too short for all, and continue no cycle, would always read the same ones (R6).
 */
export function inReadingOrder(
  environments: readonly ListedEnvironment[],
  { cycle, lastVisits }: { readonly cycle: number; readonly lastVisits: ReadonlyMap<string, LastVisit> },
): ListedEnvironment[] {
  const most = new Map<number, number>();
  for (const { run, streams } of lastVisits.values()) most.set(run, Math.max(streams, most.get(run) ?? 0));
  const rankOf = ({ id }: ListedEnvironment): number => {
    const { run, streams } = lastVisits.get(id) ?? { run: 0, streams: 0 };
    if (run >= cycle) return -1;
    return streams < (most.get(run) ?? 0) ? 0 : run;
  };
  return environments.toSorted((a, b) => rankOf(a) - rankOf(b));
}

export interface LastAttempt {
  readonly stream: StreamName;
  readonly run: number;
  readonly status: string;
  readonly requests: number;
  readonly pages: number;
}

/** A stream that goes last, because it failed when it was last tried (R6). */
export interface LateStream {
  /** The run that last tried it. */
  readonly run: number;
  /** Whether it got pages then, so it may just need more requests. */
  readonly isLong: boolean;
}

/** The streams that failed when they were last tried, or used up a run's last requests without getting a page (R6). */
function lateStreams(attempts: readonly LastAttempt[]): [StreamName, LateStream][] {
  const hasFailed = ({ status, requests, pages }: LastAttempt): boolean =>
    status === 'failed' || status === 'denied' || (status === 'stopped' && requests > 0 && pages === 0);
  return attempts
    .filter(hasFailed)
    .map(({ stream, run, status, pages }) => [stream, { run, isLong: status === 'failed' && pages > 0 }]);
}

export type LateStreams = ReadonlyMap<string, ReadonlyMap<StreamName, LateStream>>;

/**
 * The late streams of a run, by environment. In a new cycle, only what the last run has tried comes last: otherwise a
 * list that failed once would wait for ever if the others take all requests (R6).
 */
export function lateByEnvironment(
  tries: ReadonlyMap<string, readonly LastAttempt[]>,
  current: {
    readonly id: number;
    readonly cycle: number;
    readonly afterRun: number | null;
    readonly owesTurn: boolean;
  },
): LateStreams {
  const { id, cycle, afterRun, owesTurn } = current;
  const isLate = ({ run }: LastAttempt): boolean => owesTurn || cycle !== id || run === afterRun;
  const late = [...tries].map(([envId, attempts]) => [envId, new Map(lateStreams(attempts.filter(isLate)))] as const);
  return new Map(late.filter(([, streams]) => streams.size > 0));
}

/** The long lists, least recently tried first. They are read one by one, so one of them gets all requests (R6). */
export function longStreams(
  environments: readonly ListedEnvironment[],
  streams: readonly Stream[],
  lateIn: LateStreams,
): { readonly environment: ListedEnvironment; readonly stream: Stream; readonly late: LateStream }[] {
  return environments
    .flatMap((environment) =>
      streams.flatMap((stream) => {
        const late = lateIn.get(environment.id)?.get(stream.name);
        return late?.isLong ? [{ environment, stream, late }] : [];
      }),
    )
    .sort((a, b) => a.late.run - b.late.run);
}

/** The streams of `late` and their dependents, in catalogue order: reading `late` may mark rows for them (R9). */
export function withDependents(streams: readonly Stream[], late: ReadonlySet<StreamName>): Stream[] {
  const reached = new Set(late);
  return streams.filter(({ name, dependencies }) => {
    if (dependencies.some((each) => reached.has(each))) reached.add(name);
    return reached.has(name);
  });
}
