import PQueue from 'p-queue';
import { recordStreamRun } from '../../state/run-log.ts';
import type { Context } from '../core/context.ts';
import type { Environment } from '../core/environments.ts';
import { endsRun, SyncError } from '../core/errors.ts';
import { secondsBetween } from '../core/instant.ts';
import type { Stream, StreamName } from '../core/stream.ts';
import { CATALOGUE } from '../streams/catalogue.ts';
import type { OpenMirror, RunPorts } from './ports.ts';
import type { StreamSummary } from './summary.ts';
import { type Passage, type Rest, syncStream } from './sync-stream.ts';
import { createTally, type Tally } from './tally.ts';

/** What all streams of a run share. */
export interface Session {
  readonly ports: RunPorts;
  readonly mirror: OpenMirror;
  readonly streams: readonly Stream[];
  readonly concurrency: number;
  context(): Context;
}

/**
 * Brings every stream of the environments up to date, unfinished rounds of earlier passes first (R6). A stream that fails
 * stops no other (R9). `onSummaries` is told after each stream. @throws SyncError when the run has to end
 */
export async function syncEnvironments(
  session: Session,
  environments: readonly Environment[],
  onSummaries: (summaries: readonly StreamSummary[]) => void,
): Promise<void> {
  const stop: Stop = { error: null };
  const queue = new PQueue({ concurrency: session.concurrency });
  const walks = environments.flatMap((environment) =>
    session.streams.map((stream) => createWalk(session, environment, stream, stop)),
  );
  const summaries = new Map<Walk, StreamSummary>();
  const through = async (walk: Walk, only?: 'unfinished'): Promise<void> => {
    summaries.set(walk, await walk.go(only));
    onSummaries(walks.flatMap((each) => summaries.get(each) ?? []));
  };
  await inOrder(
    walks.filter((walk) => walk.unfinished()),
    queue,
    (walk) => through(walk, 'unfinished'),
  );
  const failed = (walk: Walk): boolean =>
    ['failed', 'denied', 'stopped'].includes(summaries.get(walk)?.status ?? 'done');
  await inOrder(
    walks.filter((walk) => !failed(walk)),
    queue,
    (walk) => through(walk),
  );
  onSummaries([...walks.flatMap((each) => summaries.get(each) ?? []), ...heldElsewhere(session, environments)]);
  if (stop.error !== null) throw stop.error;
}

/** Every run says what is held back in its environments, whichever streams it reads (R14). */
function heldElsewhere(session: Session, environments: readonly Environment[]): StreamSummary[] {
  const { mirror, ports, streams } = session;
  const others = CATALOGUE.filter((stream) => !streams.includes(stream));
  const times = { startedAt: ports.clock(), endedAt: ports.clock() };
  return environments.flatMap((environment) => {
    const destination = mirror.destination(environment.id, session.context().run);
    return others.flatMap((stream) => {
      const held = destination.heldBack(stream);
      const outcome = { ending: { rest: 'unread', error: null } as const, tally: createTally(() => {}), times, held };
      return held === 0 ? [] : [summaryOf(environment, stream, outcome)];
    });
  });
}

interface Stop {
  error: SyncError | null;
}

/** One stream of one environment in a run. */
interface Walk {
  readonly environment: Environment;
  readonly stream: Stream;
  unfinished(): boolean;
  go(only?: 'unfinished'): Promise<StreamSummary>;
}

