import { setImmediate } from 'node:timers/promises';
import { SyncError } from '../core/errors.ts';
import type { DryRunMirror } from '../core/ports/dry-run-mirror.ts';
import type { OpenMirror } from '../core/ports/open-mirror.ts';
import type { Page, PageRequest, Source } from '../core/ports/source.ts';
import type { Stream } from '../core/stream.ts';
import { addSeconds, type Instant } from '../core/time/instant.ts';
import type { ServerTimes } from '../core/time/server-times.ts';
import type { RunPorts } from './ports.ts';
import { type RunOptions, runSync } from './run.ts';
import type { RunSummary, StreamSummary } from './summary.ts';

/** The requests that a run would make if the source equaled the mirror. */
export interface RunForecast {
  /** All requests, including the one that lists the environments. */
  readonly requests: number;
  /** True if a list was never read to its end: the count is then a minimum. */
  readonly at_least: boolean;
  /**
   * How many runs it takes to bring every stream up to date if `maxRequests` stops them; null for more than a hundred,
   * or if they make no progress.
   */
  readonly runs: number | null;
  readonly server_time: Instant | null;
  /** Environments that are mirrored but no longer listed. */
  readonly missing: readonly string[];
  readonly streams: readonly StreamForecast[];
}

/** A forecast whose mirror is still open. */
export interface OpenForecast extends RunForecast {
  /** The day after the run; null while lists were never read to their end. Call it once: it changes the mirror. */
  rehearseDay(): Promise<DayForecast | null>;
}

/** The requests of a day of hourly syncs. */
export interface DayForecast {
  readonly syncs: number;
  readonly requests: number;
  /** Those of scans, which `--full-every` determines (R13). */
  readonly scan_requests: number;
}

export interface StreamForecast
  extends Pick<StreamSummary, 'env_id' | 'environment' | 'stream' | 'mode' | 'reason' | 'status' | 'requests'> {
  readonly at_least: boolean;
}

interface ForecastOptions extends RunOptions {
  readonly maxRequests: number | null;
}

/** What the run would know at its start. */
export interface RunOpening {
  /** The environments that the source lists now. */
  readonly environments: readonly unknown[];
  readonly times: ServerTimes;
}

/**
 * Rehearses a sync with a source that responds as the mirror expects.
 * @throws SyncError if the sync would be refused, or `signal`
 */
export async function forecast(
  mirror: DryRunMirror,
  opening: RunOpening,
  options: ForecastOptions,
  ports: Pick<RunPorts, 'clock' | 'signal'>,
): Promise<OpenForecast> {
  const { catalogue, maxRequests } = options;
  const unknown = new Set<string>();
  const estimatorState: EstimatorState = { mirror, opening, catalogue, maxRequests, rest: new Map(), unknown };
  const rehearse = async (changed: Partial<EstimatorState & RunOptions> = {}): Promise<RunSummary> => {
    const nothing = async (): Promise<void> => {};
    const openMirror = async (): Promise<OpenMirror> => ({ ...mirror, flush: nothing, hold: nothing, close: nothing });
    const source = predictedSource({ ...estimatorState, ...changed });
    const given = { ...options, ...changed };
    const run = await runSync({ ...ports, source, mirrorExists: true, openMirror, onProgress: () => {} }, given);
    if (ports.signal.aborted) throw new SyncError('signal', 'stopped by a signal: run the command again');
    return run;
  };
  const first = await rehearse();
  if (!isComplete(first)) throw new SyncError(first.recovery ?? 'run', first.error ?? 'the run would be refused');
  const runs = await countRuns(first, rehearse);
  const isKnown = runs !== null && unknown.size === 0;
  return {
    requests: first.requests,
    at_least: unknown.size > 0,
    runs,
    rehearseDay: async () => (isKnown ? forecastDay(opening, rehearse) : null),
    server_time: opening.times.serverTime,
    missing: first.missing,
    streams: first.streams.map((stream) => streamForecast(stream, unknown)),
  };
}

