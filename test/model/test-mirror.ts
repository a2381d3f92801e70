import { AsyncLocalStorage } from 'node:async_hooks';
import type { Checkpoint } from '../../src/core/checkpoint.ts';
import type { Commit, Destination } from '../../src/core/ports/destination.ts';
import type { Page, PageRequest, Source } from '../../src/core/ports/source.ts';
import type { StateStore } from '../../src/core/ports/state-store.ts';
import { instantOfMs } from '../../src/core/time/instant.ts';
import { createSqliteDestination } from '../../src/destination/sqlite/destination.ts';
import { perform } from '../../src/destination/sqlite/driver.ts';
import { fileState } from '../../src/destination/sqlite/open-state.ts';
import { CATALOGUE, type CollectionName } from '../../src/streams/catalogue.ts';
import type { RunPorts } from '../../src/sync/ports.ts';
import { type RunOptions, runSync } from '../../src/sync/run.ts';
import type { RunSummary, StreamSummary } from '../../src/sync/summary.ts';
import { loadCheckpoints } from '../../state/checkpoint-store.ts';
import { pageOf } from '../support/commit-parts.ts';
import { DECISION_OPTIONS } from '../support/decision-options.ts';
import { cacheReads } from './cached-reads.ts';
import { type OpenFile, openInFile } from './mirror-files.ts';
import { NO_TWIN } from './mirror-twin.ts';
import type { LoggedRequest, World } from './world.ts';

export type Row = Record<string, string | number | null>;

/** A commit as the hooks of the mirror see it. */
export interface ObservedCommit {
  readonly envId: string;
  readonly stream: CollectionName;
  readonly commit: Commit;
  readonly serverTime: string | null;
  /** The newest server time that the run has received. */
  readonly latest: string | null;
  /** Whether held-back removals are applied (R14). */
  readonly allowShrink: boolean;
  readonly overlapSeconds: number;
  /** Whether more commits of the same page follow (R27). */
  readonly isPart: boolean;
}

/** What a run knows when it sends a request. */
export interface RequestTime {
  /** T; null if unknown. */
  readonly now: string | null;
  /** The newest server time; null if unknown. */
  readonly latest: string | null;
  readonly overlapSeconds: number;
}

/** A request and its stream, which may request the list of another stream (R18). */
export interface StreamRequest extends PageRequest {
  readonly stream: CollectionName;
}

interface RunOverrides extends Partial<RunOptions> {
  readonly maxRequests?: number;
  /** The streams to sync; by default all but the history. */
  readonly only?: readonly CollectionName[];
  readonly history?: boolean;
  readonly signal?: AbortSignal;
}

/** A real mirror in its own file, synced from a world. */
export interface TestMirror {
  sync(wish?: RunOverrides): Promise<RunSummary>;
  rows(sql: string, ...values: unknown[]): readonly Row[];
  exec(sql: string): void;
  /** The keys that a stream's round has seen, flushed to the file or not, as arrays of both parts. */
  seen(stream: CollectionName, envId: string): string[][];
  checkpoint(stream: CollectionName, envId?: string): Checkpoint;
  /** The state store of another run of the same mirror. */
  readonly otherRun: StateStore;
  /** The requests of the last run, without the list of environments. */
  requests(path?: string): LoggedRequest[];
  /** Called when a run begins. */
  onOpen: () => void;
  onProgress: RunPorts['onProgress'];
  /** Called before a run's first page with the environments it reads. May throw if another run writes them. */
  onHold: (envIds: readonly string[]) => void;
  /** Called around every page. */
  beforeFetch: (request: StreamRequest, when: RequestTime) => void;
  /** `serverTime` is T when the page has arrived. */
  afterFetch: (request: StreamRequest, page: Page, serverTime: string | null) => void;
  /** Called around every commit; may throw. */
  beforeCommit: (observed: ObservedCommit) => void;
  afterCommit: (observed: ObservedCommit) => void;
  /** Runs commits one at a time, those of a heavy page together, so the hooks observe exactly one commit or page. */
  serialize<Result>(key: string, isPart: boolean, commit: () => Promise<Result>): Promise<Result>;
  /** Which pages arrive in slices, as heavy ones do (R27). */
  isHeavy: (request: PageRequest) => boolean;
  /** The difference between the machine's clock and the world's. */
  clockSkewMs: number;
  /** The file that a server serves, as of now; see `MirrorTwin`. */
  replica(): Promise<string>;
  /** @throws if the twin differs */
  equalsTwin(): Promise<void>;
  close(): void;
}

