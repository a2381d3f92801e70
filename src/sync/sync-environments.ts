import PQueue from 'p-queue';
import { type Context, inEnvironment } from '../core/context.ts';
import { endsRun, SyncError } from '../core/errors.ts';
import type { OpenMirror } from '../core/ports/open-mirror.ts';
import { type UnfinishedWork, withDependents } from '../core/schedule/cycle.ts';
import type { ListedEnvironment } from '../core/schedule/environments.ts';
import type { Stream, StreamName } from '../core/stream.ts';
import type { RunPorts } from './ports.ts';
import { createStreamCounter, type StreamCounter, type StreamCounters } from './stream-counter.ts';
import { resultOf, summaryOf } from './stream-summary.ts';
import type { StreamSummary } from './summary.ts';
import { type StreamSync, syncStream } from './sync-stream.ts';

/** What all streams of a run have in common. */
export interface SyncSession {
  /** Every stream of the catalogue. */
  readonly catalogue: readonly Stream[];
  readonly ports: RunPorts;
  readonly mirror: OpenMirror;
  readonly streams: readonly Stream[];
  readonly concurrency: number;
  /** The streams that failed when they were last tried, by environment: they go last (R6). */
  readonly late: ReadonlyMap<string, ReadonlySet<StreamName>>;
  context(): Context;
}

/** What a run has done so far. A stream that it has not reached is not in it, and takes no memory (R27). */
export interface RunProgress {
  readonly summaries: Map<string, StreamSummary>;
  /** The streams with held-back removals that the run has not reached (R14). */
  heldElsewhere: readonly StreamSummary[];
  /** What the run leaves undone if it is stopped now (R6). */
  leftOver: UnfinishedWork;
  /** How many streams the run has not reached when it ends. */
  notReached: number;
}

export function streamKey(listedEnvironment: ListedEnvironment, stream: Pick<Stream, 'name'>): string {
  return `${listedEnvironment.id} ${stream.name}`;
}

/**
 * Brings every stream of the environments up to date. Unfinished rounds of earlier cycles come first, and streams that failed last
 * time come last (R6). A stream that fails stops no other (R9). @throws SyncError if the run must end
 */
export async function syncEnvironments(
  syncSession: SyncSession,
  environments: readonly ListedEnvironment[],
  runProgress: RunProgress,
): Promise<void> {
  const queue = new PQueue({ concurrency: syncSession.concurrency });
  const environmentsWork: EnvironmentsWork = {
    session: syncSession,
    reached: runProgress,
    queue,
    tasks: new Map(),
    unended: new Map(),
    stopped: null,
  };
  const unfinished = await syncSession.mirror.state.unfinishedStreams(syncSession.context().cycle);
  const lateOf = ({ id }: ListedEnvironment) => syncSession.late.get(id) ?? NONE;
  const failed = (listedEnvironment: ListedEnvironment, stream: Stream): boolean =>
    FAILED.has(runProgress.summaries.get(streamKey(listedEnvironment, stream))?.status ?? 'done');
  await inTurn(environmentsWork, environments, (environment) => {
    const first = unfinished.get(environment.id) ?? [];
    const streams = syncSession.streams.filter(({ name }) => first.includes(name) && !lateOf(environment).has(name));
    return syncStreams(environmentsWork, environment, streams, 'unfinished');
  });
  await inTurn(environmentsWork, environments, async (environment) => {
    const streams = syncSession.streams.filter(
      (stream) => !lateOf(environment).has(stream.name) && !failed(environment, stream),
    );
    await syncStreams(environmentsWork, environment, streams);
    if (!syncSession.late.has(environment.id)) environmentsWork.tasks.delete(environment.id);
  });
  if (environmentsWork.stopped === null) runProgress.leftOver = 'failed';
  await inTurn(environmentsWork, environments, (environment) => {
    const streams = withDependents(syncSession.streams, lateOf(environment)).filter(
      (each) => !failed(environment, each),
    );
    return syncStreams(environmentsWork, environment, streams);
  });
  for (const end of environmentsWork.unended.values()) await end();
  runProgress.notReached = environments.length * syncSession.streams.length - runProgress.summaries.size;
  runProgress.heldElsewhere = await heldElsewhere(syncSession, environments, runProgress);
  if (environmentsWork.stopped !== null) throw environmentsWork.stopped;
}

const NONE: ReadonlySet<StreamName> = new Set();
const FAILED: ReadonlySet<StreamSummary['status']> = new Set(['failed', 'denied', 'stopped']);

interface EnvironmentsWork {
  readonly session: SyncSession;
  readonly reached: RunProgress;
  readonly queue: PQueue;
  /** The tasks of the environments that are being synced. */
  readonly tasks: Map<string, Map<StreamName, StreamTask>>;
  /**
   * Streams that have ended a round of an earlier cycle and must go on; each with a function that records it if the run does not
   * reach it again.
   */
  readonly unended: Map<string, () => Promise<void>>;
  /** The reason why the run must end. */
  stopped: SyncError | null;
}

/** One stream of one environment in a run. */
interface StreamTask {
  readonly counter: StreamCounter;
  readonly streamSync: StreamSync;
  readonly startedAt: string;
}

/**
 * Syncs a few environments at the same time; what the others need is made when their turn comes. If the run must end, no more are
 * begun.
 */
