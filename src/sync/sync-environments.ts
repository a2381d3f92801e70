import PQueue from 'p-queue';
import { type Context, inEnvironment } from '../core/context.ts';
import { endsRun, SyncError } from '../core/errors.ts';
import type { OpenMirror } from '../core/ports/open-mirror.ts';
import { type LateStreams, longStreams, type UnfinishedWork, withDependents } from '../core/schedule/cycle.ts';
import type { ListedEnvironment } from '../core/schedule/environments.ts';
import type { Stream, StreamName } from '../core/stream.ts';
import type { RunPorts } from './ports.ts';
import { createStreamCounter, type StreamCounters } from './stream-counter.ts';
import { expiredCursorError, resultOf, summaryOf } from './stream-summary.ts';
import type { StreamSummary } from './summary.ts';
import { type StreamSync, syncStream } from './sync-stream.ts';

/** What all streams of a run share. */
export interface SyncSession {
  readonly catalogue: readonly Stream[];
  readonly ports: RunPorts;
  readonly mirror: OpenMirror;
  readonly streams: readonly Stream[];
  readonly concurrency: number;
  /** The streams that go last, by environment (R6). */
  readonly late: LateStreams;
  /** Whether the long ones of them come first (R6). */
  readonly owesTurn: boolean;
  context(): Context;
}

/** The progress of a run. Streams that it has not reached are not in it and take no memory (R27). */
export interface RunProgress {
  readonly summaries: Map<string, StreamSummary>;
  /** The streams with held-back removals that the run has not reached (R14). */
  heldElsewhere: readonly StreamSummary[];
  /** What the run leaves undone if it stops now (R6). */
  leftOver: UnfinishedWork;
  /** How many streams the run did not reach before it ended. */
  notReached: number;
}

export function streamKey(environment: ListedEnvironment, stream: Pick<Stream, 'name'>): string {
  return `${environment.id} ${stream.name}`;
}

/**
 * Brings every stream of the environments up to date. Unfinished rounds of earlier cycles come first, streams that
 * failed last time come last (R6). A failing stream does not stop the others (R9).
 * @throws SyncError if the run must end
 */
export async function syncEnvironments(
  session: SyncSession,
  environments: readonly ListedEnvironment[],
  progress: RunProgress,
): Promise<void> {
  const work: EnvironmentsWork = {
    session,
    environments,
    reached: progress,
    queue: new PQueue({ concurrency: session.concurrency }),
    tasks: new Map(),
    unended: new Map(),
    awaitingScan: new Set(),
    reported: new Set(),
    stopped: null,
  };
  const long = longStreams(environments, session.streams, session.late);
  if (session.owesTurn) await syncLong(work, long);
  await inTurn(work, async (environment) => {
    const first = await session.mirror.state.unfinishedStreams(environment.id, session.context().cycle);
    const late = lateIn(session, environment);
    const streams = session.streams.filter(({ name }) => first.includes(name) && !late.has(name));
    await syncStreams(work, environment, streams, 'unfinished');
  });
  await inTurn(work, async (environment) => {
    const late = lateIn(session, environment);
    const onTime = session.streams.filter(({ name }) => !late.has(name));
    await continueStreams(work, environment, onTime);
    if (late.size === 0) work.tasks.delete(environment.id);
  });
  await syncLate(work, long);
  for (const end of work.unended.values()) await end();
  progress.notReached = environments.length * session.streams.length - progress.summaries.size;
  progress.heldElsewhere = await heldElsewhere(work);
  if (work.stopped !== null) throw work.stopped;
}

function lateIn({ late }: SyncSession, { id }: ListedEnvironment): ReadonlySet<StreamName> {
  return new Set(late.get(id)?.keys());
}

type LongStreams = ReturnType<typeof longStreams>;