/**
 * Whether the rehearsal covers the requests of a run: it finished, or was stopped only by its budget. An error after
 * all streams were read does not matter.
 */
function isComplete({ recovery, streams }: RunSummary): boolean {
  if (recovery === null || recovery === 'budget') return true;
  return streams.length > 0 && streams.every((stream) => stream.status !== 'stopped');
}

/** The most runs to rehearse; a larger exact number is of no use. */
const MAX_RUNS = 100;

/** Null for more than `MAX_RUNS`, and for runs that make no progress. */
async function countRuns(first: RunSummary, rehearse: () => Promise<RunSummary>): Promise<number | null> {
  let runs = 1;
  for (let last = first; last.status === 'stopped'; runs++) {
    if (runs === MAX_RUNS || last.streams.every((stream) => stream.pages === 0)) return null;
    last = await rehearse();
  }
  return runs;
}

const SYNCS_A_DAY = 24;

/** Rehearses the hourly syncs that follow the next one. */
async function forecastDay(
  opening: RunOpening,
  rehearse: (changed: Pick<EstimatorState & RunOptions, 'opening' | 'maxRequests' | 'full'>) => Promise<RunSummary>,
): Promise<DayForecast> {
  let [requests, scan_requests] = [0, 0];
  for (let hour = 1; hour <= SYNCS_A_DAY; hour++) {
    const times = hoursLater(opening.times, hour);
    const run = await rehearse({ opening: { ...opening, times }, maxRequests: null, full: false });
    requests += run.requests;
    for (const stream of run.streams) scan_requests += stream.mode === 'scan' ? stream.requests : 0;
  }
  return { syncs: SYNCS_A_DAY, requests, scan_requests };
}

function hoursLater({ serverTime, latestServerTime, newestReading }: ServerTimes, hours: number): ServerTimes {
  const later = (at: Instant | null): Instant | null => (at === null ? null : addSeconds(at, hours * 3600));
  return {
    serverTime: later(serverTime),
    latestServerTime: later(latestServerTime),
    newestReading: later(newestReading),
  };
}

interface EstimatorState {
  readonly catalogue: readonly Stream[];
  readonly mirror: DryRunMirror;
  readonly opening: RunOpening;
  readonly maxRequests: number | null;
  /** How many rows follow each cursor that was issued. */
  readonly rest: Map<string, number>;
  /** The streams read so far whose length is unknown, with their environments. */
  readonly unknown: Set<string>;
}

function streamForecast(summary: StreamSummary, unknown: ReadonlySet<string>): StreamForecast {
  const { env_id, environment, stream, mode, reason, status, requests } = summary;
  return { env_id, environment, stream, mode, reason, status, requests, at_least: unknown.has(`${env_id} ${stream}`) };
}

/** The source of one rehearsed run: its pages have the expected number of rows, but are empty. */
function predictedSource(state: EstimatorState): Source {
  const { opening, maxRequests } = state;
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
      // Nothing else here yields to the event loop, which receives the signals (R27).
      await setImmediate();
      send();
      onRequest?.();
      return answer(state, request);
    },
    matchedCount: () => Promise.reject(new Error('a sync counts no matches')),
    times: () => opening.times,
    requests: () => requests,
    close: async () => {},
  };
}

async function answer(
  { mirror, opening, catalogue, rest, unknown }: EstimatorState,
  { path, ...asked }: PageRequest,
): Promise<Page> {
  const [envId = '', ...own] = path;
  const stream = streamOf(catalogue, own);
  const refused = await mirror.refused(envId, stream);
  if (refused !== null) throw new SyncError(refused, `${own.join('/')} is expected to refuse again`);
  let rows = rest.get(asked.cursor ?? '');
  if (rows === undefined) {
    const expected = await mirror.expected(envId, stream, { ...asked, path: own }, opening.times.serverTime);
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
  if (found === undefined) throw new Error(`no stream has the path ${path.join('/')}`);
  return found;
}
