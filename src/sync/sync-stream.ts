import type { Checkpoint, RoundCheckpoint } from '../core/checkpoint.ts';
import { chooseRound } from '../core/choose-round.ts';
import type { Context } from '../core/context.ts';
import { decodeRead } from '../core/decode-read.ts';
import type { Commit, Destination } from '../core/destination.ts';
import { endsRun, SyncError } from '../core/errors.ts';
import { finishRound, unconfirmedMarks } from '../core/finish-round.ts';
import { type LocalStep, lookUp, nextStep } from '../core/next-step.ts';
import { type PageInput, pageOutcome } from '../core/page-outcome.ts';
import { cutOff, type RecoveryDecision, recover } from '../core/recover.ts';
import { startRound, withRead } from '../core/round.ts';
import { isHeld } from '../core/shrink-guard.ts';
import type { Page, PageRequest, Source } from '../core/source.ts';
import type { Stream, StreamName } from '../core/stream.ts';
import { createHistoryQueue, type HistoryQueue } from './history-queue.ts';
import type { StreamCounter } from './stream-counter.ts';

/** One stream of one environment on its way: what it reads from, writes to and reports to. */
export interface StreamSync {
  readonly stream: Stream;
  readonly source: Source;
  readonly destination: Destination;
  /** Path segments under which the stream's own path stands. */
  readonly prefix: readonly string[];
  readonly tally: StreamCounter;
  /** Histories asked for side by side. */
  readonly concurrency: number;
  /** The circumstances now: T may become known while a run goes on (R1). */
  context(): Context;
  /** @throws SyncError when the run has to end */
  continueOrStop(): void;
}

/** How a stream ended. */
export type StreamOutcome = 'done' | 'hourly' | 'waiting' | 'unavailable';

/**
 * Brings one stream up to date, one page at a time. `unfinished` goes on with a round of an earlier cycle alone and rests
 * when that has ended (R6). @throws SyncError when the stream, or the run, fails
 */
export async function syncStream(streamSync: StreamSync, only?: 'unfinished'): Promise<StreamOutcome> {
  const { stream, destination, concurrency, tally } = streamSync;
  const fetch = (request: PageRequest): Promise<Page> => {
    return streamSync.source.page(absolute(streamSync, request), tally.request);
  };
  const histories = createHistoryQueue({ stream, destination, concurrency, fetch });
  const pagingState = {
    visitedCursors: new Set<string>(),
    markableStreams: await findMarkableStreams(stream, destination),
    histories,
    passedOver: { first: null, count: 0 },
  };
  try {
    return await takeSteps(streamSync, pagingState, only);
  } finally {
    await histories.close();
  }
}

/** What one stream's part of a run remembers from page to page. */
interface PagingState {
  /** Cursors met before in this read (R8). */
  readonly visitedCursors: Set<string>;
  readonly markableStreams: ReadonlySet<StreamName>;
  readonly histories: HistoryQueue;
  /** Failures that the stream went on after: with them it is not complete (R9). */
  readonly passedOver: { first: SyncError | null; count: number };
}

async function takeSteps(
  streamSync: StreamSync,
  pagingState: PagingState,
  only?: 'unfinished',
): Promise<StreamOutcome> {
  const { stream, destination } = streamSync;
  let checkpoint = await destination.load(stream.name);
  if (streamSync.context().options.allowShrink && (await destination.heldRemovals(stream)) > 0) {
    streamSync.tally.count(
      await destination.commit(stream, { kind: 'release', checkpoint }, pagingState.markableStreams),
    );
  }
  for (;;) {
    streamSync.continueOrStop();
    const context = streamSync.context();
    const isDue = checkpoint.round !== null && checkpoint.round.cycle !== context.cycle;
    if (only === 'unfinished' && !isDue && pagingState.passedOver.first === null) return 'done';
    const step = await next(streamSync, checkpoint, context, pagingState.histories);
    if (step.do === 'rest') return step.why;
    if (step.do === 'fetch') {
      // Others may have ended the run while the mirror was asked.
      streamSync.continueOrStop();
      const fetched = await syncPage(streamSync, step, pagingState);
      if (fetched === 'unavailable') return complete(stream, fetched, pagingState);
      checkpoint = fetched;
    } else if (step.do === 'finish') {
      checkpoint = complete(stream, await applyRoundEnd(streamSync, step, pagingState.markableStreams), pagingState);
    } else if (step.do === 'forget') {
      streamSync.tally.count(
        await destination.commit(
          stream,
          { kind: 'discard', checkpoint: step.checkpoint, forget: step.which },
          pagingState.markableStreams,
        ),
      );
      checkpoint = step.checkpoint;
    } else {
      const { passedOver } = step;
      checkpoint = step.checkpoint;
      if (passedOver !== undefined)
        await destination.commit(stream, { kind: 'page', checkpoint, ...passedOver }, pagingState.markableStreams);
    }
  }
}

/** @throws SyncError for what was passed over on the way to a good end (R9, R22) */
function complete<Ended>(stream: Stream, ended: Ended, { passedOver }: PagingState): Ended {
  const { first, count } = passedOver;
  if (first === null) return ended;
  if (stream.method !== 'window') throw first;
  const what = count === 1 ? 'A history' : `${count} histories`;
  const text = `${what} could not be read; the next run asks again, after all others. ${first.message}`;
  throw new SyncError('stream', text, { cause: first });
}

