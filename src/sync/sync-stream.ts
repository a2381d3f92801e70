import { type Arrival, advance } from '../core/advance.ts';
import { begin } from '../core/begin.ts';
import type { Checkpoint, Read, Round } from '../core/checkpoint.ts';
import type { Context } from '../core/context.ts';
import { decodeRead } from '../core/decode-read.ts';
import type { Commit, Destination, Settlement } from '../core/destination.ts';
import { endsRun, SyncError } from '../core/errors.ts';
import { askFor, begun, type Move, plan } from '../core/plan.ts';
import { cutOff, type Recovered, recover } from '../core/recover.ts';
import { settled, unasked } from '../core/settled.ts';
import { isHeld } from '../core/shrink-guard.ts';
import type { Page, PageRequest, Source } from '../core/source.ts';
import type { Stream, StreamName } from '../core/stream.ts';
import { createHistoryQueue, type HistoryQueue } from './history-queue.ts';
import type { Tally } from './tally.ts';

/** One stream of one environment on its way: what it reads from, writes to and reports to. */
export interface Passage {
  readonly stream: Stream;
  readonly source: Source;
  readonly destination: Destination;
  /** Path segments under which the stream's own path stands. */
  readonly prefix: readonly string[];
  readonly tally: Tally;
  /** Histories asked for side by side. */
  readonly concurrency: number;
  /** The circumstances now: T may become known while a run goes on (R1). */
  context(): Context;
  /** @throws SyncError when the run has to end */
  continueOrStop(): void;
}

/** How a stream came to rest. */
export type Rest = 'done' | 'hourly' | 'waiting' | 'unavailable';

/**
 * Brings one stream up to date, one page at a time. `unfinished` goes on with a round of an earlier pass alone and rests
 * when that has ended (R6). @throws SyncError when the stream, or the run, fails
 */
export async function syncStream(passage: Passage, only?: 'unfinished'): Promise<Rest> {
  const { stream, destination, concurrency, tally } = passage;
  const fetch = (request: PageRequest): Promise<Page> => {
    return passage.source.page(absolute(passage, request), tally.request);
  };
  const histories = createHistoryQueue({ stream, destination, concurrency, fetch });
  const memory = {
    met: new Set<string>(),
    marking: await markedStreams(stream, destination),
    histories,
    passedOver: { first: null, count: 0 },
  };
  try {
    return await takeSteps(passage, memory, only);
  } finally {
    await histories.close();
  }
}

/** What one stream's part of a run remembers from page to page. */
interface Memory {
  /** Cursors met before in this read (R8). */
  readonly met: Set<string>;
  readonly marking: ReadonlySet<StreamName>;
  readonly histories: HistoryQueue;
  /** Failures that the stream went on after: with them it is not complete (R9). */
  readonly passedOver: { first: SyncError | null; count: number };
}

async function takeSteps(passage: Passage, memory: Memory, only?: 'unfinished'): Promise<Rest> {
  const { stream, destination } = passage;
  let checkpoint = await destination.load(stream.name);
  if (passage.context().options.allowShrink && (await destination.heldBack(stream)) > 0) {
    passage.tally.count(await destination.commit(stream, { checkpoint, release: true }, memory.marking));
  }
  for (;;) {
    passage.continueOrStop();
    const context = passage.context();
    const isDue = checkpoint.round !== null && checkpoint.round.pass !== context.pass;
    if (only === 'unfinished' && !isDue && memory.passedOver.first === null) return 'done';
    const step = await next(passage, checkpoint, context, memory.histories);
    if (step.do === 'rest') return step.why;
    if (step.do === 'fetch') {
      // Others may have ended the run while the mirror was asked.
      passage.continueOrStop();
      const fetched = await passPage(passage, step, memory);
      if (fetched === 'unavailable') return complete(stream, fetched, memory);
      checkpoint = fetched;
    } else if (step.do === 'settle') {
      checkpoint = complete(stream, await settle(passage, checkpoint, step.settlement, memory.marking), memory);
    } else if (step.do === 'forget') {
      passage.tally.count(
        await destination.commit(stream, { checkpoint: step.checkpoint, forget: step.which }, memory.marking),
      );
      checkpoint = step.checkpoint;
    } else {
      const { passedOver } = step;
      checkpoint = step.checkpoint;
      if (passedOver !== undefined) await destination.commit(stream, { checkpoint, ...passedOver }, memory.marking);
    }
  }
}

/** @throws SyncError for what was passed over on the way to a good end (R9, R22) */
function complete<Ended>(stream: Stream, ended: Ended, { passedOver }: Memory): Ended {
  const { first, count } = passedOver;
  if (first === null) return ended;
  if (stream.method !== 'window') throw first;
  const what = count === 1 ? 'A history' : `${count} histories`;
  const text = `${what} could not be read; the next run asks again, after all others. ${first.message}`;
  throw new SyncError('stream', text, { cause: first });
}

