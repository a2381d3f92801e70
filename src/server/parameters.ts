import { type Instant, parseInstant } from '../core/instant.ts';
import { badRequest } from './errors.ts';
import type { Listing } from './listings.ts';
import { clamped, monthBefore } from './times.ts';

/** A query string that the listing's schema has passed: values are of their types, defaults filled in. */
export type Query = Readonly<Record<string, unknown>>;

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

/** Reads the query of a list request; `now` is the mirror's. @throws Refusal 400 for both feeds at once */
export function readParameters(listing: Listing, query: Query, now: Instant): Asked {
  return {
    limit: query['limit'] as number,
    cursor: (query['cursor'] as string | undefined) || undefined,
    order: String(query['order_by'] ?? Object.keys(listing.orders)[0]),
    descending: query['direction'] === 'desc',
    filters: readFilters(listing, query),
    feed: readFeed(query, now),
    disabled: query['disabled'] === true,
    window: listing.window === undefined ? null : readWindow(query, now),
  };
}

/** The array filters that are given. */
export function readFilters({ filters }: Pick<Listing, 'filters'>, query: Query): Asked['filters'] {
  const given = Object.keys(filters).filter((name) => query[name] !== undefined);
  return Object.fromEntries(given.map((name) => [name, query[name] as string[]]));
}

function readFeed(query: Query, now: Instant): Feed | null {
  const synced = readInstant(query, 'synced_since');
  const deleted = readInstant(query, 'deleted_since');
  if (synced !== null && deleted !== null) {
    throw badRequest('synced_since and deleted_since exclude each other: ask for them in two requests');
  }
  if (synced !== null) return { of: 'synced', since: clamped(synced, now) };
  return deleted === null ? null : { of: 'deleted', since: clamped(deleted, now) };
}

function readWindow(query: Query, now: Instant): Asked['window'] {
  const from = readInstant(query, 'start_time_from') ?? monthBefore(now);
  return { from: clamped(from, now), to: readInstant(query, 'start_time_to') };
}

function readInstant(query: Query, name: string): Instant | null {
  return parseInstant(String(query[name] ?? ''));
}
