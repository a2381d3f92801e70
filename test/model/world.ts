import { SyncError } from '../../src/core/errors.ts';
import type { Page, PageRequest, Query, Source } from '../../src/core/ports/source.ts';
import { instantOfMs } from '../../src/core/time/instant.ts';
import { NO_TIMES, withReading } from '../../src/core/time/server-times.ts';
import { createPlace, type Item, type Place } from './place.ts';
import { matched, Refusal, respond } from './respond.ts';

/** One request as the world met it: its path as text, not encoded. */
export interface Asked {
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
  dateErrorMs: (asked: Asked) => number;
  /** Since when a cache has answered for the environments; null without one. It may tell its `Age`. */
  cache: { readonly sinceMs: number; readonly tellsAge: boolean } | null;
  readonly places: Map<string, Place>;
  /** Every request of every run. */
  readonly log: Asked[];
  /** What the connector must never do. */
  readonly violations: string[];
  /** Called before a request is answered: it may change the world, or throw. */
  before: (asked: Asked) => void;
  /** May change an answer on its way. */
  answer: (page: Page, asked: Asked) => Page;
  /** Raised to make all cursors invalid. */
  epoch: number;
  /** A list that answers 500: a page of it fails after so many tries, each of them a request. */
  failing: { readonly path: string; readonly tries: number } | null;
  /** What a run's requests are bounded by. */
  spends: 'budget' | 'quota';
  /** Milliseconds a request takes. */
  latencyMs: number;
  place(id?: string): Place;
  advance(seconds: number): void;
  /** A change stamped now but visible only later. */
  later(seconds: number, change: () => void): void;
  source(maxRequests?: number | null, signal?: AbortSignal): Source;
}

export const HOUR = 3600;
export const DAY = 86_400;
const MOST_REQUESTS = 3000;

export function createWorld(ids: readonly string[] = ['e1'], start = '2026-11-20T04:10:00.250Z'): World {
  let stampMs: number | null = null;
  const pending: { atMs: number; go: () => void }[] = [];
  const stamp = (): string => new Date(stampMs ?? world.nowMs).toISOString();
  const world: World = {
    nowMs: Date.parse(start),
    dates: 'always',
    dateErrorMs: () => 0,
    cache: null,
    places: new Map(ids.map((id) => [id, createPlace(id, stamp, () => new Date(world.nowMs).toISOString())])),
    log: [],
    violations: [],
    before: () => {},
    answer: (page) => page,
    epoch: 0,
    failing: null,
    spends: 'budget',
    latencyMs: 200,
    place: (id = ids[0] ?? '') => world.places.get(id) as Place,
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
    later(seconds, change) {
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
export function arrive(world: World, asked: Asked): void {
  if (asked.number > MOST_REQUESTS)
    throw new Error(`the run does not end: ${asked.path} ${JSON.stringify(asked.query)}`);
  world.advance(world.latencyMs / 1000);
  world.log.push(asked);
  world.before(asked);
}

export function isDated({ dates }: World, { path }: Asked): boolean {
  return dates === 'always' || (dates === 'later' && path !== 'environments');
}

/** The clock as an answer tells it: its `Date`, and the `Age` that a cache adds. */
export function readingOf(world: World, asked: Asked): { readonly dateMs: number; readonly ageSeconds: number } {
  const { cache, nowMs } = world;
  if (cache === null || asked.path !== 'environments' || cache.sinceMs > nowMs)
    return { dateMs: nowMs + world.dateErrorMs(asked), ageSeconds: 0 };
  return { dateMs: cache.sinceMs, ageSeconds: cache.tellsAge ? Math.floor((nowMs - cache.sinceMs) / 1000) : 0 };
}

export function listEnvironments(world: World): Item[] {
  return [...world.places.values()].filter((place) => place.listed).map(({ id, name }) => ({ id, name }));
}

/** The source of one run, without a wire between. */
function createSource(world: World, maxRequests: number | null): Source {
  let requests = 0;
  let times = NO_TIMES;
  let firstReadingMs: number | null = null;
  const send = (path: string, { query, cursor }: Pick<Asked, 'query' | 'cursor'>, onRequest?: () => void): Asked => {
    if (maxRequests !== null && requests >= maxRequests) throw new SyncError(world.spends, 'the requests are used up');
    requests += 1;
    onRequest?.();
    const asked = { path, query, cursor, number: requests };
    arrive(world, asked);
    return asked;
  };
  /** Of an answer that is no refusal (R1). */
  const noteTime = (asked: Asked): void => {
    if (!isDated(world, asked)) return;
    firstReadingMs ??= world.nowMs;
    const { dateMs, ageSeconds } = readingOf(world, asked);
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
      if (world.failing?.path === path) return failing(request, world.failing, () => send(path, request, onRequest));
      const asked = send(path, request, onRequest);
      const page = refusing(() => respond(world, request));
      noteTime(asked);
      return world.answer(page, asked);
    },
    async matchedCount({ path, query }, onRequest) {
      const asked = send(path.join('/'), { query, cursor: null }, onRequest);
      const count = refusing(() => matched(world, path, query));
      noteTime(asked);
      return count;
    },
    times: () => times,
    requests: () => requests,
    close: async () => {},
  };
}

/** Every try of a page fails, those of earlier runs counted (R24). */
function failing(
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
function refusing<T>(ask: () => T): T {
  try {
    return ask();
  } catch (error) {
    throw error instanceof Refusal ? new SyncError(recoveryOf(error), error.message) : error;
  }
}

function recoveryOf({ status, code }: Refusal): SyncError['recovery'] {
  if (status === 403) return 'forbidden';
  if (status === 404) return 'not-live';
  if (status === 500) return 'halve-page';
  return code === 'invalid_cursor' ? 'restart-read' : 'restart-round';
}