export const RUN_OPTIONS: RunOptions = {
  baseUrl: 'http://world.test',
  ...DECISION_OPTIONS,
  catalogue: CATALOGUE,
  streams: [],
  environments: [],
  concurrency: 2,
};

/** `quietMs`: how long commits that change nothing may wait to be batched. */
export function createTestMirror(
  world: World,
  quietMs = 0,
  makeTwin = NO_TWIN,
  open: OpenFile = openInFile,
): TestMirror {
  const { opened, close } = open(quietMs);
  const reads = cacheReads(opened);
  let exists = false;
  let logFrom = 0;
  const machineClock = (): string => instantOfMs(world.nowMs + mirrored.clockSkewMs);
  const twin = makeTwin(reads.file, { clock: machineClock, hasSeveralEnvironments: world.environments.size > 1 });
  const { file, clock } = twin;
  const mirrored: TestMirror = {
    async sync({ maxRequests, only, history, signal, ...options } = {}) {
      logFrom = world.log.length;
      const openPages = new Set<string>();
      const { overlapSeconds = RUN_OPTIONS.overlapSeconds } = options;
      const source = observeSource(world.source(maxRequests, signal), mirrored, { openPages, overlapSeconds });
      mirrored.onOpen();
      const ports = {
        source,
        limits: twin.limits,
        mirrorExists: exists,
        openMirror: async () => {
          exists = true;
          const destination = (envId: string, run: number): Destination =>
            observeDestination(
              twin.destination(createSqliteDestination(file, { envId, run, clock }), { envId, run }),
              mirrored,
              () => ({
                envId,
                serverTime: source.times().serverTime,
                latest: source.times().newestReading,
                allowShrink: options.allowShrink ?? false,
                overlapSeconds,
              }),
              openPages,
            );
          return {
            state: twin.state(fileState(file, clock, twin.randomHex)),
            destination,
            flush: async () => file.transactions.flush(),
            hold: async (envIds: readonly string[]) => mirrored.onHold(envIds),
            close: async () => {},
          };
        },
        clock: machineClock,
        signal: signal ?? new AbortController().signal,
        onProgress: mirrored.onProgress,
      };
      const streams = CATALOGUE.filter((s) => (only ? only.includes(s.name) : history || !s.optional));
      return runSync(ports, { ...RUN_OPTIONS, streams, ...options })
        .finally(() => source.close())
        .finally(() => twin.settled());
    },
    rows: reads.rows,
    exec(sql) {
      file.connection.exec(sql);
      reads.invalidate();
    },
    seen: (stream, envId) => {
      const written = mirrored.rows('select keys from seen_pages where env_id = ? and stream = ?', envId, stream);
      const noted = file.noted.pages.filter((page) => page.envId === envId && page.stream === stream);
      return [...written, ...noted].flatMap(({ keys }) => JSON.parse(String(keys)) as string[][]);
    },
    checkpoint: (stream, envId = [...world.environments.keys()][0] ?? '') =>
      perform(file.prepare, loadCheckpoints(envId))(stream),
    requests: (path) =>
      world.log.slice(logFrom).filter((a) => a.path !== 'environments' && (!path || a.path.endsWith(`/${path}`))),
    otherRun: twin.state(fileState(file, clock, twin.randomHex)),
    onOpen: () => {},
    onProgress: () => {},
    onHold: () => {},
    beforeFetch: () => {},
    afterFetch: () => {},
    beforeCommit: () => {},
    afterCommit: () => {},
    serialize: createSerializer(),
    isHeavy: () => false,
    clockSkewMs: 0,
    replica: () => twin.replica(),
    equalsTwin: () => twin.equal(),
    close,
  };
  return mirrored;
}