/** Decides the next step, and makes the lookups in the mirror that the decision needs. */
async function next(
  { stream, destination, tally }: StreamSync,
  checkpoint: Checkpoint,
  context: Context,
  histories: HistoryQueue,
): Promise<LocalStep> {
  const step = nextStep(stream, checkpoint, context);
  if (step.do === 'begin') {
    const beginning = chooseRound(stream, checkpoint, context, await destination.facts(stream, step.since));
    if (beginning.do === 'rest') return beginning;
    tally.round(beginning.round);
    return { do: 'continue', checkpoint: startRound(checkpoint, beginning.round) };
  }
  if (step.do !== 'look-up') return step;
  const { about } = step.lookup;
  if (about === 'tests') return histories.next(step.checkpoint, context);
  const { lastMark, run, mode } = step.checkpoint.round;
  const owed = await destination.backlog(stream, {
    about,
    after: step.lookup.after,
    before: step.lookup.before,
    lastMark,
    run,
    mode,
  });
  return lookUp(stream, step.checkpoint, context, owed);
}

/** Fetches one page and commits it, or what becomes of the stream without it. */
async function syncPage(
  streamSync: StreamSync,
  step: Extract<LocalStep, { do: 'fetch' }>,
  { visitedCursors, markableStreams, histories, passedOver }: PagingState,
): Promise<Checkpoint | 'unavailable'> {
  const { stream, destination, tally } = streamSync;
  const { checkpoint } = step;
  tally.round(checkpoint.round);
  try {
    const sentAhead = histories.take(step);
    const page = await (sentAhead ?? streamSync.source.page(absolute(streamSync, step.request), tally.request));
    if (step.request.cursor === null) visitedCursors.clear();
    const next = await takePage(streamSync, { checkpoint, page, visitedCursors, markableStreams });
    if (page.nextCursor !== null) visitedCursors.add(page.nextCursor);
    return next;
  } catch (error) {
    if (!(error instanceof SyncError)) throw error;
    if (endsRun(error)) {
      const kept = cutOff(checkpoint, error);
      if (kept !== null) await destination.commit(stream, { kind: 'page', checkpoint: kept }, markableStreams);
      throw error;
    }
    const recovered = recover(stream, checkpoint, error, streamSync.context());
    await destination.commit(stream, commitOf(recovered), markableStreams);
    const told = advised(error, recovered);
    if (recovered.outcome === 'fail') throw told;
    if (recovered.outcome === 'pass-over') {
      passedOver.first ??= told;
      passedOver.count += 1;
    }
    return recovered.outcome === 'unavailable' ? 'unavailable' : recovered.checkpoint;
  }
}

/** Commits a page, a heavy one slice by slice (R27): only the last moves the read on (R5). @returns the next checkpoint */
async function takePage(
  { stream, destination, tally, context }: StreamSync,
  { page, ...before }: Pick<PageInput, 'checkpoint' | 'page' | 'visitedCursors' | 'markableStreams'>,
): Promise<Checkpoint> {
  const { visitedCursors, markableStreams } = before;
  const now = context();
  const { read } = before.checkpoint.round;
  let checkpoint: RoundCheckpoint = before.checkpoint;
  for (const decoded of decodeRead(stream, read, page.items, now)) {
    const keys = decoded.rows.map((row) => row.key);
    const existing = usesExisting(stream) ? await destination.existing(stream, keys) : new Map();
    const { commit, late } = pageOutcome(
      { stream, checkpoint: withRead(checkpoint, read), page, decoded, existing, visitedCursors, markableStreams },
      now,
    );
    tally.slice({ rows: keys.length, late, pages: decoded.isPart ? 0 : 1 });
    tally.count(await destination.commit(stream, commit, markableStreams));
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

/** Ends a round: what is gone goes, unless so much is gone that it has to wait (R14). */
async function applyRoundEnd(
  { stream, destination, tally, context }: StreamSync,
  { checkpoint, roundEnd }: Extract<LocalStep, { do: 'finish' }>,
  markableStreams: ReadonlySet<StreamName>,
): Promise<Checkpoint> {
  const hold = isHeld(stream, await destination.countRemovals(stream, roundEnd), context());
  const ended = finishRound(stream, checkpoint, roundEnd, context());
  const commit: Commit = {
    kind: 'round-end',
    checkpoint: ended,
    roundEnd: { ...roundEnd, hold },
    ...unconfirmedMarks(stream, checkpoint.round),
  };
  tally.count(await destination.commit(stream, commit, markableStreams));
  // Not `ended` itself: a stream that was marked meanwhile has not finished (R9).
  return destination.load(stream.name);
}

/** Streams that follow this one and have begun their first scan: before that they need no marks, the scan shows all. */
export async function findMarkableStreams(stream: Stream, destination: Destination): Promise<ReadonlySet<StreamName>> {
  const marked = new Set<StreamName>();
  for (const { stream: name } of stream.marks) {
    const { scanEndedCycle, round } = await destination.load(name);
    if (scanEndedCycle !== null || round !== null) marked.add(name);
  }
  return marked;
}

function usesExisting(stream: Stream): boolean {
  return stream.method === 'feed' || stream.subtype !== undefined;
}

function absolute({ prefix }: StreamSync, request: PageRequest): PageRequest {
  return { ...request, path: [...prefix, ...request.path] };
}