/** Reads the late streams and their dependents, the long lists last (R6). */
async function syncLate(work: EnvironmentsWork, long: LongStreams): Promise<void> {
  const { session, reached } = work;
  if (work.stopped !== null) return;
  reached.leftOver = 'failed';
  const longKeys = new Set(long.map(({ environment, stream }) => streamKey(environment, stream)));
  await inTurn(work, (environment) => {
    const isShort = (stream: Stream): boolean => !longKeys.has(streamKey(environment, stream));
    const late = lateIn(session, environment);
    const short = session.streams.filter((stream) => late.has(stream.name) && isShort(stream));
    const reading = withDependents(session.streams, new Set(short.map(({ name }) => name)));
    return continueStreams(work, environment, reading.filter(isShort));
  });
  // The least recently tried one keeps its place: the next run reads it first.
  await syncLong(work, long.toReversed());
}

async function syncLong(work: EnvironmentsWork, long: LongStreams): Promise<void> {
  for (const { environment, stream } of long)
    if (work.stopped === null)
      await continueStreams(work, environment, withDependents(work.session.streams, new Set([stream.name])));
}

/** Reads these streams, except those that have already failed in this run. */
function continueStreams(
  work: EnvironmentsWork,
  environment: ListedEnvironment,
  streams: readonly Stream[],
): Promise<void> {
  const mayContinue = (stream: Stream): boolean => {
    const key = streamKey(environment, stream);
    return work.awaitingScan.has(key) || !FAILED.has(work.reached.summaries.get(key)?.status ?? 'done');
  };
  return syncStreams(work, environment, streams.filter(mayContinue));
}

const FAILED: ReadonlySet<StreamSummary['status']> = new Set(['failed', 'denied', 'stopped']);

interface EnvironmentsWork {
  readonly session: SyncSession;
  readonly environments: readonly ListedEnvironment[];
  readonly reached: RunProgress;
  readonly queue: PQueue;
  /** The tasks of the environments that are being synced. */
  readonly tasks: Map<string, Map<StreamName, StreamTask>>;
  /**
   * Streams that finished a round of an earlier cycle and still need one of this cycle, each with a function that
   * records it if the run does not return to it.
   */
  readonly unended: Map<string, () => Promise<void>>;
  /** Streams whose only failure is a due scan: their feeds, and what later streams mark, are still read (R9, R13). */
  readonly awaitingScan: Set<string>;
  /** Each error is reported once, even if its stream continues after it. */
  readonly reported: Set<SyncError>;
  /** Why the run must end. */
  stopped: SyncError | null;
}

interface StreamTask {
  readonly streamSync: StreamSync;
  readonly startedAt: string;
}

/**
 * Syncs a few environments at a time, and prepares each one only when its turn comes. Starts no more if the run must
 * end.
 */
async function inTurn(
  work: EnvironmentsWork,
  runTask: (environment: ListedEnvironment) => Promise<void>,
): Promise<void> {
  const remaining = work.environments.values();
  let broken = false;
  const worker = async (): Promise<void> => {
    for (const environment of remaining) {
      if (broken || work.stopped !== null) return;
      await runTask(environment).catch((error: unknown) => {
        broken = true;
        throw error;
      });
    }
  };
  const results = await Promise.allSettled(Array.from({ length: work.session.concurrency }, worker));
  const failure = results.find((result) => result.status === 'rejected');
  if (failure !== undefined) throw failure.reason;
}

/** A stream waits until its dependencies have ended, successfully or not. */
async function syncStreams(
  work: EnvironmentsWork,
  environment: ListedEnvironment,
  streams: readonly Stream[],
  only?: 'unfinished',
): Promise<void> {
  const begun = new Map<StreamName, Promise<void>>();
  for (const stream of streams) {
    const before = stream.dependencies.flatMap((name) => begun.get(name) ?? []);
    const done = Promise.allSettled(before).then(() => work.queue.add(() => go(work, environment, stream, only)));
    begun.set(stream.name, done);
  }
  const failure = (await Promise.allSettled(begun.values())).find((result) => result.status === 'rejected');
  if (failure !== undefined) throw failure.reason;
}

