import PQueue from 'p-queue';
import type { Checkpoint } from '../core/checkpoint.ts';
import { type DecisionOptions, timesOf } from '../core/context.ts';
import type { CompareDepth } from '../core/difference.ts';
import { type EnvironmentChanges, type ListedEnvironment, reconcile } from '../core/environments.ts';
import { endsRun, SyncError } from '../core/errors.ts';
import type { Instant } from '../core/instant.ts';
import type { MirrorReader } from '../core/mirror-reader.ts';
import type { Source } from '../core/source.ts';
import type { StateStore } from '../core/state-store.ts';
import type { Row, Stream, StreamName } from '../core/stream.ts';
import { choose } from '../sync/run.ts';
import type { EnvironmentContext, StreamContext } from './contexts.ts';
import { type ExaminedStream, examine, streamNamed } from './examine.ts';

export interface VerifyPorts {
  readonly source: Source;
  /** The mirror, open for reading. */
  readonly state: Pick<StateStore, 'environments'>;
  holding(envId: string): MirrorReader;
  /** The machine's clock; no decision depends on it (R1). */
  clock(): Instant;
  readonly signal: AbortSignal;
  onProgress(progress: VerifyProgress): void;
}

/** How far a verification has come. */
export interface VerifyProgress {
  readonly requests: number;
  readonly streamsDone: number;
  readonly streams: number;
}

export interface VerifyRunOptions extends DecisionOptions {
  /** Every collection that there is. */
  readonly catalogue: readonly Stream[];
  readonly depth: CompareDepth;
  readonly streams: readonly Stream[];
  /** Ids or names; all environments when empty. */
  readonly environments: readonly string[];
  readonly concurrency: number;
}

/** All that one verification has found. */
export interface VerifyResult {
  readonly depth: CompareDepth;
  readonly environments: readonly ListedEnvironment[];
  /** What `GET /environments` said, against what the mirror holds of it. */
  readonly reconciled: EnvironmentChanges | null;
  readonly heldEnvironments: readonly Row[];
  readonly examined: readonly (ExaminedStream & {
    readonly environment: ListedEnvironment;
    readonly requests: number;
  })[];
  /** What ended it before its time. */
  readonly error: SyncError | null;
}

/** Compares the mirror with the source as it is now; writes nothing. Never throws a `SyncError`. */
export async function verify(ports: VerifyPorts, options: VerifyRunOptions): Promise<VerifyResult> {
  const heldEnvironments = await ports.state.environments();
  const nothing = { depth: options.depth, environments: [], reconciled: null, heldEnvironments, examined: [] };
  try {
    const items = await ports.source.environments();
    const reconciled = reconcile(items, heldEnvironments, ports.source.serverTime() ?? ports.clock());
    const environments = choose(reconciled, options.environments);
    const places = new Map<string, EnvironmentContext>();
    for (const { id } of environments)
      places.set(id, await placeOf(ports, id, { ...options, reconciled, heldEnvironments }));
    const verifyStop: VerifyStop = { error: null };
    const examined = await examineAll(ports, options, { environments, places, stop: verifyStop });
    return { ...nothing, environments, reconciled, examined, error: verifyStop.error };
  } catch (error) {
    if (!(error instanceof SyncError)) throw error;
    return { ...nothing, error };
  }
}

interface VerifyStop {
  error: SyncError | null;
}

interface VerifySurroundings extends Pick<VerifyResult, 'environments'> {
  readonly places: ReadonlyMap<string, EnvironmentContext>;
  readonly stop: VerifyStop;
}

/** The streams side by side; each is compared by itself. What ends one for good ends the others before their next request. */
async function examineAll(
  ports: VerifyPorts,
  options: VerifyRunOptions,
  verifySurroundings: VerifySurroundings,
): Promise<VerifyResult['examined']> {
  const queue = new PQueue({ concurrency: options.concurrency });
  const streams = streamsRead(options);
  const all = verifySurroundings.environments.flatMap((environment) =>
    streams.map((stream) => ({ environment, stream })),
  );
  let streamsDone = 0;
  const tell = (): void => ports.onProgress({ requests: ports.source.requests(), streamsDone, streams: all.length });
  const found = await queue.addAll(
    all.map(({ environment, stream }) => async () => {
      let requests = 0;
      const onRequest = (): void => {
        requests += 1;
        tell();
      };
      const place = verifySurroundings.places.get(environment.id) as EnvironmentContext;
      const sight = sightOf(ports, options, { place, stream, stop: verifySurroundings.stop, onRequest });
      const examined = await examine(sight);
      const error = examined.find((each) => endsRun(each.error))?.error ?? null;
      verifySurroundings.stop.error ??= error;
      streamsDone += 1;
      tell();
      return examined.map((each, i) => ({ ...each, environment, requests: i === 0 ? requests : 0 }));
    }),
  );
  return found.flat();
}

/** Which streams are read at a depth: `/assets` shows the ids of the typed lists as well. */
function streamsRead({ depth, streams, catalogue }: VerifyRunOptions): readonly Stream[] {
  if (depth === 'rows') return streams;
  if (depth === 'count') return [streamNamed(catalogue, 'table_assets')];
  return [
    ...new Set(streams.map((stream) => (stream.subtype === undefined ? stream : streamNamed(catalogue, 'assets')))),
  ];
}

async function placeOf(
  { source, holding: holdingOf }: VerifyPorts,
  envId: string,
  {
    catalogue,
    reconciled,
    heldEnvironments,
  }: { catalogue: readonly Stream[]; reconciled: EnvironmentChanges; heldEnvironments: readonly Row[] },
): Promise<EnvironmentContext> {
  const refreshIn = (rows: readonly Row[]): Instant | null =>
    (rows.find((row) => row['id'] === envId)?.['last_synced_at'] ?? null) as Instant | null;
  const holding = holdingOf(envId);
  const checkpoints = new Map<StreamName, Checkpoint>();
  for (const { name } of catalogue) checkpoints.set(name, await holding.load(name));
  return {
    catalogue,
    envId,
    refreshedAt: refreshIn([...reconciled.changed, ...heldEnvironments]),
    metRefreshAt: refreshIn(heldEnvironments),
    source,
    holding,
    checkpoints,
    learned: new Map(),
  };
}

function sightOf(
  ports: VerifyPorts,
  options: VerifyRunOptions,
  {
    place,
    stream,
    stop,
    onRequest,
  }: Pick<StreamContext, 'stream' | 'onRequest'> & { place: EnvironmentContext; stop: VerifyStop },
): StreamContext {
  return {
    ...place,
    stream,
    depth: options.depth,
    // No run and no cycle: nothing is written.
    context: () => ({ run: 0, cycle: 0, ...timesOf(ports.source), options }),
    onRequest,
    continueOrStop() {
      if (stop.error !== null) throw stop.error;
      if (ports.signal.aborted) throw new SyncError('signal', 'stopped by a signal');
    },
  };
}
