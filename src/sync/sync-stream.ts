import type { Checkpoint, ReadCheckpoint, RoundCheckpoint } from '../core/checkpoint.ts';
import type { Context } from '../core/context.ts';
import { chooseRound } from '../core/decide/choose-round.ts';
import { checkpointAfterRound } from '../core/decide/finish-round.ts';
import { isOverdue, type LocalStep, lookUp, nextStep } from '../core/decide/next-step.ts';
import { pageOutcome } from '../core/decide/page-outcome.ts';
import { hasOldCursor } from '../core/decide/paging.ts';
import { cutOff, type RecoveryDecision, recover } from '../core/decide/recover.ts';
import { startRound, withRead, withRound } from '../core/decide/round.ts';
import { isHeld } from '../core/decide/shrink-guard.ts';
import { datedRead, roundReadAt, settledBefore } from '../core/decide/trusted-until.ts';
import { decodeRead } from '../core/decode/decode-slices.ts';
import { endsRun, SyncError } from '../core/errors.ts';
import type { Commit, Destination } from '../core/ports/destination.ts';
import type { Page, PageRequest, Source } from '../core/ports/source.ts';
import type { Stream, StreamName } from '../core/stream.ts';
import { addSeconds } from '../core/time/instant.ts';
import { createHistoryQueue, type HistoryQueue } from './history-queue.ts';
import type { StreamCounter } from './stream-counter.ts';

export interface StreamSync {
  readonly stream: Stream;
  readonly source: Source;
  readonly destination: Destination;
  /** The path segments before the stream's own path. */
  readonly prefix: readonly string[];
  readonly counter: StreamCounter;
  /** How many histories are requested at the same time. */
  readonly concurrency: number;
  /** The current context: T may become known during a run (R1). */
  context(): Context;
  /** @throws SyncError if the run must end */
  continueOrStop(): void;
  readonly skipped: SkippedReads;
}

/** Failures that a stream of a run continued after; it is not complete because of them (R9). */
interface SkippedReads {
  first: SyncError | null;
  count: number;
  /** Why the current list started over: its cursor was issued to an earlier run and has expired. Null if none did. */
  expiredCursor: SyncError | null;
}

/** How a stream ended. `lost`: it is unavailable, though it was live before (R15). */
export type StreamOutcome = 'done' | 'hourly' | 'waiting' | 'unavailable' | 'lost';

/**
 * Brings one stream up to date, page by page. With `unfinished`, it only continues a round of an earlier cycle and
 * stops once that round has ended or been set aside; the feeds follow in the stream's own turn (R6, R9).
 * @throws SyncError if the stream or the run fails
 */
export async function syncStream(sync: StreamSync, only?: 'unfinished'): Promise<StreamOutcome> {
  const { stream, destination, concurrency } = sync;
  const fetch = (request: PageRequest): Promise<Page> => fetchPage(sync, request);
  const histories = createHistoryQueue({ stream, destination, concurrency, fetch });
  const { checkpoint, markableStreams } = await destination.load(stream);
  try {
    return await takeSteps({ ...sync, visitedCursors: new Set(), markableStreams, histories }, checkpoint, only);
  } finally {
    await histories.close();
  }
}

function fetchPage({ source, prefix, counter }: StreamSync, request: PageRequest): Promise<Page> {
  return source.page({ ...request, path: [...prefix, ...request.path] }, counter.request);
}

/** A sync with what it carries from page to page. */
interface StreamWork extends StreamSync {
  /** The cursors of this read so far (R8). */
  readonly visitedCursors: Set<string>;
  readonly markableStreams: ReadonlySet<StreamName>;
  readonly histories: HistoryQueue;
}