async function inTurn(
  environmentsWork: EnvironmentsWork,
  environments: readonly ListedEnvironment[],
  runTask: (listedEnvironment: ListedEnvironment) => Promise<void>,
): Promise<void> {
  const remaining = environments.values();
  let broken = false;
  const worker = async (): Promise<void> => {
    for (const environment of remaining) {
      if (broken || environmentsWork.stopped !== null) return;
      await runTask(environment).catch((error: unknown) => {
        broken = true;
        throw error;
      });
    }
  };
  const results = await Promise.allSettled(Array.from({ length: environmentsWork.session.concurrency }, worker));
  const failure = results.find((result) => result.status === 'rejected');
  if (failure !== undefined) throw failure.reason;
}

/** A stream waits until its dependencies have ended, whether or not they have succeeded. */
async function syncStreams(
  environmentsWork: EnvironmentsWork,
  listedEnvironment: ListedEnvironment,
  streams: readonly Stream[],
  only?: 'unfinished',
): Promise<void> {
  const begun = new Map<StreamName, Promise<void>>();
  for (const stream of streams) {
    const before = stream.dependencies.flatMap((name) => begun.get(name) ?? []);
    const done = Promise.allSettled(before).then(() =>
      environmentsWork.queue.add(() => go(environmentsWork, listedEnvironment, stream, only)),
    );
    begun.set(stream.name, done);
  }
  const failure = (await Promise.allSettled(begun.values())).find((result) => result.status === 'rejected');
  if (failure !== undefined) throw failure.reason;
}

async function go(
  environmentsWork: EnvironmentsWork,
  listedEnvironment: ListedEnvironment,
  stream: Stream,
  only?: 'unfinished',
): Promise<void> {
  const { ports, mirror, context } = environmentsWork.session;
  const key = streamKey(listedEnvironment, stream);
  const { counter, streamSync, startedAt } = taskOf(environmentsWork, listedEnvironment, stream);
  const before = workOf(counter.total());
  const wasEnded = !environmentsWork.unended.delete(key);
  const ending = await resultOf(syncStream(streamSync, only));
  if (endsRun(ending.error)) environmentsWork.stopped ??= ending.error;
  if (only === 'unfinished' && ending.error === null)
    environmentsWork.unended.set(key, () => go(environmentsWork, listedEnvironment, stream));
  const counters = counter.total();
  // The run has not reached the stream, or not again.
  if (endsRun(ending.error) && workOf(counters) === before && wasEnded) return;
  const times = { startedAt, endedAt: ports.clock() };
  const standing = await streamSync.destination.outstanding(stream);
  const summary = summaryOf(listedEnvironment, stream, { ending, counters, times, standing });
  const { environment: _, rows_held: __, rejected_standing: ___, seconds: ____, ...row } = summary;
  await mirror.state.recordStreamRun({ ...row, run_id: context().run });
  environmentsWork.reached.summaries.set(key, summary);
  // A stream that has only ended its unfinished round is not finished: the run reads it again (R6).
  if (only === undefined || ending.error !== null)
    ports.onProgress({ type: 'ended', environment: listedEnvironment, summary, error: ending.error });
}

function workOf({ requests, written, deleted }: StreamCounters): number {
  return requests + written + deleted;
}

function taskOf(environmentsWork: EnvironmentsWork, listedEnvironment: ListedEnvironment, stream: Stream): StreamTask {
  const tasks = environmentsWork.tasks.get(listedEnvironment.id) ?? new Map<StreamName, StreamTask>();
  environmentsWork.tasks.set(listedEnvironment.id, tasks);
  const task = tasks.get(stream.name) ?? createTask(environmentsWork, listedEnvironment, stream);
  tasks.set(stream.name, task);
  return task;
}

function createTask(
  environmentsWork: EnvironmentsWork,
  listedEnvironment: ListedEnvironment,
  stream: Stream,
): StreamTask {
  const { ports, mirror, context } = environmentsWork.session;
  const counter = createStreamCounter((counters) =>
    ports.onProgress({ type: 'stream', environment: listedEnvironment, stream: stream.name, counters }),
  );
  const streamSync: StreamSync = {
    stream,
    source: ports.source,
    destination: mirror.destination(listedEnvironment.id, context().run),
    prefix: [listedEnvironment.id],
    counter,
    concurrency: environmentsWork.session.concurrency,
    context: () => inEnvironment(context(), listedEnvironment.id),
    continueOrStop() {
      if (environmentsWork.stopped !== null) throw environmentsWork.stopped;
      if (ports.signal.aborted) throw new SyncError('signal', 'stopped by a signal: run it again to continue');
    },
  };
  return { counter, streamSync, startedAt: ports.clock() };
}

/** Every run reports what is held back in its environments, also in streams that it does not reach (R14). */
async function heldElsewhere(
  syncSession: SyncSession,
  environments: readonly ListedEnvironment[],
  { summaries }: RunProgress,
): Promise<StreamSummary[]> {
  const { mirror, ports, context, catalogue } = syncSession;
  const holding = new Set((await mirror.state.streamsHoldingBack()).map(({ envId, stream }) => `${envId} ${stream}`));
  const times = { startedAt: ports.clock(), endedAt: ports.clock() };
  const ending = { rest: 'unread', error: null } as const;
  const counters = createStreamCounter(() => {}).total();
  const others = (listedEnvironment: ListedEnvironment): readonly Stream[] =>
    catalogue.filter(
      (each) => holding.has(streamKey(listedEnvironment, each)) && !summaries.has(streamKey(listedEnvironment, each)),
    );
  if (holding.size === 0) return [];
  const found: StreamSummary[] = [];
  for (const environment of environments)
    for (const stream of others(environment)) {
      const { heldRemovals } = await mirror.destination(environment.id, context().run).outstanding(stream);
      if (heldRemovals > 0)
        found.push(
          summaryOf(environment, stream, { ending, counters, times, standing: { heldRemovals, rejected: 0 } }),
        );
    }
  return found;
}
