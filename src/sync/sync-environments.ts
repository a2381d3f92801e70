import PQueue from 'p-queue';
import type { Context } from '../core/context.ts';
import { type LeftOver, withFollowers } from '../core/cycle.ts';
import type { Environment } from '../core/environments.ts';
import { endsRun, SyncError } from '../core/errors.ts';
import type { Stream, StreamName } from '../core/stream.ts';
import type { OpenMirror, RunPorts } from './ports.ts';
import { endingOf, summaryOf } from './stream-summary.ts';
import type { StreamSummary } from './summary.ts';
import { type Passage, syncStream } from './sync-stream.ts';
import { createTally, type Tallied, type Tally } from './tally.ts';

/** What all streams of a run share. */
export interface Session {
  /** Every collection that there is. */
  readonly catalogue: readonly Stream[];
  readonly ports: RunPorts;
  readonly mirror: OpenMirror;
  readonly streams: readonly Stream[];
  readonly concurrency: number;
  /** By environment, the streams that failed at their last try: they go last (R6). */
  readonly late: ReadonlyMap<string, ReadonlySet<StreamName>>;
  context(): Context;
}

/** What a run has come to so far. A stream that it has not come to costs nothing (R27), and is not in here. */
export interface Reached {
  readonly summaries: Map<string, StreamSummary>;
  /** Removals held back of streams it has not come to (R14). */
  heldElsewhere: readonly StreamSummary[];
  /** What is left if the run is stopped now (R6). */
  leftOver: LeftOver;
  /** How many streams it has not come to when it ends. */
  notReached: number;
}

export function keyOf(environment: Environment, stream: Pick<Stream, 'name'>): string {
  return `${environment.id} ${stream.name}`;
}

/**
 * Brings every stream of the environments up to date: unfinished rounds of earlier cycles first, what failed last time last (R6).
 * A stream that fails stops no other (R9). @throws SyncError when the run has to end
 */
export async function syncEnvironments(
  session: Session,
  environments: readonly Environment[],
  reached: Reached,
): Promise<void> {
  const queue = new PQueue({ concurrency: session.concurrency });
  const work: Work = { session, reached, queue, tasks: new Map(), unended: new Map(), stopped: null };
  const unfinished = await session.mirror.state.unfinishedStreams(session.context().pass);
  const lateOf = ({ id }: Environment) => session.late.get(id) ?? NONE;
  const failed = (environment: Environment, stream: Stream): boolean =>
    FAILED.has(reached.summaries.get(keyOf(environment, stream))?.status ?? 'done');
  await inTurn(work, environments, (environment) => {
    const first = unfinished.get(environment.id) ?? [];
    const streams = session.streams.filter(({ name }) => first.includes(name) && !lateOf(environment).has(name));
    return syncStreams(work, environment, streams, 'unfinished');
  });
  await inTurn(work, environments, async (environment) => {
    const streams = session.streams.filter(
      (stream) => !lateOf(environment).has(stream.name) && !failed(environment, stream),
    );
    await syncStreams(work, environment, streams);
    if (!session.late.has(environment.id)) work.tasks.delete(environment.id);
  });
  if (work.stopped === null) reached.leftOver = 'failed';
  await inTurn(work, environments, (environment) => {
    const streams = withFollowers(session.streams, lateOf(environment)).filter((each) => !failed(environment, each));
    return syncStreams(work, environment, streams);
  });
  for (const end of work.unended.values()) await end();
  reached.notReached = environments.length * session.streams.length - reached.summaries.size;
  reached.heldElsewhere = await heldElsewhere(session, environments, reached);
  if (work.stopped !== null) throw work.stopped;
}

const NONE: ReadonlySet<StreamName> = new Set();
const FAILED: ReadonlySet<StreamSummary['status']> = new Set(['failed', 'denied', 'stopped']);

interface Work {
  readonly session: Session;
  readonly reached: Reached;
  readonly queue: PQueue;
  /** Of the environments under way. */
  readonly tasks: Map<string, Map<StreamName, Task>>;
  /** Streams whose unfinished round has ended, and that have to go on: by key, what tells of one that the run does not come to again. */
  readonly unended: Map<string, () => Promise<void>>;
  /** Why the run has to end. */
  stopped: SyncError | null;
}

/** One stream of one environment in a run. */
interface Task {
  readonly tally: Tally;
  readonly passage: Passage;
  readonly startedAt: string;
}

