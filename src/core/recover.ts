import type { Checkpoint, Read, ReadCheckpoint } from './checkpoint.ts';
import { feedBoundOf, isBelieved } from './choose-round.ts';
import { type Context, withinLookback } from './context.ts';
import type { UnreadHistory } from './destination.ts';
import { isRunRecovery, type ReadRecovery, type StreamRecovery, type SyncError } from './errors.ts';
import { halfOf, nextAttempt, type ReadAttempts } from './paging.ts';
import { isInRead, restarted, stepsAfter, untried, withoutRound, withRead, withRound } from './round.ts';
import type { Stream } from './stream.ts';

/**
 * What becomes of a stream whose fetch failed:
 * - `retry`: go on from the checkpoint at once
 * - `pass-over`: the stream will have failed; it goes on with what can be read all the same (R9, R22)
 * - `fail`: the stream failed; the checkpoint says where the next run begins
 * - `unavailable`: the service says that the stream is not live; its rows stay (R15)
 */
export interface RecoveryDecision {
  readonly outcome: 'retry' | 'pass-over' | 'fail' | 'unavailable';
  readonly checkpoint: Checkpoint;
  /** What was seen or gathered and no longer counts: a read's number, or all of the round. */
  readonly forget: number | 'all' | null;
  readonly unreadHistory?: UnreadHistory;
  /** What to do about it, or what comes next, for the error's message. */
  readonly advice?: string;
}

/** So many tests in a row without a history, and none ever read: the histories are not live (R15), or denied. */
const MAX_MISSES = 20;

/** What a stream can meet and the run goes on. */
type LocalRecovery = ReadRecovery | StreamRecovery;

/** Decides, on the kind of failure alone, how a stream goes on. */
export function recover(
  stream: Stream,
  checkpoint: ReadCheckpoint,
  { recovery }: SyncError,
  context: Context,
): RecoveryDecision {
  if (isRunRecovery(recovery)) return failed(checkpoint);
  return stream.method === 'window'
    ? recoverHistory(stream, checkpoint, recovery, context)
    : recoverList(stream, checkpoint, recovery, context);
}

function recoverList(
  stream: Stream,
  checkpoint: ReadCheckpoint,
  recovery: LocalRecovery,
  context: Context,
): RecoveryDecision {
  const recovered = recoverRead(stream, checkpoint, recovery, context);
  // Any other failure is of one list, which another list of the same stream need not share.
  const isOver = recovered.outcome === 'fail' && recovery !== 'forbidden';
  return isOver && mayWait(stream, checkpoint, context) ? setAside(recovered, checkpoint, context) : recovered;
}

/** A due scan may wait while there is a watermark from which the feeds can go on (R9). */
function mayWait({ method }: Stream, { round, watermark, scanEndedCycle }: ReadCheckpoint, context: Context): boolean {
  if (method !== 'feed' || round.mode !== 'scan' || scanEndedCycle === null) return false;
  return round.reason !== 'clock' && isBelieved(watermark, context);
}

/** The scan waits for the next run, where it stood if it can go on from there; this one goes on with the feeds (R9). */
function setAside(recoveryDecision: RecoveryDecision, { round }: ReadCheckpoint, context: Context): RecoveryDecision {
  const { checkpoint, advice } = recoveryDecision;
  const leavesGap = isBeforeFeeds(checkpoint, context);
  // Beyond its reach a feed leaves a gap, whatever the scan was begun for, and whatever the watermark says from then on (R3).
  const leavesHole = round.reason === 'clamp' || !reachesBack(checkpoint, context);
  const due = round.due ?? (leavesHole ? 'clamp' : null);
  const left = checkpoint.round === null || leavesGap ? null : { ...checkpoint.round, due };
  const scanDue = checkpoint.scanDue ?? (left === null ? due : null);
  const meanwhile = 'The scan waits for the next run, which tries it again; the feeds go on meanwhile.';
  return {
    ...recoveryDecision,
    outcome: 'pass-over',
    checkpoint: { ...checkpoint, scanDue, round: null, scanTriedInRun: context.run, waitingScan: left },
    forget: leavesGap ? 'all' : recoveryDecision.forget,
    advice: advice === undefined ? meanwhile : `${advice} ${meanwhile}`,
  };
}