/** Plans, and looks up what the plan asks the mirror for. */
async function next(
  { stream, destination, tally }: Passage,
  checkpoint: Checkpoint,
  context: Context,
  histories: HistoryQueue,
): Promise<Move> {
  const step = plan(stream, checkpoint, context);
  if (step.do === 'begin') {
    const beginning = begin(stream, checkpoint, context, await destination.facts(stream, step.since));
    if (beginning.do === 'rest') return beginning;
    tally.round(beginning.round);
    return { do: 'go', checkpoint: begun(checkpoint, beginning.round) };
  }
  if (step.do !== 'ask') return step;
  const { about } = step.ask;
  if (about === 'tests') return histories.next(checkpoint, context);
  const { lastMark, run, mode } = checkpoint.round as Round;
  const owed = await destination.owed(stream, {
    about,
    after: step.ask.after,
    before: step.ask.before,
    lastMark,
    run,
    mode,
  });
  return askFor(stream, checkpoint, context, owed);
}

/** Fetches one page and commits it, or what becomes of the stream without it. */
async function passPage(
  passage: Passage,
  step: Extract<Move, { do: 'fetch' }>,
  { met, marking, histories, passedOver }: Memory,
): Promise<Checkpoint | 'unavailable'> {
  const { stream, destination, tally } = passage;
  const { checkpoint } = step;
  tally.round(checkpoint.round as Round);
  try {
    const sentAhead = histories.take(step);
    const page = await (sentAhead ?? passage.source.page(absolute(passage, step.request), tally.request));
    if (step.request.cursor === null) met.clear();
    const next = await takePage(passage, { checkpoint, page, met, marking });
    if (page.nextCursor !== null) met.add(page.nextCursor);
    return next;
  } catch (error) {
    if (!(error instanceof SyncError)) throw error;
    if (endsRun(error)) {
      const kept = cutOff(checkpoint, error);
      if (kept !== null) await destination.commit(stream, { checkpoint: kept }, marking);
      throw error;
    }
    const recovered = recover(stream, checkpoint, error, passage.context());
    await destination.commit(stream, commitOf(recovered), marking);
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
  { stream, destination, tally, context }: Passage,
  { page, ...before }: Pick<Arrival, 'checkpoint' | 'page' | 'met' | 'marking'>,
): Promise<Checkpoint> {
  const { met, marking } = before;
  const now = context();
  const read = before.checkpoint.round?.read as Read;
  let { checkpoint } = before;
  for (const decoded of decodeRead(stream, read, page.items, now)) {
    const keys = decoded.rows.map((row) => row.key);
    const held = usesHeld(stream) ? await destination.held(stream, keys) : new Map();
    const { commit, late } = advance({ stream, checkpoint, page, decoded, held, met, marking }, now);
    tally.slice({ rows: keys.length, late, pages: decoded.isPart ? 0 : 1 });
    tally.count(await destination.commit(stream, commit, marking));
    checkpoint = commit.checkpoint;
  }
  return checkpoint;
}

function advised(error: SyncError, { advice }: Recovered): SyncError {
  return advice === undefined ? error : new SyncError(error.recovery, `${error.message} ${advice}`, { cause: error });
}

function commitOf({ checkpoint, forget, unreadHistory }: Recovered): Commit {
  return {
    checkpoint,
    ...(forget === null ? {} : { forget }),
    ...(unreadHistory === undefined ? {} : { unreadHistory }),
  };
}

/** Ends a round: what is gone goes, unless so much is gone that it has to wait (R14). */
async function settle(
  { stream, destination, tally, context }: Passage,
  checkpoint: Checkpoint,
  settlement: Settlement,
  marking: ReadonlySet<StreamName>,
): Promise<Checkpoint> {
  const hold = isHeld(stream, await destination.weigh(stream, settlement), context());
  const ended = settled(stream, checkpoint, settlement, context());
  const commit = { checkpoint: ended, settle: { ...settlement, hold }, ...unasked(stream, checkpoint.round as Round) };
  tally.count(await destination.commit(stream, commit, marking));
  // Not `ended` itself: a stream that was marked meanwhile has not finished (R9).
  return destination.load(stream.name);
}

/** Streams that follow this one and have begun their first scan: before that they need no marks, the scan shows all. */
export async function markedStreams(stream: Stream, destination: Destination): Promise<ReadonlySet<StreamName>> {
  const marked = new Set<StreamName>();
  for (const { stream: name } of stream.marks) {
    const { scanEndedPass, round } = await destination.load(name);
    if (scanEndedPass !== null || round !== null) marked.add(name);
  }
  return marked;
}

function usesHeld(stream: Stream): boolean {
  return stream.method === 'feed' || stream.within !== undefined;
}

function absolute({ prefix }: Passage, request: PageRequest): PageRequest {
  return { ...request, path: [...prefix, ...request.path] };
}
