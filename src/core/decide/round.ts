import type {
  Checkpoint,
  ListRead,
  LookupRead,
  Read,
  ReadCheckpoint,
  ReadStep,
  Round,
  RoundCheckpoint,
} from '../checkpoint.ts';
import type { Context } from '../context.ts';
import type { RoundFacts } from '../ports/destination.ts';
import type { Stream } from '../stream.ts';
import type { Instant } from '../time/instant.ts';
import { resumedHistory } from './history-window.ts';

type RoundPlan = Pick<Round, 'mode' | 'reason' | 'steps'> & Partial<Pick<Round, 'due' | 'reads'>>;

export function newRound(
  plan: RoundPlan,
  { run, cycle }: Pick<Context, 'run' | 'cycle'>,
  { hasRows, lastMark }: Pick<RoundFacts, 'hasRows' | 'lastMark'>,
): Round {
  return {
    due: null,
    reads: 0,
    ...plan,
    run,
    cycle,
    pages: 0,
    scanPages: 0,
    firstPageAt: null,
    lastMark,
    sweeps: hasRows,
    sweepContradicted: false,
    read: null,
    confirmedUpTo: null,
    firstConfirmation: null,
    consecutiveNotFound: 0,
    incomplete: false,
  };
}

export type ReadPlan = Pick<Read, 'as' | 'path' | 'query'> & Partial<Pick<Read, 'history'>>;

/** A read at its first page; `number` is its place among the reads of its round. */
export function newRead(plan: ReadPlan, number: number, { run, serverTime }: Context): Read {
  return {
    history: null,
    ...plan,
    number,
    cursor: null,
    at: serverTime,
    restarts: 0,
    restartRun: run,
    halvedRun: null,
  };
}

/** Begins the next read of the round, and records the number of the first read of candidates (R12). */
export function beginRead(checkpoint: RoundCheckpoint, plan: ReadPlan, context: Context): ReadCheckpoint {
  const { round } = checkpoint;
  const reads = round.reads + 1;
  const firstConfirmation = round.firstConfirmation ?? (plan.as === 'candidates' ? reads : null);
  return { ...checkpoint, round: { ...round, reads, firstConfirmation, read: newRead(plan, reads, context) } };
}

/** The same read from its first page, starting now, with all its tries. A history resumes where it stopped. */
export function restarted(
  { paging: _, ...read }: Read,
  context: Pick<Context, 'serverTime' | 'newestReading'>,
  limit = Number(read.query['limit']),
): Read {
  const again = withoutFailures({ ...read, query: { ...read.query, limit } });
  return resumedHistory(again, context) ?? { ...again, cursor: null, at: context.serverTime };
}

/** The read without the failed tries of its next page (R24). */
export function withoutFailures({ failedTries: _, ...read }: Read): Read {
  return read;
}

export function withRound(checkpoint: RoundCheckpoint, changes: Partial<Round>): RoundCheckpoint {
  return { ...checkpoint, round: { ...checkpoint.round, ...changes } };
}

export function withRead(checkpoint: RoundCheckpoint, read: Read): ReadCheckpoint {
  return { ...checkpoint, round: { ...checkpoint.round, read } };
}

export function isInRead(checkpoint: Checkpoint): checkpoint is ReadCheckpoint {
  return checkpoint.round !== null && checkpoint.round.read !== null;
}

/** The checkpoint at the start of a round. A scan takes over why it was due; a later reason stays beside it (R13). */
export function startRound(checkpoint: Checkpoint, round: Round): RoundCheckpoint {
  if (round.mode !== 'scan') return { ...checkpoint, round };
  return { ...checkpoint, scanDue: null, scanTriedInRun: null, waitingScan: null, round };
}

/**
 * The checkpoint once its environment has returned this many times. A return makes a scan due (R13), except for a
 * stream that was neither scanned nor in a round: that one is scanned first anyway, or never.
 */
export function withReturns(checkpoint: Checkpoint, returns: number): Checkpoint {
  if (returns === checkpoint.returns) return checkpoint;
  const isKnown = checkpoint.scanEndedCycle !== null || checkpoint.round !== null;
  return { ...checkpoint, returns, scanDue: isKnown ? 'returned' : checkpoint.scanDue };
}

/** Gives up the round. If it was a scan, that scan is due again. */
export function withoutRound(checkpoint: Checkpoint): Checkpoint {
  const { round, waitingScan } = checkpoint;
  const scanDue = checkpoint.scanDue ?? round?.due ?? waitingScan?.due ?? null;
  return { ...checkpoint, scanDue, round: null, waitingScan: null };
}

/** The reads of a whole list, one per variant. */
export function scanSteps(stream: Stream, { options }: Context): ListRead[] {
  return stream.scanQueries.map((variant) => ({
    do: 'list',
    as: 'scan',
    query: { ...variant, limit: options.pageSize },
  }));
}

export function feedStep(as: 'upserts' | 'tombstones', since: Instant, { options }: Context): ListRead {
  const parameter = as === 'upserts' ? 'synced_since' : 'deleted_since';
  return { do: 'list', as, query: { [parameter]: since, limit: options.pageSize } };
}

export function lookupStep(about: LookupRead['about']): LookupRead {
  return { do: 'look-up', about, after: '', asked: 0, ids: [], pendingIds: [], variant: 0, firstRead: 0, before: null };
}

/** The current step of a round. @throws Error if it is not a lookup */
export function currentLookup({ steps: [step] }: Pick<Round, 'steps'>): LookupRead {
  if (step?.do !== 'look-up') throw new Error('the current step of the round is not a lookup');
  return step;
}

/** The ids of the current chunk whose marks its pages have not cleared; none outside a lookup. */
export function unclearedIds({ steps: [step] }: Pick<Round, 'steps'>): readonly string[] {
  return step?.do === 'look-up' ? step.pendingIds : [];
}

/** The steps after a read. A lookup continues with the next variant of its chunk, then with the next chunk. */
export function stepsAfter(stream: Stream, [step, ...rest]: readonly ReadStep[]): readonly ReadStep[] {
  if (step?.do !== 'look-up') return rest;
  if (!isLastVariant(stream, step)) return [{ ...step, variant: step.variant + 1 }, ...rest];
  return [{ ...step, after: step.ids.at(-1) ?? step.after, ids: [], pendingIds: [], variant: 0 }, ...rest];
}

export function isLastVariant(stream: Stream, { about, variant }: LookupRead): boolean {
  return variant + 1 >= variantsOf(stream, about).length;
}

/** The lists that a lookup reads. If a stream has two lists, a row may be in either (R12). */
export function variantsOf({ scanQueries }: Stream, about: LookupRead['about']): Stream['scanQueries'] {
  return about === 'unshown' ? [{}] : scanQueries;
}

/** Whether another scan must decide on candidates that the sweep left. There is only one such scan (R12). */
export function isScannedAgain({ sweepContradicted, confirmedUpTo, due }: Round): boolean {
  return sweepContradicted && confirmedUpTo !== null && due !== 'refuted';
}
