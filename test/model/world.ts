import { SyncError } from '../../src/core/errors.ts';
import type { Page, PageRequest, Query, Source } from '../../src/core/ports/source.ts';
import { instantOfMs } from '../../src/core/time/instant.ts';
import { NO_TIMES, withReading } from '../../src/core/time/server-times.ts';
import { createEnvironment, type EnvironmentModel, type Item } from './environment.ts';
import { ApiError, matchedCount, respond } from './respond.ts';

/** One request as the world met it: its path as text, not encoded. */
export interface LoggedRequest {
  readonly path: string;
  readonly query: Query;
  readonly cursor: string | null;
  /** Its number in the run, from 1. */
  readonly number: number;
}

/** The model service: a virtual clock, some environments, and what the outside may do between any two requests. */
export interface World {
  nowMs: number;
  /** Whether answers have a `Date`; `later` leaves it out of the environments' alone. */
  dates: 'always' | 'later' | 'never';
  /** By how much the `Date` of an answer is wrong: of the node of a gateway whose clock is (R1). */
  dateErrorMs: (request: LoggedRequest) => number;
  /** Since when a cache has answered for the environments; null without one. It may tell its `Age`. */
  cache: { readonly sinceMs: number; readonly sendsAge: boolean } | null;
  readonly environments: Map<string, EnvironmentModel>;
  /** Every request of every run. */
  readonly log: LoggedRequest[];
  /** What the connector must never do. */
  readonly violations: string[];
  /** Called before a request is answered: it may change the world, or throw. */
  beforeRequest: (request: LoggedRequest) => void;
  /** May change an answer on its way. */
  transformPage: (page: Page, request: LoggedRequest) => Page;
  /** Raised to make all cursors invalid. */
  cursorEpoch: number;
  /** A list that answers 500: a page of it fails after so many tries, each of them a request. */
  failing: { readonly path: string; readonly tries: number } | null;
  /** What a run's requests are bounded by. */
  limitedBy: 'budget' | 'quota';
  /** Milliseconds a request takes. */
  latencyMs: number;
  environment(id?: string): EnvironmentModel;
  advance(seconds: number): void;
  /** A change stamped now but visible only later. */
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
      world.nowMs += 1; // no other change has its time
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

/** A crash takes the whole process: nothing is fetched or written any more. */
export class Crash extends Error {}

/** A request comes to the service. Throws what `before` throws, and when a run does not end. */
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

/** The clock as an answer tells it: its `Date`, and the `Age` that a cache adds. */
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

/** The source of one run, without a wire between. */
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
  /** Of an answer that is no refusal (R1). */
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

/** Every try of a page fails, those of earlier runs counted (R24). */
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

/** What a refusal means to who asked, without the wire between. */
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
