import type { Checkpoint, Read, ReadCheckpoint } from '../checkpoint.ts';
import type { Context } from '../context.ts';
import { isRunRecovery, type ReadRecovery, type StreamRecovery, type SyncError } from '../errors.ts';
import type { UnreadHistory } from '../ports/destination.ts';
import { isScanned, type Stream } from '../stream.ts';
import { feedBoundOf, isBelieved, reachableBoundOf } from './choose-round.ts';
import { halfOf, nextAttempt, type ReadAttempts } from './paging.ts';
import { isInRead, restarted, stepsAfter, withoutFailures, withoutRound, withRead, withRound } from './round.ts';

/**
 * How a stream goes on after a failed fetch:
 * - `retry`: it goes on from the checkpoint at once
 * - `pass-over`: it goes on with what can still be read, and fails at its end (R9, R22)
 * - `fail`: it fails; the next run begins at the checkpoint
 * - `unavailable`: the service says that the stream is not live; its rows stay (R15)
 */
export interface RecoveryDecision {
  readonly outcome: 'retry' | 'pass-over' | 'fail' | 'unavailable';
  readonly checkpoint: Checkpoint;
  /** What was seen and staged by this read, or by the whole round, is discarded; null to keep it. */
  readonly forget: number | 'all' | null;
  readonly unreadHistory?: UnreadHistory;
  /** For the error's message: what to do, or what happens next. */
  readonly advice?: string;
}

/** If so many tests in a row have no history, and none was ever read, the histories are not live (R15) or forbidden. */
const MAX_NOT_FOUND = 20;

/** The recoveries after which the run goes on. */
type LocalRecovery = ReadRecovery | StreamRecovery;

/** Decides how a stream goes on after a failure, by the kind of failure alone. */
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
  // Any other failure concerns one list only: another list of the stream may still work.
  const isOver = recovered.outcome === 'fail' && recovery !== 'forbidden';
  if (!isOver || !mayWait(stream, checkpoint, context)) return recovered;
  return stream.method === 'feed' ? setAside(recovered, checkpoint, context) : dropped(recovered, context);
}

/** A due scan may wait if the feeds, or the marks, can go on from a watermark (R9). */
function mayWait({ method }: Stream, { round, watermark, scanEndedCycle }: ReadCheckpoint, context: Context): boolean {
  if (round.mode !== 'scan' || scanEndedCycle === null) return false;
  if (round.reason === 'clock' || !isBelieved(watermark, context)) return false;
  return method === 'feed' || (method === 'marked' && round.reason !== 'clamp');
}

/** The scan waits for the next run, which continues it if possible; this run goes on with the feeds (R9). */
function setAside(decision: RecoveryDecision, { round }: ReadCheckpoint, context: Context): RecoveryDecision {
  const { checkpoint } = decision;
  const leavesGap = isBeforeFeeds(checkpoint, context);
  // If the feeds do not reach back to the watermark, a scan stays due, whatever the reason of this one was (R3).
  const leavesHole = round.reason === 'clamp' || !reachesBack(checkpoint, context);
  const due = round.due ?? (leavesHole ? 'clamp' : null);
  const left = checkpoint.round === null || leavesGap ? null : { ...checkpoint.round, due };
  const scanDue = checkpoint.scanDue ?? (left === null ? due : null);
  return {
    ...decision,
    outcome: 'pass-over',
    checkpoint: { ...checkpoint, scanDue, round: null, scanTriedInRun: context.run, waitingScan: left },
    forget: leavesGap ? 'all' : decision.forget,
    advice: withAdvice(decision, 'The feeds go on. The next run tries the scan again.'),
  };
}

/**
 * What a scan of a marked stream has staged would mix with what the marks read, so the next run scans from the start
 * (R9).
 */
function dropped(decision: RecoveryDecision, { run }: Context): RecoveryDecision {
  const checkpoint = { ...withoutRound(decision.checkpoint), scanTriedInRun: run };
  return {
    ...decision,
    outcome: 'pass-over',
    checkpoint,
    forget: 'all',
    advice: withAdvice(decision, 'What is marked is read. The next run tries the scan again.'),
  };
}

/** The advice of a decision, and what happens meanwhile. */
function withAdvice({ advice }: RecoveryDecision, meanwhile: string): string {
  return advice === undefined ? meanwhile : `${advice} ${meanwhile}`;
}

/**
 * Whether the scan began before the earliest time that the feeds can show: then neither shows the changes between the
 * two (R3).
 */
function isBeforeFeeds(checkpoint: Checkpoint, context: Context): boolean {
  const since = reachableBoundOf(checkpoint, context);
  const began = checkpoint.round?.firstPageAt ?? null;
  return !reachesBack(checkpoint, context) && since !== null && began !== null && began < since;
}

