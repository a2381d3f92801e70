import type { Checkpoint, Read, ReadCheckpoint } from '../checkpoint.ts';
import type { Context } from '../context.ts';
import { isRunRecovery, type ReadRecovery, type StreamRecovery, type SyncError } from '../errors.ts';
import type { UnreadHistory } from '../ports/destination.ts';
import { isScanned, type Stream } from '../stream.ts';
import { isTrusted } from './choose-round.ts';
import { halfOf, hasOldCursor, nextAttempt, type ReadAttempts } from './paging.ts';
import { isInRead, restarted, stepsAfter, withoutFailures, withoutRound, withRead, withRound } from './round.ts';

/**
 * How a stream continues after a failed fetch:
 * - `retry`: resume from the checkpoint at once
 * - `skip`: continue with what can still be read, and fail at the end (R9, R22)
 * - `fail`: fail; the next run resumes from the checkpoint
 * - `unavailable`: the service says that the stream is not live; its rows stay (R15)
 */
export interface RecoveryDecision {
  readonly outcome: 'retry' | 'skip' | 'fail' | 'unavailable';
  readonly checkpoint: Checkpoint;
  /** Discards what this read (its number) or the whole round saw and staged; null to keep it. */
  readonly forget: number | 'all' | null;
  readonly unreadHistory?: UnreadHistory;
  /** For the error message: what to do, or what happens next. */
  readonly advice?: string;
}

/** If this many tests in a row have no history and none is known to be live, histories are not (R15) or forbidden. */
const MAX_NOT_FOUND = 20;

type LocalRecovery = ReadRecovery | StreamRecovery;

/** Decides how a stream continues, by the kind of failure alone. */
export function recover(
  stream: Stream,
  checkpoint: ReadCheckpoint,
  { recovery }: SyncError,
  context: Context,
): RecoveryDecision {
  if (isRunRecovery(recovery)) return failed(checkpoint);
  if (stream.method === 'window') return recoverHistory(stream, checkpoint, recovery, context);
  const recovered = recoverRead(stream, checkpoint, recovery, context);
  // Any other failure concerns one list; the stream's other lists may still work.
  const isOver = recovered.outcome === 'fail' && recovery !== 'forbidden';
  if (!isOver || !mayWait(stream, checkpoint, context)) return recovered;
  return stream.method === 'feed' ? setAside(recovered, checkpoint, context) : dropped(recovered, context);
}

/** A due scan may wait if the feeds or marks can continue from a watermark (R9). */
function mayWait({ method }: Stream, { round, watermark, scanEndedCycle }: ReadCheckpoint, context: Context): boolean {
  if (round.mode !== 'scan' || scanEndedCycle === null) return false;
  if (round.reason === 'clock' || !isTrusted(watermark, context)) return false;
  return method === 'feed' || (method === 'marked' && round.reason !== 'clamp');
}

/** Leaves the scan to the next run, which resumes it if possible; this run continues with the feeds (R9). */
function setAside(decision: RecoveryDecision, { round }: ReadCheckpoint, context: Context): RecoveryDecision {
  const { checkpoint } = decision;
  const due = round.due ?? (round.reason === 'clamp' ? 'clamp' : null);
  const left = checkpoint.round === null ? null : { ...checkpoint.round, due };
  const scanDue = checkpoint.scanDue ?? (left === null ? due : null);
  return {
    ...decision,
    outcome: 'skip',
    checkpoint: {
      ...checkpoint,
      scanDue,
      round: null,
      // The feeds follow even if an earlier run of the cycle has read them.
      finishedCycle: null,
      scanTriedInRun: context.run,
      waitingScan: left,
    },
    advice: withAdvice(decision, 'The feeds continue. The next run tries the scan again.'),
  };
}

/** The next run scans from the start (R9): what a scan of a marked stream staged would mix with what marks read. */
function dropped(decision: RecoveryDecision, { run }: Context): RecoveryDecision {
  const checkpoint = { ...withoutRound(decision.checkpoint), finishedCycle: null, scanTriedInRun: run };
  return {
    ...decision,
    outcome: 'skip',
    checkpoint,
    forget: 'all',
    advice: withAdvice(decision, 'Marked rows are still read. The next run tries the scan again.'),
  };
}

function withAdvice({ advice }: RecoveryDecision, meanwhile: string): string {
  return advice === undefined ? meanwhile : `${advice} ${meanwhile}`;
}