async function takeSteps(work: StreamWork, stored: Checkpoint, only?: 'unfinished'): Promise<StreamOutcome> {
  const { stream, destination, markableStreams } = work;
  let checkpoint = stored;
  if (work.context().options.allowShrink && (await destination.outstanding(stream)).heldRemovals > 0) {
    // The stream reads again even if it has finished in this cycle: nothing is removed based on what an earlier run saw
    // (R14).
    checkpoint = { ...checkpoint, finishedCycle: null };
    if (stream.method === 'marked')
      await destination.commit(stream, { kind: 'mark-held', checkpoint }, markableStreams);
  }
  for (;;) {
    work.continueOrStop();
    const context = work.context();
    const isDue = checkpoint.round !== null && checkpoint.round.cycle !== context.cycle;
    if (only === 'unfinished' && !isDue) return stream.method === 'window' ? 'done' : throwIfSkipped(work, 'done');
    const step = await decideStep(work, checkpoint, context);
    if (step.do === 'rest')
      return throwIfSkipped(work, step.why === 'unavailable' ? lossIn(work, checkpoint) : step.why);
    if (step.do === 'fetch') {
      // Another stream may have ended the run during the lookup.
      work.continueOrStop();
      if (isOverdue(step.request.query, work.context())) continue;
      const fetched = await syncPage(work, step);
      if (fetched === 'unavailable') return throwIfSkipped(work, lossIn(work, checkpoint));
      checkpoint = fetched;
    } else if (step.do === 'finish') {
      checkpoint = await applyRoundEnd(work, step);
      // A history that cannot be read blocks none of the round that follows (R6, R22).
      if (!isDue || stream.method !== 'window') throwIfSkipped(work, checkpoint);
    } else if (step.do === 'forget') {
      const discard = { kind: 'discard', checkpoint: step.checkpoint, forget: step.which } as const;
      work.counter.add((await destination.commit(stream, discard, markableStreams)).counts);
      checkpoint = step.checkpoint;
    } else {
      checkpoint = step.checkpoint;
    }
  }
}

/** A history that was read without a server time is not complete (R1). */
const UNDATED =
  'No response had a Date header, so histories were read only as far back as the service returns them by default. Let the proxy pass the Date header.';

/** @throws SyncError if the stream has skipped something (R9, R22) */
function throwIfSkipped<Ended>({ stream, skipped: { first, count } }: StreamSync, ended: Ended): Ended {
  if (first === null) return ended;
  if (stream.method !== 'window' || count === 0) throw first;
  const what = count === 1 ? 'A history' : `${count} histories`;
  const text = `${what} could not be read; the next run reads ${count === 1 ? 'it' : 'them'} after all others. ${first.message}`;
  throw new SyncError('stream', text, { cause: first });
}

/**
 * What it means that a stream answers 404. Without a server time, it was live lately (R15).
 * @throws SyncError if the stream was live before, longer ago than the grace
 */
function lossIn({ stream, context }: StreamSync, { watermark }: Checkpoint): StreamOutcome {
  if (watermark === null) return 'unavailable';
  const { latestServerTime, options } = context();
  if (latestServerTime === null || addSeconds(watermark, options.graceSeconds) >= latestServerTime) return 'lost';
  const [answer, wayOut] =
    stream.method === 'window'
      ? ['no longer has any history (404)', 'histories are gone for good, sync without --history']
      : ['says that it is not live (404)', 'it is gone for good, leave it out: name the other streams with --stream'];
  const text = `The service ${answer}. Its rows are those of ${watermark}, when it was last read. If ${wayOut}.`;
  throw new SyncError('stream', text);
}

/** Decides the next step, and loads from the mirror what the decision needs. */
async function decideStep(work: StreamWork, checkpoint: Checkpoint, context: Context): Promise<LocalStep> {
  const { stream, destination, counter, histories } = work;
  const step = nextStep(stream, checkpoint, context);
  if (step.do === 'begin') {
    const roundStart = chooseRound(stream, checkpoint, context, await destination.facts(stream, step.query));
    if (roundStart.do === 'rest') return roundStart;
    histories.restart();
    counter.round(roundStart.round);
    return { do: 'continue', checkpoint: startRound(checkpoint, roundStart.round) };
  }
  if (step.do !== 'look-up') return step;
  const { about } = step.lookup;
  if (about === 'tests') return histories.next(step.checkpoint, context);
  // Each chunk of suspect rows is a step with its ids.
  if (about === 'suspect') return lookUp(stream, step.checkpoint, context, { ids: [], weighed: null });
  const { round } = step.checkpoint;
  const { lastMark, run, mode } = round;
  const backlog = await destination.backlog(stream, {
    about,
    after: step.lookup.after,
    before: step.lookup.before,
    lastMark,
    run,
    mode,
    settledBefore: settledBefore({ at: roundReadAt(round, context.serverTime) }, context),
  });
  return lookUp(stream, step.checkpoint, context, backlog);
}