/** Whether the scan began before anything that the feeds still reach: between the two lies what neither shows (R3). */
function isBeforeFeeds(checkpoint: Checkpoint, context: Context): boolean {
  const since = withinLookback(feedBoundOf(checkpoint, context), context);
  const began = checkpoint.round?.firstPageAt ?? null;
  return !reachesBack(checkpoint, context) && since !== null && began !== null && began < since;
}

/** Whether the feeds show all that has changed since the watermark (R3). */
function reachesBack(checkpoint: Checkpoint, context: Context): boolean {
  const bound = feedBoundOf(checkpoint, context);
  return withinLookback(bound, context) === bound;
}

function recoverRead(
  stream: Stream,
  checkpoint: ReadCheckpoint,
  recovery: LocalRecovery,
  context: Context,
): RecoveryDecision {
  switch (recovery) {
    case 'restart-read':
      return restartRead(checkpoint, context);
    case 'halve-page':
      return shrunk(checkpoint, context);
    case 'restart-round':
      return { outcome: 'fail', checkpoint: withoutRound(checkpoint), forget: 'all' };
    case 'forbidden':
      return { outcome: 'fail', checkpoint: denied(stream, checkpoint), forget: 'all' };
    case 'not-live':
      return stream.mayBeUnavailable ? unavailable(checkpoint, context) : failed(checkpoint);
    case 'stream':
      return failed(checkpoint);
  }
}

/** A history that cannot be read is passed over and bars no other (R22); one that is not there is no failure (R15). */
function recoverHistory(
  stream: Stream,
  checkpoint: ReadCheckpoint,
  recovery: LocalRecovery,
  context: Context,
): RecoveryDecision {
  switch (recovery) {
    case 'restart-read': {
      const again = restartRead(checkpoint, context);
      return again.outcome === 'retry' ? again : passedOver(stream, checkpoint, recovery);
    }
    case 'halve-page':
      return shrunkHistory(stream, checkpoint, context);
    case 'not-live':
      return isNoHistoryLive(checkpoint) ? unavailable(checkpoint, context) : passedOver(stream, checkpoint, recovery);
    case 'forbidden':
      return isNoHistoryLive(checkpoint)
        ? { outcome: 'fail', checkpoint: denied(stream, checkpoint), forget: 'all' }
        : passedOver(stream, checkpoint, recovery);
    case 'restart-round':
    case 'stream':
      return passedOver(stream, checkpoint, recovery);
  }
}

function restartRead(checkpoint: ReadCheckpoint, context: Context): RecoveryDecision {
  const { read } = checkpoint.round;
  const attempts = attemptsOf(read, context);
  const again = { ...restarted(read, context), restarts: attempts.restarts + 1, restartRun: context.run };
  return {
    outcome: nextAttempt('restart-read', attempts) === null ? 'fail' : 'retry',
    checkpoint: withRead(checkpoint, again),
    forget: read.number,
  };
}

/**
 * Where the next run goes on after one whose end cut a page off from its further tries: only the rest of them is left to it, however
 * few requests each run has (R6, R24). Null where nothing has to be kept.
 */
export function cutOff(checkpoint: Checkpoint, { failedTries }: SyncError): ReadCheckpoint | null {
  if (!isInRead(checkpoint) || failedTries === null) return null;
  return withRead(checkpoint, { ...checkpoint.round.read, failedTries });
}

/** What this run has tried of the read so far (R7, R24). */
function attemptsOf({ query, restarts, restartRun, halvedRun }: Read, { run }: Context): ReadAttempts {
  return { restarts: restartRun === run ? restarts : 0, isHalved: halvedRun === run, limit: Number(query['limit']) };
}

