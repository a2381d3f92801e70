import PQueue from 'p-queue';
import type { Checkpoint } from '../../core/checkpoint.ts';
import { type Options, timesOf } from '../../core/context.ts';
import type { Depth } from '../../core/difference.ts';
import { type Environment, type Reconciled, reconcile } from '../../core/environments.ts';
import { endsRun, SyncError } from '../../core/errors.ts';
import type { Holding } from '../../core/holding.ts';
import type { Instant } from '../../core/instant.ts';
import type { Source } from '../../core/source.ts';
import type { StateStore } from '../../core/state-store.ts';
import { type Row, STREAM_NAMES, type Stream, type StreamName } from '../../core/stream.ts';
import { choose } from '../run.ts';
import { type Examined, examine, streamNamed } from './examine.ts';
import type { Place, Sight } from './sight.ts';

export interface VerifyPorts {
  readonly source: Source;
  /** The mirror, open for reading. */
  readonly state: Pick<StateStore, 'environments'>;
  holding(envId: string): Holding;
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

export interface VerifyOptions extends Options {
  /** Every collection that there is. */
  readonly catalogue: readonly Stream[];
  readonly depth: Depth;
  readonly streams: readonly Stream[];
  /** Ids or names; all environments when empty. */
  readonly environments: readonly string[];
  readonly concurrency: number;
}

/** All that one verification has found. */
export interface Verification {
  readonly depth: Depth;
  readonly environments: readonly Environment[];
  /** What `GET /environments` said, against what the mirror holds of it. */
  readonly reconciled: Reconciled | null;
  readonly heldEnvironments: readonly Row[];
  readonly examined: readonly (Examined & { readonly environment: Environment; readonly requests: number })[];
  /** What ended it before its time. */
  readonly error: SyncError | null;
}

/** Compares the mirror with the source as it is now; writes nothing. Never throws a `SyncError`. */
export async function verify(ports: VerifyPorts, options: VerifyOptions): Promise<Verification> {
  const heldEnvironments = await ports.state.environments();
  const nothing = { depth: options.depth, environments: [], reconciled: null, heldEnvironments, examined: [] };
  try {
    const items = await ports.source.environments();
    const reconciled = reconcile(items, heldEnvironments, ports.source.serverTime() ?? ports.clock());
    const environments = choose(reconciled, options.environments);
    const places = new Map<string, Place>();
    for (const { id } of environments)
      places.set(id, await placeOf(ports, id, { ...options, reconciled, heldEnvironments }));
    const stop: Stop = { error: null };
    const examined = await examineAll(ports, options, { environments, places, stop });
    return { ...nothing, environments, reconciled, examined, error: stop.error };
  } catch (error) {
    if (!(error instanceof SyncError)) throw error;
    return { ...nothing, error };
  }
}

interface Stop {
  error: SyncError | null;
}

interface Surroundings extends Pick<Verification, 'environments'> {
  readonly places: ReadonlyMap<string, Place>;
  readonly stop: Stop;
}

/** The streams side by side; each is compared by itself. What ends one for good ends the others before their next request. */
async function examineAll(
  ports: VerifyPorts,
  options: VerifyOptions,
  surroundings: Surroundings,
): Promise<Verification['examined']> {
  const queue = new PQueue({ concurrency: options.concurrency });
  const streams = streamsRead(options);
  const all = surroundings.environments.flatMap((environment) => streams.map((stream) => ({ environment, stream })));
  let streamsDone = 0;
  const tell = (): void => ports.onProgress({ requests: ports.source.requests(), streamsDone, streams: all.length });
  const found = await queue.addAll(
    all.map(({ environment, stream }) => async () => {
      let requests = 0;
      const onRequest = (): void => {
        requests += 1;
        tell();
      };
      const place = surroundings.places.get(environment.id) as Place;
      const sight = sightOf(ports, options, { place, stream, stop: surroundings.stop, onRequest });
      const examined = await examine(sight);
      const error = examined.find((each) => endsRun(each.error))?.error ?? null;
      surroundings.stop.error ??= error;
      streamsDone += 1;
      tell();
      return examined.map((each, i) => ({ ...each, environment, requests: i === 0 ? requests : 0 }));
    }),
  );
  return found.flat();
}

/** Which streams are read at a depth: `/assets` shows the ids of the typed lists as well. */
function streamsRead({ depth, streams, catalogue }: VerifyOptions): readonly Stream[] {
  if (depth === 'rows') return streams;
  if (depth === 'count') return [streamNamed(catalogue, 'table_assets')];
  return [
    ...new Set(streams.map((stream) => (stream.within === undefined ? stream : streamNamed(catalogue, 'assets')))),
  ];
}

async function placeOf(
  { source, holding: holdingOf }: VerifyPorts,
  envId: string,
  {
    catalogue,
    reconciled,
    heldEnvironments,
  }: { catalogue: readonly Stream[]; reconciled: Reconciled; heldEnvironments: readonly Row[] },
): Promise<Place> {
  const refreshIn = (rows: readonly Row[]): Instant | null =>
    (rows.find((row) => row['id'] === envId)?.['last_synced_at'] ?? null) as Instant | null;
  const holding = holdingOf(envId);
  const checkpoints = new Map<StreamName, Checkpoint>();
  for (const name of STREAM_NAMES) checkpoints.set(name, await holding.load(name));
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
  options: VerifyOptions,
  { place, stream, stop, onRequest }: Pick<Sight, 'stream' | 'onRequest'> & { place: Place; stop: Stop },
): Sight {
  return {
    ...place,
    stream,
    depth: options.depth,
    // No run and no pass: nothing is written.
    context: () => ({ run: 0, pass: 0, ...timesOf(ports.source), options }),
    onRequest,
    continueOrStop() {
      if (stop.error !== null) throw stop.error;
      if (ports.signal.aborted) throw new SyncError('signal', 'stopped by a signal');
    },
  };
}