/** Streams wait for those they follow in their own environment (`after`), whether these succeed or not. */
async function inOrder(walks: readonly Walk[], queue: PQueue, go: (walk: Walk) => Promise<void>): Promise<void> {
  const under = new Map<string, Map<StreamName, Promise<void>>>();
  const all = walks.map((walk) => {
    const begun = under.get(walk.environment.id) ?? new Map<StreamName, Promise<void>>();
    under.set(walk.environment.id, begun);
    const before = walk.stream.after.flatMap((name) => begun.get(name) ?? []);
    const done = Promise.allSettled(before).then(() => queue.add(() => go(walk)));
    begun.set(walk.stream.name, done);
    return done;
  });
  const failed = (await Promise.allSettled(all)).find((result) => result.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
}

function createWalk(session: Session, environment: Environment, stream: Stream, stop: Stop): Walk {
  const { ports, mirror } = session;
  const { run } = session.context();
  const destination = mirror.destination(environment.id, run);
  const tally = createTally((tallied) =>
    ports.onProgress({ type: 'stream', environment, stream: stream.name, tallied }),
  );
  const continueOrStop = (): void => {
    if (stop.error !== null) throw stop.error;
    if (ports.signal.aborted) throw new SyncError('signal', 'stopped by a signal: run again to go on');
  };
  const passage: Passage = {
    stream,
    source: ports.source,
    destination,
    prefix: [environment.id],
    tally,
    context: session.context,
    continueOrStop,
  };
  let startedAt: string | null = null;
  return {
    environment,
    stream,
    unfinished: () => {
      const { round } = destination.load(stream.name);
      return round !== null && round.pass !== session.context().pass;
    },
    async go(only) {
      startedAt ??= ports.clock();
      const ending = await endingOf(syncStream(passage, only));
      if (endsRun(ending.error)) stop.error ??= ending.error;
      const times = { startedAt, endedAt: ports.clock() };
      const summary = summaryOf(environment, stream, { ending, tally, times, held: destination.heldBack(stream) });
      const { environment: _, rows_held: __, seconds: ___, ...row } = summary;
      recordStreamRun(mirror.db, { ...row, run_id: run });
      ports.onProgress({ type: 'ended', environment, summary, error: ending.error });
      return summary;
    },
  };
}

interface Ending {
  readonly rest: Rest | 'unread' | null;
  readonly error: SyncError | null;
}

async function endingOf(walk: Promise<Rest>): Promise<Ending> {
  try {
    return { rest: await walk, error: null };
  } catch (error) {
    if (error instanceof SyncError) return { rest: null, error };
    throw error;
  }
}

interface Outcome {
  readonly ending: Ending;
  readonly tally: Tally;
  readonly times: { readonly startedAt: string; readonly endedAt: string };
  readonly held: number;
}

function summaryOf(environment: Environment, stream: Stream, { ending, tally, times, held }: Outcome): StreamSummary {
  const { mode, reason, requests, pages, written, deleted, rejected, late } = tally.total();
  return {
    env_id: environment.id,
    environment: environment.name,
    stream: stream.name,
    mode,
    reason: mode === 'none' ? restReason(ending) : reason,
    status: statusOf(ending, held),
    requests,
    pages,
    rows_written: written,
    rows_deleted: deleted,
    rows_rejected: rejected,
    rows_late: late,
    rows_held: held,
    started_at: times.startedAt,
    ended_at: times.endedAt,
    seconds: secondsBetween(times.startedAt, times.endedAt),
    error: problemOf(stream, ending, held),
  };
}

function statusOf({ rest, error }: Ending, held: number): StreamSummary['status'] {
  if (error !== null) return error.recovery === 'deny' ? 'denied' : endsRun(error) ? 'stopped' : 'failed';
  if (rest === 'waiting' || rest === 'unavailable') return rest;
  return held > 0 ? 'held' : 'done';
}

/** Why nothing was read. */
function restReason({ rest, error }: Ending): string {
  if (error !== null) return endsRun(error) ? 'not reached' : 'failed';
  return rest === 'done' ? 'finished earlier in this pass' : (rest ?? 'none');
}

function problemOf(stream: Stream, { rest, error }: Ending, held: number): string | null {
  // What ends the run is told with the run.
  if (error !== null) return endsRun(error) ? null : (error as SyncError).message;
  if (rest === 'waiting')
    return `waits for the first scan of ${stream.after[0]}, which has not ended yet: see there, or sync it as well`;
  if (held === 0) return null;
  return `${held} removals are held back: if the source is right, let them go with --allow-shrink; a read that shows the rows again ends it as well`;
}