/** Fetches and commits one page. If the fetch fails, it commits how the stream continues. */
async function syncPage(
  work: StreamWork,
  step: Extract<LocalStep, { do: 'fetch' }>,
): Promise<Checkpoint | 'unavailable'> {
  const { stream, destination, counter, skipped, visitedCursors, markableStreams, histories } = work;
  const { checkpoint } = step;
  counter.round(checkpoint.round);
  try {
    const sentInAdvance = histories.take(step);
    const page = await (sentInAdvance ?? fetchPage(work, step.request));
    if (step.request.cursor === null) visitedCursors.clear();
    const next = await takePage(work, checkpoint, page);
    if (page.nextCursor !== null) visitedCursors.add(page.nextCursor);
    if (!page.hasMore) skipped.expiredCursor = null;
    return next;
  } catch (error) {
    if (!(error instanceof SyncError)) throw error;
    if (endsRun(error)) {
      const kept = cutOff(checkpoint, error);
      if (kept !== null) await destination.commit(stream, { kind: 'page', checkpoint: kept }, markableStreams);
      throw error;
    }
    const recovered = recover(stream, checkpoint, error, work.context());
    await destination.commit(stream, commitOf(recovered), markableStreams);
    const advisedError = advised(error, recovered);
    if (recovered.outcome === 'fail') throw advisedError;
    const isOld = hasOldCursor(checkpoint.round.read, work.context().run);
    if (error.recovery === 'restart-read' && isOld) skipped.expiredCursor = error;
    if (recovered.outcome === 'skip') {
      skipped.first ??= advisedError;
      skipped.count += 1;
    }
    return recovered.outcome === 'unavailable' ? 'unavailable' : recovered.checkpoint;
  }
}

/**
 * Commits a page, or a heavy page slice by slice (R27); only the last slice advances the read (R5).
 * @returns the next checkpoint
 */
async function takePage(work: StreamWork, fetched: ReadCheckpoint, page: Page): Promise<Checkpoint> {
  const { stream, destination, counter, skipped, visitedCursors, markableStreams } = work;
  const now = work.context();
  const read = datedRead(fetched.round.read, now);
  const isCompared = stream.method === 'feed' || stream.subtype !== undefined;
  let checkpoint: RoundCheckpoint = fetched;
  for (const decoded of decodeRead(stream, read, page.items, now)) {
    const keys = decoded.rows.map((row) => row.key);
    const existing = isCompared ? await destination.existing(stream, keys) : new Map();
    const { commit, late } = pageOutcome(
      { stream, checkpoint: withRead(checkpoint, read), page, decoded, existing, visitedCursors, markableStreams },
      now,
    );
    counter.add({ rows: keys.length, late, pages: decoded.isPart ? 0 : 1 });
    counter.add((await destination.commit(stream, commit, markableStreams)).counts);
    if (commit.unreadHistory) skipped.first ??= new SyncError('stream', UNDATED);
    checkpoint = commit.checkpoint;
  }
  return checkpoint;
}

function advised(error: SyncError, { advice }: RecoveryDecision): SyncError {
  return advice === undefined ? error : new SyncError(error.recovery, `${error.message} ${advice}`, { cause: error });
}

function commitOf({ checkpoint, forget, unreadHistory }: RecoveryDecision): Commit {
  const history = unreadHistory === undefined ? {} : { unreadHistory };
  return forget === null
    ? { kind: 'page', checkpoint, ...history }
    : { kind: 'discard', checkpoint, forget, ...history };
}

/** Ends a round. Its removals are applied, or held back if there are too many (R14). */
async function applyRoundEnd(
  { stream, destination, counter, context, skipped, markableStreams }: StreamWork,
  { checkpoint, roundEnd }: Extract<LocalStep, { do: 'finish' }>,
): Promise<Checkpoint> {
  const now = context();
  // A history that failed in an earlier round of the run isn't read again in this one (R22).
  const isIncomplete = stream.method === 'window' && skipped.first !== null;
  const round = isIncomplete ? withRound(checkpoint, { incomplete: true }) : checkpoint;
  const ended = checkpointAfterRound(stream, round, roundEnd, now);
  const commit: Commit = {
    kind: 'round-end',
    checkpoint: ended,
    roundEnd: { ...roundEnd, isHeld: (removalCount) => isHeld(stream, removalCount, now) },
  };
  const result = await destination.commit(stream, commit, markableStreams);
  counter.add(result.counts);
  return result.checkpoint;
}
