import type {
  Checkpoint,
  ListRead,
  LookupRead,
  Read,
  ReadCheckpoint,
  ReadStep,
  Round,
  RoundCheckpoint,
} from './checkpoint.ts';
import type { Context } from './context.ts';
import type { RoundFacts } from './destination.ts';
import type { Instant } from './instant.ts';
import type { Stream } from './stream.ts';

/** What decides how a round is read, and why. */
type RoundPlan = Pick<Round, 'mode' | 'reason' | 'steps'> & Partial<Pick<Round, 'due' | 'reads'>>;

/** A round that has read nothing yet. */
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

/** What a read asks for. */
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

/** The next read of the round under way, as its read. The first read of candidates is remembered (R12). */
export function beginRead(checkpoint: RoundCheckpoint, plan: ReadPlan, context: Context): ReadCheckpoint {
  const { round } = checkpoint;
  const reads = round.reads + 1;
  const firstConfirmation = round.firstConfirmation ?? (plan.as === 'candidates' ? reads : null);
  return { ...checkpoint, round: { ...round, reads, firstConfirmation, read: newRead(plan, reads, context) } };
}

/** The same read at its first page, begun now, with all its tries. */
export function restarted(read: Read, { serverTime }: Pick<Context, 'serverTime'>): Read {
  return { ...untried(read), cursor: null, at: serverTime };
}

/** A read of whose next page no try has failed (R24). */
export function untried({ failedTries: _, ...read }: Read): Read {
  return read;
}

/** The checkpoint with changes to the round under way. */
export function withRound(checkpoint: RoundCheckpoint, changes: Partial<Round>): RoundCheckpoint {
  return { ...checkpoint, round: { ...checkpoint.round, ...changes } };
}

export function withRead(checkpoint: RoundCheckpoint, read: Read): ReadCheckpoint {
  return { ...checkpoint, round: { ...checkpoint.round, read } };
}

/** Whether a read is under way. */
export function isInRead(checkpoint: Checkpoint): checkpoint is ReadCheckpoint {
  return checkpoint.round !== null && checkpoint.round.read !== null;
}

/** The checkpoint as a round begins: a scan takes over what made it due, so that what comes up from now on stands (R13). */
export function startRound(checkpoint: Checkpoint, round: Round): RoundCheckpoint {
  if (round.mode !== 'scan') return { ...checkpoint, round };
  return { ...checkpoint, scanDue: null, scanTriedInRun: null, waitingScan: null, round };
}

/** A round given up before its end: what it was to make good is due again. */
export function withoutRound(checkpoint: Checkpoint): Checkpoint {
  const { round, waitingScan } = checkpoint;
  const scanDue = checkpoint.scanDue ?? round?.due ?? waitingScan?.due ?? null;
  return { ...checkpoint, scanDue, round: null, waitingScan: null };
}

/** One whole list, in each of its variants. */
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
  return { do: 'look-up', about, after: '', asked: 0, ids: [], unpaid: [], variant: 0, before: null };
}

/** The lookup that a round has come to. @throws Error when it has come to none */
export function currentLookup({ steps: [step] }: Pick<Round, 'steps'>): LookupRead {
  if (step?.do !== 'look-up') throw new Error('the round has come to no lookup');
  return step;
}

/** Ids of the chunk under way whose marks its pages have not cleared; none outside a lookup. */
export function unpaidOf({ steps: [step] }: Pick<Round, 'steps'>): readonly string[] {
  return step?.do === 'look-up' ? step.unpaid : [];
}

/** The steps after a read has ended: a list is done; a lookup goes on with the next variant of its chunk, then with the next chunk. */
export function stepsAfter(stream: Stream, [step, ...rest]: readonly ReadStep[]): readonly ReadStep[] {
  if (step?.do !== 'look-up') return rest;
  if (!isLastVariant(stream, step)) return [{ ...step, variant: step.variant + 1 }, ...rest];
  return [{ ...step, after: step.ids.at(-1) ?? step.after, ids: [], unpaid: [], variant: 0 }, ...rest];
}

/** Lineage and typed assets have one list. Where there are two, rows asked for by id may be in either (R12). */
export function isLastVariant(stream: Stream, step: LookupRead): boolean {
  return step.variant + 1 >= stream.scanQueries.length;
}

/** Whether candidates of a sweep stay that only another scan can decide on; it is made once (R12). */
export function isScannedAgain({ sweepContradicted, confirmedUpTo, due }: Round): boolean {
  return sweepContradicted && confirmedUpTo !== null && due !== 'refuted';
}