async function go(
  work: EnvironmentsWork,
  environment: ListedEnvironment,
  stream: Stream,
  only?: 'unfinished',
): Promise<void> {
  const { ports, mirror, context } = work.session;
  const key = streamKey(environment, stream);
  const { streamSync, startedAt } = taskOf(work, environment, stream);
  const { counter, skipped } = streamSync;
  const before = workOf(counter.total());
  const wasEnded = !work.unended.delete(key);
  const result = await resultOf(syncStream(streamSync, only));
  const isStopped = endsRun(result.error);
  if (isStopped) work.stopped ??= result.error;
  const scanError = stream.method === 'window' ? null : skipped.first;
  // A failed scan is how the stream ended, even if the run stops before the stream continues (R9). So is a list that
  // started over because its cursor had expired, if the run's requests do not reach its end (R6).
  const failure = isStopped ? (scanError ?? expiredCursorError(skipped.expiredCursor, result.error)) : null;
  const ending = failure === null ? result : { rest: null, error: failure };
  const hasOnlySkipped = ending.error !== null && ending.error === scanError;
  if (hasOnlySkipped) work.awaitingScan.add(key);
  else work.awaitingScan.delete(key);
  if (only === 'unfinished' && (ending.error === null || hasOnlySkipped))
    work.unended.set(key, () => go(work, environment, stream));
  const counters = counter.total();
  // The run did not reach the stream, or not again.
  if (isStopped && workOf(counters) === before && wasEnded) return;
  const times = { startedAt, endedAt: ports.clock() };
  const standing = await streamSync.destination.outstanding(stream);
  const summary = summaryOf(environment, stream, { ending, counters, times, standing });
  const { environment: _, rows_held: __, rejected_standing: ___, seconds: ____, ...row } = summary;
  await mirror.state.recordStreamRun({ ...row, run_id: context().run });
  work.reached.summaries.set(key, summary);
  // A stream that only finished its old round is not done: the run reads it again (R6).
  const isOver = only === undefined || (ending.error !== null && !hasOnlySkipped);
  if (!isOver || (ending.error !== null && work.reported.has(ending.error))) return;
  if (ending.error !== null) work.reported.add(ending.error);
  ports.onProgress({ type: 'ended', environment, summary, error: ending.error });
}

function workOf({ requests, written, deleted }: StreamCounters): number {
  return requests + written + deleted;
}

function taskOf(work: EnvironmentsWork, environment: ListedEnvironment, stream: Stream): StreamTask {
  const tasks = work.tasks.get(environment.id) ?? new Map<StreamName, StreamTask>();
  work.tasks.set(environment.id, tasks);
  const task = tasks.get(stream.name) ?? createTask(work, environment, stream);
  tasks.set(stream.name, task);
  return task;
}

function createTask(work: EnvironmentsWork, environment: ListedEnvironment, stream: Stream): StreamTask {
  const { ports, mirror, context } = work.session;
  const streamSync: StreamSync = {
    stream,
    source: ports.source,
    destination: mirror.destination(environment.id, context().run),
    prefix: [environment.id],
    counter: createStreamCounter((counters) =>
      ports.onProgress({ type: 'stream', environment, stream: stream.name, counters }),
    ),
    concurrency: work.session.concurrency,
    skipped: { first: null, count: 0, expiredCursor: null },
    context: () => inEnvironment(context(), environment.id),
    continueOrStop() {
      if (work.stopped !== null) throw work.stopped;
      if (ports.signal.aborted) throw new SyncError('signal', 'stopped by a signal: run it again to continue');
    },
  };
  return { streamSync, startedAt: ports.clock() };
}

/** Every run reports the held-back removals in its environments, also for streams that it does not reach (R14). */
async function heldElsewhere({ session, environments, reached }: EnvironmentsWork): Promise<StreamSummary[]> {
  const { mirror, ports, context, catalogue } = session;
  const times = { startedAt: ports.clock(), endedAt: ports.clock() };
  const ending = { rest: 'unread', error: null } as const;
  const counters = createStreamCounter(() => {}).total();
  const found: StreamSummary[] = [];
  for (const environment of environments) {
    const holding = await mirror.state.streamsHoldingBack(environment.id);
    const isOther = (each: Stream): boolean =>
      holding.includes(each.name) && !reached.summaries.has(streamKey(environment, each));
    for (const stream of catalogue.filter(isOther)) {
      const { heldRemovals } = await mirror.destination(environment.id, context().run).outstanding(stream);
      if (heldRemovals > 0)
        found.push(
          summaryOf(environment, stream, { ending, counters, times, standing: { heldRemovals, rejected: 0 } }),
        );
    }
  }
  return found;
}
