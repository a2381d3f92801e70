import { SyncError } from '../core/errors.ts';
import type { Instant } from '../core/instant.ts';
import type { Page, PageRequest, Source } from '../core/source.ts';
import type { SourceExpectations } from '../core/source-expectations.ts';
import type { Stream } from '../core/stream.ts';
import type { OpenMirror, RunPorts } from './ports.ts';
import { type RunOptions, runSync } from './run.ts';
import type { RunSummary, StreamSummary } from './summary.ts';

/** The requests that a run would make if the source were as the mirror has it. */
export interface RunForecast {
  /** Requests in all, the one that lists the environments among them. */
  readonly requests: number;
  /** True if a list was never read to its end: the count is a minimum. */
  readonly at_least: boolean;
  /** Runs until every stream is up to date, where `maxRequests` stops them; null when they are more than a hundred, or get nowhere. */
  readonly runs: number | null;
  readonly server_time: Instant | null;
  /** Environments that are mirrored but no longer listed. */
  readonly missing: readonly string[];
  readonly streams: readonly StreamForecast[];
}

export interface StreamForecast
  extends Pick<StreamSummary, 'env_id' | 'environment' | 'stream' | 'mode' | 'reason' | 'status' | 'requests'> {
  readonly at_least: boolean;
}

/** A mirror against which a run is rehearsed; nobody ever reads what the run writes. */
type DryRunMirror = Pick<OpenMirror, 'state' | 'destination'> & SourceExpectations;

interface ForecastOptions extends RunOptions {
  readonly maxRequests: number | null;
}

/** What the run would open with. */
export interface RunOpening {
  /** The environments as the source lists them now. */
  readonly environments: readonly unknown[];
  readonly serverTime: Instant | null;
}

/** Rehearses the run with a source that answers as the mirror expects. @throws SyncError when there would be no run */
export async function forecast(
  dryRunMirror: DryRunMirror,
  runOpening: RunOpening,
  options: ForecastOptions,
  ports: Pick<RunPorts, 'clock' | 'signal'>,
): Promise<RunForecast> {
  const estimatorState: EstimatorState = {
    rehearsal: dryRunMirror,
    opening: runOpening,
    catalogue: options.catalogue,
    maxRequests: options.maxRequests,
    rest: new Map(),
    unknown: new Set(),
  };
  const rehearse = (): Promise<RunSummary> => {
    const openMirror = async (): Promise<OpenMirror> => ({
      ...dryRunMirror,
      keep: async () => {},
      close: async () => {},
    });
    const source = predictedSource(estimatorState);
    return runSync({ ...ports, source, mirrorExists: true, openMirror, onProgress: () => {} }, options);
  };
  const first = await rehearse();
  if (!cameThrough(first)) throw new SyncError(first.recovery ?? 'run', first.error ?? 'there would be no run');
  return {
    requests: first.requests,
    at_least: estimatorState.unknown.size > 0,
    runs: await countRuns(first, rehearse),
    server_time: runOpening.serverTime,
    missing: first.missing,
    streams: first.streams.map((stream) => streamForecast(stream, estimatorState.unknown)),
  };
}

/** A run that ends early for another reason than its budget tells nothing; one that reads all and then complains does. */
function cameThrough({ recovery, streams }: RunSummary): boolean {
  if (recovery === null || recovery === 'budget') return true;
  return streams.length > 0 && streams.every((stream) => stream.status !== 'stopped');
}

/** At most so many runs are rehearsed: beyond that the exact number does not help anybody. */
const MOST_RUNS = 100;

/** It ends: so many runs are the most. Null for more, and for runs that get nowhere. */
async function countRuns(first: RunSummary, rehearse: () => Promise<RunSummary>): Promise<number | null> {
  let runs = 1;
  for (let last = first; last.status === 'stopped'; runs++) {
    if (runs === MOST_RUNS || last.streams.every((stream) => stream.pages === 0)) return null;
    last = await rehearse();
  }
  return runs;
}

/** What is expected of the source in the runs to come. */
interface EstimatorState {
  readonly catalogue: readonly Stream[];
  readonly rehearsal: DryRunMirror;
  readonly opening: RunOpening;
  readonly maxRequests: number | null;
  /** Rows behind each cursor that was given. */
  readonly rest: Map<string, number>;
  /** Streams of environments that were read and that nobody knows the length of. */
  readonly unknown: Set<string>;
}

function streamForecast(summary: StreamSummary, unknown: ReadonlySet<string>): StreamForecast {
  const { env_id, environment, stream, mode, reason, status, requests } = summary;
  return { env_id, environment, stream, mode, reason, status, requests, at_least: unknown.has(`${env_id} ${stream}`) };
}

/** The source of one run: pages without rows, as many as the rows that the mirror expects would fill. */
function predictedSource(estimatorState: EstimatorState): Source {
  const { opening, maxRequests } = estimatorState;
  let requests = 0;
  const send = (): void => {
    if (maxRequests !== null && requests >= maxRequests) throw new SyncError('budget', 'the requests are used up');
    requests += 1;
  };
  return {
    async environments() {
      send();
      return opening.environments;
    },
    async page(request, onRequest) {
      send();
      onRequest?.();
      return answer(estimatorState, request);
    },
    matchedCount: () => Promise.reject(new Error('a sync counts no matches')),
    serverTime: () => opening.serverTime,
    latestServerTime: () => opening.serverTime,
    requests: () => requests,
    close: async () => {},
  };
}

async function answer(
  { rehearsal, opening, catalogue, rest, unknown }: EstimatorState,
  { path, ...asked }: PageRequest,
): Promise<Page> {
  const [envId = '', ...own] = path;
  const stream = streamOf(catalogue, own);
  const refused = await rehearsal.refused(envId, stream);
  if (refused !== null) throw new SyncError(refused, `${own.join('/')} is expected to refuse again`);
  let rows = rest.get(asked.cursor ?? '');
  if (rows === undefined) {
    const expected = await rehearsal.expected(envId, stream, { ...asked, path: own }, opening.serverTime);
    rows = expected.rows;
    if (expected.atLeast) unknown.add(`${envId} ${stream.name}`);
  }
  const left = rows - Number(asked.query['limit']);
  if (left <= 0) return { items: [], hasMore: false, nextCursor: null };
  const nextCursor = `forecast ${rest.size}`;
  rest.set(nextCursor, left);
  return { items: [], hasMore: true, nextCursor };
}

function streamOf(catalogue: readonly Stream[], path: readonly string[]): Stream {
  const found = catalogue.find(
    (stream) =>
      stream.path.length === path.length && stream.path.every((part, i) => part === '{id}' || part === path[i]),
  );
  if (found === undefined) throw new Error(`no stream lies at ${path.join('/')}`);
  return found;
}
