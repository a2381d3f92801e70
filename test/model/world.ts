import { SyncError } from '../../src/core/errors.ts';
import { type Instant, instantOfMs } from '../../src/core/instant.ts';
import type { Page, PageRequest, Query, Source } from '../../src/core/source.ts';
import { history, instant, LISTS, type Listed } from './lists.ts';
import { createPlace, type Item, type Place } from './place.ts';

/** One request as the world met it. */
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
  /** Milliseconds a request takes. */
  latencyMs: number;
  place(id?: string): Place;
  advance(seconds: number): void;
  /** A change stamped now but visible only later. */
  later(seconds: number, change: () => void): void;
  source(maxRequests?: number | null): Source;
}

export const HOUR = 3600;
export const DAY = 86_400;
const LOOKBACK_MS = 90 * DAY * 1000;
const MOST_REQUESTS = 3000;

export function createWorld(ids: readonly string[] = ['e1'], start = '2026-11-20T04:10:00.250Z'): World {
  let stampMs: number | null = null;
  const pending: { atMs: number; go: () => void }[] = [];
  const stamp = (): string => new Date(stampMs ?? world.nowMs).toISOString();
  const world: World = {
    nowMs: Date.parse(start),
    dates: 'always',
    places: new Map(ids.map((id) => [id, createPlace(id, stamp)])),
    log: [],
    violations: [],
    before: () => {},
    answer: (page) => page,
    epoch: 0,
    latencyMs: 200,
    place: (id = ids[0] ?? '') => world.places.get(id) as Place,
    advance(seconds) {
      const until = world.nowMs + seconds * 1000;
      pending.sort((a, b) => a.atMs - b.atMs);
      while (pending[0] !== undefined && pending[0].atMs <= until) pending.shift()?.go();
      world.nowMs = until;
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

/** The source of one run. */
function createSource(world: World, maxRequests: number | null): Source {
  let requests = 0;
  let serverTime: Instant | null = null;
  const send = (path: string, query: Query, cursor: string | null): Asked => {
    if (maxRequests !== null && requests >= maxRequests) throw new SyncError('budget', 'the requests are used up');
    requests += 1;
    if (requests > MOST_REQUESTS) throw new Error(`the run does not end: ${path} ${JSON.stringify(query)}`);
    world.advance(world.latencyMs / 1000);
    const asked = { path, query, cursor, number: requests };
    world.log.push(asked);
    world.before(asked);
    const dated = world.dates === 'always' || (world.dates === 'later' && path !== 'environments');
    if (dated) serverTime ??= instantOfMs(Math.floor(world.nowMs / 1000) * 1000);
    return asked;
  };
  return {
    async environments() {
      send('environments', {}, null);
      return [...world.places.values()].filter((p) => p.listed).map(({ id, name }) => ({ id, name }));
    },
    async page(request, onRequest) {
      const asked = send(request.path.join('/'), request.query, request.cursor);
      onRequest?.();
      return world.answer(respond(world, request), asked);
    },
    async matchedCount({ path, query }, onRequest) {
      send(path.join('/'), query, null);
      onRequest?.();
      return matched(world, path, query);
    },
    serverTime: () => serverTime,
    requests: () => requests,
    close: async () => {},
  };
}

function respond(world: World, { path, query, cursor }: PageRequest): Page {
  const [, ...rest] = path;
  const name = rest.length === 3 ? 'executions' : rest.join('/');
  const place = enter(world, path, name);
  const oldest = new Date(world.nowMs - LOOKBACK_MS).toISOString();
  checkQuery(world, query, oldest);
  const rows =
    name === 'executions' ? history(place, rest[1] ?? '', query, oldest) : LISTS[name]?.(place, query, oldest);
  if (rows === null) throw new SyncError('absent', `404 ${path.join('/')}`);
  if (rows === undefined) throw new SyncError('stream', `no such path ${path.join('/')}`);
  const signature = `${world.epoch}${JSON.stringify([path, query])}`;
  const bound = cursor === null ? signature : (JSON.parse(cursor) as string[])[0];
  if (bound !== signature) {
    if (bound?.startsWith(`${world.epoch}[`)) world.violations.push(`a cursor of ${bound} sent with ${signature}`);
    throw new SyncError('restart', '400 invalid_cursor');
  }
  return pageOf(rows, { limit: Number(query['limit']), signature, cursor });
}

/** The place a path leads into. @throws SyncError when it, or the collection, cannot be entered */
function enter(world: World, path: readonly string[], name: string): Place {
  const place = world.places.get(path[0] ?? '');
  if (!place?.listed || place.denied.has('environment') || place.denied.has(name))
    throw new SyncError('deny', `403 ${path.join('/')}`);
  if (place.notLive.has(name)) throw new SyncError('absent', `404 ${path.join('/')}`);
  return place;
}

/** The `matched_count` of the aggregate: the tables that can be seen and match every filter. */
function matched(world: World, path: readonly string[], query: Query): number {
  const place = enter(world, path, 'asset-health-scores');
  return (LISTS['assets/tables']?.(place, query, '') ?? []).filter((row) => row.shown).length;
}

interface Paging {
  readonly limit: number;
  readonly signature: string;
  readonly cursor: string | null;
}

/** Keyset paging over live data; rows that may not be seen are trimmed after the page was read. */
function pageOf(rows: readonly Listed[], { limit, signature, cursor }: Paging): Page {
  const after = cursor === null ? null : String((JSON.parse(cursor) as string[])[1]);
  const left = rows.filter((row) => after === null || row.key > after).sort((a, b) => (a.key < b.key ? -1 : 1));
  const page = left.slice(0, limit);
  const hasMore = left.length > limit;
  const items = page.filter((row) => row.shown).map((row): Item => structuredClone(row.item));
  return { items, hasMore, nextCursor: hasMore ? JSON.stringify([signature, page.at(-1)?.key]) : null };
}

function checkQuery(world: World, query: Query, oldest: string): void {
  const limit = Number(query['limit']);
  if (!(limit >= 1 && limit <= 2000)) world.violations.push(`limit ${query['limit']}`);
  for (const bound of ['synced_since', 'deleted_since'])
    if (query[bound] !== undefined && instant(query[bound]) < instant(oldest))
      world.violations.push(`${bound}=${query[bound]} is cut silently`);
  for (const [name, value] of Object.entries(query))
    if (Array.isArray(value) && (value.length === 0 || value.length > 1000))
      world.violations.push(`${value.length} values of ${name}`);
}