/** A few environments at once: what the others need is made when their turn comes. A run that has to end begins no more of them. */
async function inTurn(
  work: Work,
  environments: readonly Environment[],
  go: (environment: Environment) => Promise<void>,
): Promise<void> {
  const coming = environments.values();
  let broken = false;
  const lane = async (): Promise<void> => {
    for (const environment of coming) {
      if (broken || work.stopped !== null) return;
      await go(environment).catch((error: unknown) => {
        broken = true;
        throw error;
      });
    }
  };
  const lanes = await Promise.allSettled(Array.from({ length: work.session.concurrency }, lane));
  const failure = lanes.find((result) => result.status === 'rejected');
  if (failure !== undefined) throw failure.reason;
}

/** Streams wait for those they follow (`after`), whether these succeed or not. */
async function syncStreams(
  work: Work,
  environment: Environment,
  streams: readonly Stream[],
  only?: 'unfinished',
): Promise<void> {
  const begun = new Map<StreamName, Promise<void>>();
  for (const stream of streams) {
    const before = stream.after.flatMap((name) => begun.get(name) ?? []);
    const done = Promise.allSettled(before).then(() => work.queue.add(() => go(work, environment, stream, only)));
    begun.set(stream.name, done);
  }
  const failure = (await Promise.allSettled(begun.values())).find((result) => result.status === 'rejected');
  if (failure !== undefined) throw failure.reason;
}

async function go(work: Work, environment: Environment, stream: Stream, only?: 'unfinished'): Promise<void> {
  const { ports, mirror, context } = work.session;
  const key = keyOf(environment, stream);
  const { tally, passage, startedAt } = taskOf(work, environment, stream);
  const before = workOf(tally.total());
  const wasEnded = !work.unended.delete(key);
  const ending = await endingOf(syncStream(passage, only));
  if (endsRun(ending.error)) work.stopped ??= ending.error;
  if (only === 'unfinished' && ending.error === null) work.unended.set(key, () => go(work, environment, stream));
  const tallied = tally.total();
  // Not come to, or not again.
  if (endsRun(ending.error) && workOf(tallied) === before && wasEnded) return;
  const times = { startedAt, endedAt: ports.clock() };
  const held = await passage.destination.heldBack(stream);
  const standing = await passage.destination.rejected(stream);
  const summary = summaryOf(environment, stream, { ending, tallied, times, held, standing });
  const { environment: _, rows_held: __, rejected_standing: ___, seconds: ____, ...row } = summary;
  await mirror.state.recordStreamRun({ ...row, run_id: context().run });
  work.reached.summaries.set(key, summary);
  // With the end of an unfinished round alone the stream has not ended: the run comes to it again (R6).
  if (only === undefined || ending.error !== null)
    ports.onProgress({ type: 'ended', environment, summary, error: ending.error });
}

function workOf({ requests, written, deleted }: Tallied): number {
  return requests + written + deleted;
}

function taskOf(work: Work, environment: Environment, stream: Stream): Task {
  const tasks = work.tasks.get(environment.id) ?? new Map<StreamName, Task>();
  work.tasks.set(environment.id, tasks);
  const task = tasks.get(stream.name) ?? createTask(work, environment, stream);
  tasks.set(stream.name, task);
  return task;
}

function createTask(work: Work, environment: Environment, stream: Stream): Task {
  const { ports, mirror, context } = work.session;
  const tally = createTally((tallied) =>
    ports.onProgress({ type: 'stream', environment, stream: stream.name, tallied }),
  );
  const passage: Passage = {
    stream,
    source: ports.source,
    destination: mirror.destination(environment.id, context().run),
    prefix: [environment.id],
    tally,
    concurrency: work.session.concurrency,
    context,
    continueOrStop() {
      if (work.stopped !== null) throw work.stopped;
      if (ports.signal.aborted) throw new SyncError('signal', 'stopped by a signal: run again to go on');
    },
  };
  return { tally, passage, startedAt: ports.clock() };
}

/** Every run says what is held back in its environments, whichever streams it comes to (R14). */
async function heldElsewhere(
  session: Session,
  environments: readonly Environment[],
  { summaries }: Reached,
): Promise<StreamSummary[]> {
  const { mirror, ports, context, catalogue } = session;
  const holding = new Set((await mirror.state.streamsHoldingBack()).map(({ envId, stream }) => `${envId} ${stream}`));
  const times = { startedAt: ports.clock(), endedAt: ports.clock() };
  const ending = { rest: 'unread', error: null } as const;
  const tallied = createTally(() => {}).total();
  const others = (environment: Environment): readonly Stream[] =>
    catalogue.filter((each) => holding.has(keyOf(environment, each)) && !summaries.has(keyOf(environment, each)));
  if (holding.size === 0) return [];
  const found: StreamSummary[] = [];
  for (const environment of environments)
    for (const stream of others(environment)) {
      const held = await mirror.destination(environment.id, context().run).heldBack(stream);
      if (held > 0) found.push(summaryOf(environment, stream, { ending, tallied, times, held, standing: 0 }));
    }
  return found;
}
