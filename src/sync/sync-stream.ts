import { advance } from '../core/advance.ts';
import { begin } from '../core/begin.ts';
import type { Checkpoint, Round } from '../core/checkpoint.ts';
import type { Context } from '../core/context.ts';
import { decodePage } from '../core/decode.ts';
import type { Commit, Destination, Settlement } from '../core/destination.ts';
import { endsRun, SyncError } from '../core/errors.ts';
import { askFor, askForTest, begun, type Move, plan } from '../core/plan.ts';
import { recover } from '../core/recover.ts';
import { settled } from '../core/settled.ts';
import { isHeld } from '../core/shrink-guard.ts';
import type { PageRequest, Source } from '../core/source.ts';
import type { Stream, StreamName } from '../core/stream.ts';
import type { Tally } from './tally.ts';

/** One stream of one environment on its way: what it reads from, writes to and reports to. */
export interface Passage {
  readonly stream: Stream;
  readonly source: Source;
  readonly destination: Destination;
  /** Path segments under which the stream's own path stands. */
  readonly prefix: readonly string[];
  readonly tally: Tally;
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
  const { stream, destination } = passage;
  const marking = markedStreams(stream, destination);
  const met = new Set<string>();
  let checkpoint = destination.load(stream.name);
  if (passage.context().options.allowShrink && destination.heldBack(stream) > 0) {
    passage.tally.count(destination.commit(stream, { checkpoint, release: true }, marking));
  }
  for (;;) {
    passage.continueOrStop();
    const context = passage.context();
    if (only === 'unfinished' && (checkpoint.round === null || checkpoint.round.pass === context.pass)) return 'done';
    const step = next(passage, checkpoint, context);
    if (step.do === 'rest') return step.why;
    if (step.do === 'fetch') {
      const fetched = await passPage(passage, step, { met, marking });
      if (fetched === 'unavailable') return fetched;
      checkpoint = fetched;
    } else if (step.do === 'settle') {
      checkpoint = settle(passage, checkpoint, step.settlement, marking);
    } else if (step.do === 'forget') {
      passage.tally.count(destination.commit(stream, { checkpoint: step.checkpoint, forget: 'all' }, marking));
      checkpoint = step.checkpoint;
    } else {
      checkpoint = step.checkpoint;
    }
  }
}

/** Plans, and looks up what the plan asks the mirror for. */
function next({ stream, destination, tally }: Passage, checkpoint: Checkpoint, context: Context): Move {
  const step = plan(stream, checkpoint, context);
  if (step.do === 'begin') {
    const beginning = begin(stream, checkpoint, context, destination.facts(stream, step.since));
    if (beginning.do === 'rest') return beginning;
    tally.round(beginning.round);
    return { do: 'go', checkpoint: begun(checkpoint, beginning.round) };
  }
  if (step.do !== 'ask') return step;
  const { about } = step.ask;
  if (about === 'tests') {
    return askForTest(stream, checkpoint, context, destination.dueTest(stream, step.ask.after));
  }
  const { lastMark } = checkpoint.round as Round;
  const owed = destination.owed(stream, { about, after: step.ask.after, lastMark, before: step.ask.before });
  return { do: 'go', checkpoint: askFor(stream, checkpoint, context, owed) };
}

interface Memory {
  readonly met: Set<string>;
  readonly marking: ReadonlySet<StreamName>;
}

/** Fetches one page and commits it, or what becomes of the stream without it. */
async function passPage(
  passage: Passage,
  step: Extract<Move, { do: 'fetch' }>,
  { met, marking }: Memory,
): Promise<Checkpoint | 'unavailable'> {
  const { stream, destination, tally } = passage;
  const { checkpoint } = step;
  tally.round(checkpoint.round as Round);
  try {
    const page = await passage.source.page(absolute(passage, step.request), tally.request);
    const decoded = decodePage(stream, page.items, checkpoint.round?.read?.as === 'tombstones');
    const held = usesHeld(stream)
      ? destination.held(
          stream,
          decoded.rows.map((row) => row.key),
        )
      : new Map();
    if (step.request.cursor === null) met.clear();
    const { commit, late } = advance({ stream, checkpoint, page, decoded, held, met, marking }, passage.context());
    if (page.nextCursor !== null) met.add(page.nextCursor);
    tally.page(decoded.rows.length, late);
    tally.count(destination.commit(stream, commit, marking));
    return commit.checkpoint;
  } catch (error) {
    if (!(error instanceof SyncError) || endsRun(error)) throw error;
    const recovered = recover(stream, checkpoint, error, passage.context());
    const forget: Partial<Commit> = recovered.forget === null ? {} : { forget: recovered.forget };
    destination.commit(stream, { checkpoint: recovered.checkpoint, ...forget }, marking);
    if (recovered.outcome === 'fail') throw error;
    return recovered.outcome === 'unavailable' ? 'unavailable' : recovered.checkpoint;
  }
}

/** Ends a round: what is gone goes, unless so much is gone that it has to wait (R14). */
function settle(
  { stream, destination, tally, context }: Passage,
  checkpoint: Checkpoint,
  settlement: Settlement,
  marking: ReadonlySet<StreamName>,
): Checkpoint {
  const hold = isHeld(stream, destination.weigh(stream, settlement), context());
  const ended = settled(stream, checkpoint, settlement, context());
  tally.count(destination.commit(stream, { checkpoint: ended, settle: { ...settlement, hold } }, marking));
  // Not `ended` itself: a stream that was marked meanwhile has not finished (R9).
  return destination.load(stream.name);
}

/** Streams that follow this one and have begun their first scan: before that they need no marks, the scan shows all. */
export function markedStreams(stream: Stream, destination: Destination): ReadonlySet<StreamName> {
  const begun = (name: StreamName): boolean => {
    const { scanEndedPass, round } = destination.load(name);
    return scanEndedPass !== null || round !== null;
  };
  return new Set(stream.marks.map((rule) => rule.stream).filter(begun));
}

function usesHeld(stream: Stream): boolean {
  return stream.method === 'feed' || stream.within !== undefined;
}

function absolute({ prefix }: Passage, request: PageRequest): PageRequest {
  return { ...request, path: [...prefix, ...request.path] };
}