function createSerializer(): TestMirror['serialize'] {
  let tail: Promise<unknown> = Promise.resolve();
  let held: { readonly key: string; readonly end: () => void } | null = null;
  const take = async (key: string): Promise<NonNullable<typeof held>> => {
    const before = tail;
    const { promise, resolve } = Promise.withResolvers<void>();
    tail = promise;
    await before;
    return { key, end: resolve };
  };
  return async (key, isPart, commit) => {
    const turn = held?.key === key ? held : await take(key);
    held = turn;
    let continues = false;
    try {
      const result = await commit();
      continues = isPart;
      return result;
    } finally {
      if (!continues) {
        held = null;
        turn.end();
      }
    }
  };
}

/** The stream of the current request: the last one whose checkpoint was loaded. */
const currentStream = new AsyncLocalStorage<CollectionName>();

/** The page in slices of two items, as a heavy one arrives (R27). `onParse` learns whether more slices follow. */
function slicedPage(page: Page, onParse: (isPart: boolean) => void): Page {
  const all = [...page.items];
  const parts = Array.from({ length: Math.ceil(all.length / 2) || 1 }, (_, i) => all.slice(2 * i, 2 * i + 2));
  const slices = parts.map((part, i) => () => {
    onParse(i < parts.length - 1);
    return part;
  });
  const items = { length: all.length, slices, [Symbol.iterator]: () => all[Symbol.iterator]() };
  return { ...page, items };
}

/** `openPages` contains the streams whose page has more slices. */
function observeSource(
  source: Source,
  mirrored: TestMirror,
  { openPages, overlapSeconds }: { readonly openPages: Set<string>; readonly overlapSeconds: number },
): Source {
  return {
    ...source,
    async page(request, onRequest) {
      const streamRequest = { ...request, stream: currentStream.getStore() as CollectionName };
      const { serverTime: now, newestReading: latest } = source.times();
      mirrored.beforeFetch(streamRequest, { now, latest, overlapSeconds });
      const page = await source.page(request, onRequest);
      mirrored.afterFetch(streamRequest, page, source.times().serverTime);
      const key = `${request.path[0]} ${streamRequest.stream}`;
      const onParse = (isPart: boolean): void => void (isPart ? openPages.add(key) : openPages.delete(key));
      return mirrored.isHeavy(request) ? slicedPage(page, onParse) : page;
    },
  };
}

function observeDestination(
  destination: Destination,
  mirrored: TestMirror,
  context: () => Omit<ObservedCommit, 'stream' | 'commit' | 'isPart'>,
  openPages: ReadonlySet<string>,
): Destination {
  return {
    ...destination,
    load(stream) {
      currentStream.enterWith(stream.name as CollectionName);
      return destination.load(stream);
    },
    commit(stream, commit, marking) {
      const now = context();
      const key = `${now.envId} ${stream.name}`;
      const isPart = openPages.has(key) && pageOf(commit).returnedKeys !== undefined;
      const observed = { ...now, stream: stream.name as CollectionName, commit, isPart };
      return mirrored.serialize(key, isPart, async () => {
        mirrored.beforeCommit(observed);
        const counts = await destination.commit(stream, commit, marking);
        mirrored.afterCommit(observed);
        return counts;
      });
    },
  };
}

export function streamSummary(summary: RunSummary, name: CollectionName): StreamSummary {
  const found = summary.streams.find((stream) => stream.stream === name);
  if (found === undefined) throw new Error(`the run had no ${name}`);
  return found;
}
