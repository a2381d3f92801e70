import { SyncError } from '../../src/core/errors.ts';
import type { Page, PageRequest, Query, Source } from '../../src/core/ports/source.ts';
import { instantOfMs } from '../../src/core/time/instant.ts';
import { NO_TIMES, withReading } from '../../src/core/time/server-times.ts';
import { createEnvironment, type EnvironmentModel, type Item } from './environment.ts';
import { ApiError, matchedCount, respond } from './respond.ts';

/** A request that the service received. Its path is decoded. */
export interface LoggedRequest {
  readonly path: string;
  readonly query: Query;
  readonly cursor: string | null;
  /** Its number within the run, from 1. */
  readonly number: number;
}

/** The model of the service: a virtual clock, its environments, and hooks to change them between two requests. */
export interface World {
  nowMs: number;
  /** Which responses have a `Date`; `later`: all but the list of environments. */
  dates: 'always' | 'later' | 'never';
  /** The error of a response's `Date`, as from a gateway node whose clock is wrong (R1). */
  dateErrorMs: (request: LoggedRequest) => number;
  /** The cache in front of the list of environments, which may send its `Age`; null without one. */
  cache: { readonly sinceMs: number; readonly sendsAge: boolean } | null;
  readonly environments: Map<string, EnvironmentModel>;
  /** Every request of every run. */
  readonly log: LoggedRequest[];
  /** What the connector did although it must never do so. */
  readonly violations: string[];
  /** Called before a request is answered; may change the world or throw. */
  beforeRequest: (request: LoggedRequest) => void;
  /** May change a page before it is sent. */
  transformPage: (page: Page, request: LoggedRequest) => Page;
  /** Raising it expires all cursors. */
  cursorEpoch: number;
  /** The same for the cursors of single lists, by path. */
  readonly listEpochs: Map<string, number>;
  /** A list that always answers 500. A page fails after this many tries, each of them a request. */
  failing: { readonly path: string; readonly tries: number } | null;
  /** What the run reports once its requests are used up. */
  limitedBy: 'budget' | 'quota';
  /** The duration of a request. */
  latencyMs: number;
  environment(id?: string): EnvironmentModel;
  advance(seconds: number): void;
  /** Applies a change that is stamped now but becomes visible later. */
  commitLate(seconds: number, change: () => void): void;
  source(maxRequests?: number | null, signal?: AbortSignal): Source;
}

export const HOUR = 3600;
export const DAY = 86_400;
const MAX_REQUESTS = 3000;

export function createWorld(ids: readonly string[] = ['e1'], start = '2026-11-20T04:10:00.250Z'): World {
  let stampMs: number | null = null;
  const pending: { atMs: number; go: () => void }[] = [];
  const stamp = (): string => new Date(stampMs ?? world.nowMs).toISOString();
  const world: World = {
    nowMs: Date.parse(start),
    dates: 'always',
    dateErrorMs: () => 0,
    cache: null,
    environments: new Map(
      ids.map((id) => [id, createEnvironment(id, stamp, () => new Date(world.nowMs).toISOString())]),
    ),
    log: [],
    violations: [],
    beforeRequest: () => {},
    transformPage: (page) => page,
    cursorEpoch: 0,
    listEpochs: new Map(),
    failing: null,
    limitedBy: 'budget',
    latencyMs: 200,
    environment: (id = ids[0] ?? '') => world.environments.get(id) as EnvironmentModel,
    advance(seconds) {
      const until = world.nowMs + seconds * 1000;
      pending.sort((a, b) => a.atMs - b.atMs);
      for (let next = pending[0]; next !== undefined && next.atMs <= until; next = pending[0]) {
        pending.shift();
        world.nowMs = Math.max(world.nowMs, next.atMs);
        next.go();
      }
      world.nowMs = Math.round(until);
    },
    commitLate(seconds, change) {
      world.nowMs += 1; // No other change has the same time.
      const at = world.nowMs++;
      const go = (): void => {
        stampMs = at;
        change();
        stampMs = null;
      };
      pending.push({ atMs: at + seconds * 1000, go });
    },
    source: (maxRequests = null) => createSource(world, maxRequests),
  };
  return world;
}

/** The whole process crashes: it fetches and writes nothing from then on. */
export class Crash extends Error {}

