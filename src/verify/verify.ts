import PQueue from 'p-queue';
import { inEnvironment } from '../core/context.ts';
import type { CompareDepth } from '../core/decide/difference.ts';
import { endsRun, SyncError } from '../core/errors.ts';
import type { MirrorReader } from '../core/ports/mirror-reader.ts';
import type { StateStore } from '../core/ports/state-store.ts';
import { type EnvironmentChanges, type ListedEnvironment, reconcile } from '../core/schedule/environments.ts';
import { chooseEnvironments } from '../core/schedule/wanted-environments.ts';
import type { Row, Stream } from '../core/stream.ts';
import type { Instant } from '../core/time/instant.ts';
import type { RunPorts } from '../sync/ports.ts';
import type { RunOptions } from '../sync/run.ts';
import { type EnvironmentContext, type StreamContext, streamNamed } from './contexts.ts';
import type { StreamVerification } from './stream-verification.ts';
import { verifyStream } from './verify-stream.ts';

export interface VerifyPorts extends Pick<RunPorts, 'source' | 'clock' | 'signal'> {
  /** The mirror, open for reading. */
  readonly state: Pick<StateStore, 'environments'>;
  reader(envId: string): MirrorReader;
  onProgress(progress: VerifyProgress): void;
}

export interface VerifyProgress {
  readonly requests: number;
  readonly streamsDone: number;
  readonly streams: number;
}

export interface VerifyRunOptions extends Omit<RunOptions, 'baseUrl'> {
  readonly depth: CompareDepth;
}

export interface VerifyResult {
  readonly depth: CompareDepth;
  readonly environments: readonly ListedEnvironment[];
  /** How `GET /environments` differs from the mirror's environments; null if there was no response. */
  readonly reconciled: EnvironmentChanges | null;
  readonly mirroredEnvironments: readonly Row[];
  readonly verifications: readonly StreamVerification[];
  /** The failure that ended the verification early. */
  readonly error: SyncError | null;
}

/** Compares the mirror with the source as it is now; writes nothing. Never throws a `SyncError`. */
export async function verifyMirror(ports: VerifyPorts, options: VerifyRunOptions): Promise<VerifyResult> {
  const { depth } = options;
  const mirroredEnvironments = await ports.state.environments();
  const nothing = { depth, environments: [], reconciled: null, mirroredEnvironments, verifications: [], error: null };
  try {
    const items = await ports.source.environments();
    const now = ports.source.times().serverTime ?? ports.clock();
    const reconciled = reconcile(items, mirroredEnvironments, now, options.limits);
    const environments = chooseEnvironments(reconciled.listed, options.environments);
    const contexts: EnvironmentContext[] = [];
    for (const environment of environments)
      contexts.push(await openEnvironment(ports, environment, { ...options, reconciled, mirroredEnvironments }));
    return { ...nothing, environments, reconciled, ...(await verifyStreams(ports, options, contexts)) };
  } catch (error) {
    if (!(error instanceof SyncError)) throw error;
    return { ...nothing, error };
  }
}

/** Verifies the streams concurrently. A failure that ends the run stops the other streams before their next request. */
async function verifyStreams(
  ports: VerifyPorts,
  options: VerifyRunOptions,
  environmentContexts: readonly EnvironmentContext[],
): Promise<Pick<VerifyResult, 'verifications' | 'error'>> {
  const { source, signal, onProgress } = ports;
  let error: SyncError | null = null;
  let streamsDone = 0;
  const tasks = environmentContexts.flatMap((each) => streamsRead(options).map((stream) => ({ ...each, stream })));
  const reportProgress = (): void => onProgress({ requests: source.requests(), streamsDone, streams: tasks.length });
  const verifyOne = async (task: EnvironmentContext & Pick<StreamContext, 'stream'>) => {
    let requests = 0;
    const streamContext: StreamContext = {
      ...task,
      depth: options.depth,
      // Neither a run nor a cycle, because nothing is written.
      context: () =>
        inEnvironment({ run: 0, cycle: 0, ...source.times(), options, limits: options.limits }, task.environment.id),
      onRequest() {
        requests += 1;
        reportProgress();
      },
      continueOrStop() {
        if (error !== null) throw error;
        if (signal.aborted) throw new SyncError('signal', 'stopped by a signal');
      },
    };
    const found = await verifyStream(streamContext);
    error ??= found.find((each) => endsRun(each.error))?.error ?? null;
    streamsDone += 1;
    reportProgress();
    return found.map((each, i) => ({ ...each, requests: i === 0 ? requests : 0 }));
  };
  const queue = new PQueue({ concurrency: options.concurrency });
  const found = await queue.addAll(tasks.map((task) => () => verifyOne(task)));
  return { verifications: found.flat(), error };
}

/** The streams to read at a depth: `/assets` also returns the ids of the typed lists. */
function streamsRead({ depth, streams, catalogue }: VerifyRunOptions): readonly Stream[] {
  if (depth === 'rows') return streams;
  if (depth === 'count') return [streamNamed(catalogue, 'table_assets')];
  const assets = streamNamed(catalogue, 'assets');
  return [...new Set(streams.map((stream) => (stream.subtype === undefined ? stream : assets)))];
}

async function openEnvironment(
  ports: VerifyPorts,
  environment: ListedEnvironment,
  facts: { catalogue: readonly Stream[]; reconciled: EnvironmentChanges; mirroredEnvironments: readonly Row[] },
): Promise<EnvironmentContext> {
  const { catalogue, reconciled, mirroredEnvironments } = facts;
  const refreshIn = (rows: readonly Row[]): Instant | null =>
    (rows.find((row) => row['id'] === environment.id)?.['last_synced_at'] ?? null) as Instant | null;
  const reader = ports.reader(environment.id);
  return {
    catalogue,
    environment,
    refreshedAt: refreshIn([...reconciled.changed, ...mirroredEnvironments]),
    metRefreshAt: refreshIn(mirroredEnvironments),
    source: ports.source,
    reader,
    checkpointOf: await reader.checkpoints(),
    feedReads: new Map(),
  };
}