/** Whether the feeds show all changes since the watermark (R3). */
function reachesBack(checkpoint: Checkpoint, context: Context): boolean {
  return reachableBoundOf(checkpoint, context) === feedBoundOf(checkpoint, context);
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

/**
 * A history that cannot be read is skipped, so that the others are read (R22). A history that does not exist is not a
 * failure (R15).
 */
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
 * The checkpoint after a run that ended before all tries of a page were made. The next run makes only the remaining
 * tries; so the tries come to an end, even if each run has few requests (R6, R24). Null if nothing has to be kept.
 */
export function cutOff(checkpoint: Checkpoint, { failedTries }: SyncError): ReadCheckpoint | null {
  if (!isInRead(checkpoint) || failedTries === null) return null;
  return withRead(checkpoint, { ...checkpoint.round.read, failedTries });
}

/** The attempts of the read in this run so far (R7, R24). */
function attemptsOf({ query, restarts, restartRun, halvedRun }: Read, { run }: Context): ReadAttempts {
  return { restarts: restartRun === run ? restarts : 0, isHalved: halvedRun === run, limit: Number(query['limit']) };
}

/** Starts the read again at half its limit; null if it was halved in this run already, or cannot be halved. */
function halved(checkpoint: ReadCheckpoint, context: Context): RecoveryDecision | null {
  const { read } = checkpoint.round;
  const attempt = nextAttempt('halve-page', attemptsOf(read, context));
  if (attempt === null) return null;
  const again = { ...restarted(read, context), halvedRun: context.run, query: { ...read.query, limit: attempt.limit } };
  return { outcome: 'retry', checkpoint: withRead(checkpoint, again), forget: read.number };
}

/**
 * A page that is too large for the service is tried at half the limit, once a run. No read of the stream asks for more
 * from then on (R24).
 */
function shrunk(checkpoint: ReadCheckpoint, context: Context): RecoveryDecision {
  const { read } = checkpoint.round;
  const rows = halfOf(Number(read.query['limit']));
  const limited = rows === null ? checkpoint : { ...checkpoint, pageLimit: { rows, at: context.serverTime } };
  return halved(limited, context) ?? { ...failed(limited), advice: adviceOn(read, rows) };
}

function adviceOn({ query }: Read, rows: number | null): string {
  const failing = `Pages of ${query['limit']} rows fail.`;
  if (rows === null)
    return `${failing} obsync asks for no smaller pages: if it happens again, report it to the service.`;
  return `${failing} The next run asks for ${rows}. A smaller --page-size takes effect at once.`;
}

/** Like `shrunk`, but the limit belongs to this history alone. */
function shrunkHistory(stream: Stream, checkpoint: ReadCheckpoint, context: Context): RecoveryDecision {
  const { read } = checkpoint.round;
  const unreadHistory = { testId: testIdOf(checkpoint), pageLimit: halfOf(Number(read.query['limit'])) };
  const again = halved(checkpoint, context);
  return { ...(again ?? passedOver(stream, checkpoint, 'halve-page')), unreadHistory };
}

/** The stream fails. The next run continues the read, with all tries. */
function failed(checkpoint: ReadCheckpoint): RecoveryDecision {
  return { outcome: 'fail', checkpoint: withRead(checkpoint, withoutFailures(checkpoint.round.read)), forget: null };
}

/** Goes on with the next test. The round stays complete only if the history does not exist. */
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

/** The test whose history is read: each read of a window stream is a history. */
function testIdOf({ round }: ReadCheckpoint): string {
  return round.read.history?.testId ?? '';
}

/**
 * Whether no history was ever read and so many tests in a row have none: after a finished round the service is known to
 * have them.
 */
function isNoHistoryLive({ watermark, round }: ReadCheckpoint): boolean {
  const { pages, consecutiveNotFound } = round;
  return watermark === null && pages === 0 && consecutiveNotFound + 1 >= MAX_NOT_FOUND;
}

/** After a lost permission a scan is due: no feed shows the rows that become visible when it is back (R13). */
function denied(stream: Stream, checkpoint: Checkpoint): Checkpoint {
  const scanDue = isScanned(stream) && checkpoint.scanEndedCycle !== null ? 'permission' : checkpoint.scanDue;
  return { ...withoutRound(checkpoint), scanDue };
}

function unavailable(checkpoint: Checkpoint, { cycle }: Context): RecoveryDecision {
  return {
    outcome: 'unavailable',
    checkpoint: { ...withoutRound(checkpoint), unavailable: true, finishedCycle: cycle },
    forget: 'all',
  };
}