/** Logs a request. @throws what `beforeRequest` throws, or if the run seems endless */
export function receive(world: World, request: LoggedRequest): void {
  if (request.number > MAX_REQUESTS)
    throw new Error(`the run does not end: ${request.path} ${JSON.stringify(request.query)}`);
  world.advance(world.latencyMs / 1000);
  world.log.push(request);
  world.beforeRequest(request);
}

export function isDated({ dates }: World, { path }: LoggedRequest): boolean {
  return dates === 'always' || (dates === 'later' && path !== 'environments');
}

/** The clock reading of a response: its `Date`, and the `Age` that a cache adds. */
export function clockReading(
  world: World,
  request: LoggedRequest,
): { readonly dateMs: number; readonly ageSeconds: number } {
  const { cache, nowMs } = world;
  if (cache === null || request.path !== 'environments' || cache.sinceMs > nowMs)
    return { dateMs: nowMs + world.dateErrorMs(request), ageSeconds: 0 };
  return { dateMs: cache.sinceMs, ageSeconds: cache.sendsAge ? Math.floor((nowMs - cache.sinceMs) / 1000) : 0 };
}

export function listEnvironments(world: World): Item[] {
  return [...world.environments.values()].filter((place) => place.listed).map(({ id, name }) => ({ id, name }));
}

/** The source of one run, without HTTP. */
function createSource(world: World, maxRequests: number | null): Source {
  let requests = 0;
  let times = NO_TIMES;
  let firstReadingMs: number | null = null;
  const send = (
    path: string,
    { query, cursor }: Pick<LoggedRequest, 'query' | 'cursor'>,
    onRequest?: () => void,
  ): LoggedRequest => {
    if (maxRequests !== null && requests >= maxRequests)
      throw new SyncError(world.limitedBy, 'the requests are used up');
    requests += 1;
    onRequest?.();
    const asked = { path, query, cursor, number: requests };
    receive(world, asked);
    return asked;
  };
  /** Only successful responses count (R1). */
  const noteTime = (request: LoggedRequest): void => {
    if (!isDated(world, request)) return;
    firstReadingMs ??= world.nowMs;
    const { dateMs, ageSeconds } = clockReading(world, request);
    times = withReading(times, {
      at: instantOfMs(Math.floor(dateMs / 1000) * 1000 + 1000 * ageSeconds),
      elapsedSeconds: (world.nowMs - firstReadingMs) / 1000,
    });
  };
  return {
    async environments() {
      noteTime(send('environments', { query: {}, cursor: null }));
      return listEnvironments(world);
    },
    async page(request, onRequest) {
      const path = request.path.join('/');
      if (world.failing?.path === path)
        return failEveryTry(request, world.failing, () => send(path, request, onRequest));
      const asked = send(path, request, onRequest);
      const page = withSyncErrors(() => respond(world, request));
      noteTime(asked);
      return world.transformPage(page, asked);
    },
    async matchedCount({ path, query }, onRequest) {
      const asked = send(path.join('/'), { query, cursor: null }, onRequest);
      const count = withSyncErrors(() => matchedCount(world, path, query));
      noteTime(asked);
      return count;
    },
    times: () => times,
    requests: () => requests,
    close: async () => {},
  };
}

/** Fails every try of a page, counting those of earlier runs (R24). */
function failEveryTry(
  { failedTries = 0 }: PageRequest,
  { path, tries }: { readonly path: string; readonly tries: number },
  send: () => void,
): never {
  for (let failed = failedTries; failed < tries; failed++) {
    try {
      send();
    } catch (error) {
      if (!(error instanceof SyncError) || failed === failedTries) throw error;
      throw new SyncError(error.recovery, error.message, { failedTries: failed });
    }
  }
  throw new SyncError('halve-page', `500 ${path}`);
}

/** Turns an error response into the error that the real source would throw. */
function withSyncErrors<T>(send: () => T): T {
  try {
    return send();
  } catch (error) {
    throw error instanceof ApiError ? new SyncError(recoveryOf(error), error.message) : error;
  }
}

function recoveryOf({ status, code }: ApiError): SyncError['recovery'] {
  if (status === 403) return 'forbidden';
  if (status === 404) return 'not-live';
  if (status === 500) return 'halve-page';
  return code === 'invalid_cursor' ? 'restart-read' : 'restart-round';
}