function recoverRead(
  stream: Stream,
  checkpoint: ReadCheckpoint,
  recovery: LocalRecovery,
  context: Context,
): RecoveryDecision {
  switch (recovery) {
    case 'restart-read':
      return restartRead(stream, checkpoint, context);
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

/** A history that cannot be read is skipped, so the others are read (R22). A missing one is not a failure (R15). */
function recoverHistory(
  stream: Stream,
  checkpoint: ReadCheckpoint,
  recovery: LocalRecovery,
  context: Context,
): RecoveryDecision {
  const skipped = (): RecoveryDecision => skipHistory(stream, checkpoint, recovery);
  switch (recovery) {
    case 'restart-read': {
      const again = restartRead(stream, checkpoint, context);
      return again.outcome === 'retry' ? again : skipped();
    }
    case 'halve-page':
      return shrunkHistory(stream, checkpoint, context);
    case 'not-live':
    case 'forbidden':
      return isNoHistoryLive(checkpoint) ? recoverRead(stream, checkpoint, recovery, context) : skipped();
    case 'restart-round':
    case 'stream':
      return skipped();
  }
}

const TOO_LONG =
  'Its cursor has expired again. Give the next run more requests (--max-requests) or time (--max-wait), or sync more often.';

function restartRead(stream: Stream, checkpoint: ReadCheckpoint, context: Context): RecoveryDecision {
  const { read } = checkpoint.round;
  const attempts = attemptsOf(read, context);
  const again = { ...restarted(read, context), restarts: attempts.restarts + 1, restartRun: context.run };
  const decision = { checkpoint: withRead(checkpoint, again), forget: read.number };
  // An earlier run also started this list over, and did not finish it.
  const isTooLong = hasOldCursor(read, context.run) && read.restarts > 0 && read.restartRun !== context.run;
  if (isTooLong && mayWait(stream, checkpoint, context)) return { ...decision, outcome: 'fail', advice: TOO_LONG };
  return { ...decision, outcome: nextAttempt('restart-read', attempts) === null ? 'fail' : 'retry' };
}

/**
 * The checkpoint after a run that ended before a page had all its tries. The next run makes only the remaining ones, so
 * tries run out even if each run has few requests (R6, R24). Null if nothing has to be kept.
 */
export function cutOff(checkpoint: Checkpoint, { failedTries }: SyncError): ReadCheckpoint | null {
  if (!isInRead(checkpoint) || failedTries === null) return null;
  return withRead(checkpoint, { ...checkpoint.round.read, failedTries });
}

/** The read's attempts in this run so far (R7, R24). */
function attemptsOf({ query, restarts, restartRun, halvedRun }: Read, { run }: Context): ReadAttempts {
  return { restarts: restartRun === run ? restarts : 0, isHalved: halvedRun === run, limit: Number(query['limit']) };
}

/** Restarts the read at half its limit; null if it was already halved in this run, or cannot be. */
function halved(checkpoint: ReadCheckpoint, context: Context): RecoveryDecision | null {
  const { read } = checkpoint.round;
  const attempt = nextAttempt('halve-page', attemptsOf(read, context));
  if (attempt === null) return null;
  const again = { ...restarted(read, context, attempt.limit), halvedRun: context.run };
  return { outcome: 'retry', checkpoint: withRead(checkpoint, again), forget: read.number };
}

/** Halves the limit for a page too large for the service, once per run; later reads request no more (R24). */
function shrunk(checkpoint: ReadCheckpoint, context: Context): RecoveryDecision {
  const { read } = checkpoint.round;
  const rows = halfOf(Number(read.query['limit']));
  const limited = rows === null ? checkpoint : { ...checkpoint, pageLimit: { rows, at: context.serverTime } };
  return halved(limited, context) ?? { ...failed(limited), advice: adviceOn(read, rows) };
}

function adviceOn({ query }: Read, rows: number | null): string {
  const failing = `Pages of ${query['limit']} rows fail.`;
  if (rows === null)
    return `${failing} obsync requests no smaller pages: if it happens again, report it to the service.`;
  return `${failing} The next run requests ${rows}. A smaller --page-size takes effect at once.`;
}

/** Like `shrunk`, but the limit applies to this history only. */
function shrunkHistory(stream: Stream, checkpoint: ReadCheckpoint, context: Context): RecoveryDecision {
  const { read } = checkpoint.round;
  const unreadHistory = { testId: testIdOf(checkpoint), pageLimit: halfOf(Number(read.query['limit'])) };
  const again = halved(checkpoint, context);
  return { ...(again ?? skipHistory(stream, checkpoint, 'halve-page')), unreadHistory };
}

/** Fails the stream. The next run resumes the read with all its tries. */
function failed(checkpoint: ReadCheckpoint): RecoveryDecision {
  return { outcome: 'fail', checkpoint: withRead(checkpoint, withoutFailures(checkpoint.round.read)), forget: null };
}

/** Continues with the next test. The round stays complete only if the history does not exist. */
function skipHistory(stream: Stream, checkpoint: ReadCheckpoint, recovery: LocalRecovery): RecoveryDecision {
  const { round, watermark, unavailable: wasUnavailable } = checkpoint;
  const isMissing = recovery === 'not-live';
  const isLost = isMissing && (watermark === null || wasUnavailable || round.read.history?.wasRead === true);
  const consecutiveNotFound = round.consecutiveNotFound + (isLost || recovery === 'forbidden' ? 1 : 0);
  const incomplete = round.incomplete || !isMissing;
  const steps = stepsAfter(stream, round.steps);
  return {
    outcome: isMissing ? 'retry' : 'skip',
    checkpoint: withRound(checkpoint, { read: null, consecutiveNotFound, incomplete, steps }),
    forget: null,
    unreadHistory: { testId: testIdOf(checkpoint), pageLimit: null },
  };
}

/** The test whose history is being read; each read of a window stream is one history. */
function testIdOf({ round }: ReadCheckpoint): string {
  return round.read.history?.testId ?? '';
}

/** Whether too many tests in a row have no history, unless the last finished round showed that the service has them. */
function isNoHistoryLive({ watermark, unavailable: wasUnavailable, round }: ReadCheckpoint): boolean {
  const { pages, consecutiveNotFound } = round;
  return (watermark === null || wasUnavailable) && pages === 0 && consecutiveNotFound + 1 >= MAX_NOT_FOUND;
}

/** After a lost permission a scan is due: no feed returns the rows that become visible with it again (R13). */
function denied(stream: Stream, checkpoint: Checkpoint): Checkpoint {
  const scanDue = isScanned(stream) && checkpoint.scanEndedCycle !== null ? 'permission' : checkpoint.scanDue;
  return { ...withoutRound(checkpoint), scanDue };
}

function unavailable(checkpoint: Checkpoint, { cycle }: Context): RecoveryDecision {
  return {
    outcome: 'unavailable',
    checkpoint: { ...withoutRound(checkpoint), unavailable: true, finishedCycle: cycle, scanTriedInRun: null },
    forget: 'all',
  };
}
