import { type Instant, parseInstant } from '../core/instant.ts';
import { badRequest } from './errors.ts';
import type { Listing } from './listings.ts';
import type { View } from './store.ts';
import { clamped, monthBefore } from './times.ts';

/** A query string that the listing's schema has passed: values are of their types, defaults filled in. */
export type Query = Readonly<Record<string, unknown>>;

type Times = Pick<View, 'now' | 'serverTime'>;

interface Feed {
  readonly of: 'synced' | 'deleted';
  readonly since: Instant;
}

/** What a list request asks for. */
export interface Asked {
  readonly limit: number;
  /** Left out, or empty, for the first page. */
  readonly cursor: string | undefined;
  readonly order: string;
  readonly descending: boolean;
  readonly filters: Readonly<Record<string, readonly string[]>>;
  readonly feed: Feed | null;
  readonly disabled: boolean;
  readonly window: { readonly from: Instant; readonly to: Instant | null } | null;
}

/** Reads the query of a list request. @throws Refusal 400 for both feeds at once */
export function readParameters(listing: Listing, query: Query, times: Times): Asked {
  return {
    limit: query['limit'] as number,
    cursor: (query['cursor'] as string | undefined) || undefined,
    order: String(query['order_by'] ?? Object.keys(listing.orders)[0]),
    descending: query['direction'] === 'desc',
    filters: readFilters(listing, query),
    feed: readFeed(query, times),
    disabled: query['disabled'] === true,
    window: listing.window === undefined ? null : readWindow(query, times),
  };
}

/** The array filters that are given. */
export function readFilters({ filters }: Pick<Listing, 'filters'>, query: Query): Asked['filters'] {
  const given = Object.keys(filters).filter((name) => query[name] !== undefined);
  return Object.fromEntries(given.map((name) => [name, query[name] as string[]]));
}

/** A wrong clock of this machine moves the mirror's time away from the source's; the earlier one cuts off nothing that it has to show. */
function readFeed(query: Query, { now: mirrorTime, serverTime }: Times): Feed | null {
  const now = mirrorTime < serverTime ? mirrorTime : serverTime;
  const synced = readInstant(query, 'synced_since');
  const deleted = readInstant(query, 'deleted_since');
  if (synced !== null && deleted !== null) {
    throw badRequest('synced_since and deleted_since exclude each other: ask for them in two requests');
  }
  if (synced !== null) return { of: 'synced', since: clamped(synced, now) };
  return deleted === null ? null : { of: 'deleted', since: clamped(deleted, now) };
}

function readWindow(query: Query, { serverTime }: Times): Asked['window'] {
  const from = readInstant(query, 'start_time_from') ?? monthBefore(serverTime);
  return { from: clamped(from, serverTime), to: readInstant(query, 'start_time_to') };
}

function readInstant(query: Query, name: string): Instant | null {
  return parseInstant(String(query[name] ?? ''));
}