/** The read again at half its limit; null when it was halved in this run, or cannot be. */
function halved(checkpoint: ReadCheckpoint, context: Context): RecoveryDecision | null {
  const { read } = checkpoint.round;
  const attempt = nextAttempt('halve-page', attemptsOf(read, context));
  if (attempt === null) return null;
  const again = { ...restarted(read, context), halvedRun: context.run, query: { ...read.query, limit: attempt.limit } };
  return { outcome: 'retry', checkpoint: withRead(checkpoint, again), forget: read.number };
}

/** A page too heavy for the service may do at half the limit: once a run, and no read of the stream asks for more (R24). */
function shrunk(checkpoint: ReadCheckpoint, context: Context): RecoveryDecision {
  const { read } = checkpoint.round;
  const rows = halfOf(Number(read.query['limit']));
  const limited = rows === null ? checkpoint : { ...checkpoint, pageLimit: { rows, at: context.serverTime } };
  return halved(limited, context) ?? { ...failed(limited), advice: adviceOn(read, rows) };
}

function adviceOn({ query }: Read, rows: number | null): string {
  const failing = `Pages of ${query['limit']} rows fail.`;
  if (rows === null) return `${failing} Smaller ones are not asked for: report it to the service if it stays.`;
  return `${failing} The next run asks for ${rows}; a smaller --page-size is taken at once.`;
}

/** As any read, but that the limit is the history's own. */
function shrunkHistory(stream: Stream, checkpoint: ReadCheckpoint, context: Context): RecoveryDecision {
  const { read } = checkpoint.round;
  const unreadHistory = { testId: testIdOf(checkpoint), pageLimit: halfOf(Number(read.query['limit'])) };
  const again = halved(checkpoint, context);
  return { ...(again ?? passedOver(stream, checkpoint, 'halve-page')), unreadHistory };
}

/** The read goes on where it was, with all its tries. */
function failed(checkpoint: ReadCheckpoint): RecoveryDecision {
  return { outcome: 'fail', checkpoint: withRead(checkpoint, untried(checkpoint.round.read)), forget: null };
}

/** Goes on with the test after it; only what is not there leaves the round complete. */
function passedOver(stream: Stream, checkpoint: ReadCheckpoint, recovery: LocalRecovery): RecoveryDecision {
  const { round } = checkpoint;
  const isMissing = recovery === 'not-live';
  const consecutiveNotFound =
    isMissing || recovery === 'forbidden' ? round.consecutiveNotFound + 1 : round.consecutiveNotFound;
  const incomplete = round.incomplete || !isMissing;
  const steps = stepsAfter(stream, round.steps);
  return {
    outcome: isMissing ? 'retry' : 'pass-over',
    checkpoint: withRound(checkpoint, { read: null, consecutiveNotFound, incomplete, steps }),
    forget: null,
    unreadHistory: { testId: testIdOf(checkpoint), pageLimit: null },
  };
}

/** The test whose history is read: only a window stream has histories, and each of its reads is one. */
function testIdOf({ round }: ReadCheckpoint): string {
  return round.read.history?.testId ?? '';
}

/** Once a round of histories has ended the service is known to have them. */
function isNoHistoryLive({ watermark, round }: ReadCheckpoint): boolean {
  const { pages, consecutiveNotFound } = round;
  return watermark === null && pages === 0 && consecutiveNotFound + 1 >= MAX_MISSES;
}

/** Lost permission: whatever is shown when it is back has to be scanned, no feed tells of it (R13). */
function denied(stream: Stream, checkpoint: Checkpoint): Checkpoint {
  const scanDue = stream.method === 'feed' && checkpoint.scanEndedCycle !== null ? 'permission' : checkpoint.scanDue;
  return { ...withoutRound(checkpoint), scanDue };
}

function unavailable(checkpoint: Checkpoint, { cycle }: Context): RecoveryDecision {
  return {
    outcome: 'unavailable',
    checkpoint: { ...withoutRound(checkpoint), unavailable: true, finishedCycle: cycle },
    forget: 'all',
  };
}
