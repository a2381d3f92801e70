import { DEFAULT_WINDOW_DAYS, LOOKBACK_DAYS } from '../core/read-api.ts';
import { addDays, earlierOf, type Instant, laterOf, parseInstant } from '../core/time/instant.ts';
import type { PagePosition } from './cursor.ts';
import { badRequest } from './errors.ts';
import type { CollectionListing, ListRequest } from './listings.ts';
import type { MirrorSnapshot } from './mirror-reads.ts';

/** A query validated by the listing's schema: values have their types, and defaults are filled in. */
export type ParsedQuery = Readonly<Record<string, unknown>>;

export interface ListParameters {
  readonly limit: number;
  /** Undefined for the first page. */
  readonly cursor: string | undefined;
  readonly order: string;
  readonly descending: boolean;
  readonly filters: Readonly<Record<string, readonly string[]>>;
  readonly feed: { readonly of: 'synced' | 'deleted'; readonly since: Instant } | null;
  readonly disabled: boolean;
  readonly window: { readonly from: Instant; readonly to: Instant | null } | null;
}

/** A request for one page of a list: its first page, or the one after `position`. */
export interface RequestedPage extends ListRequest, Omit<ListParameters, 'cursor'> {
  readonly position: PagePosition | null;
}

/** Reads the query of a list request. @throws HttpError 400 if it names both feeds */
export function readParameters(view: MirrorSnapshot, { listing, place, serverTime }: ListRequest, query: ParsedQuery) {
  return {
    limit: query['limit'] as number,
    cursor: (query['cursor'] as string | undefined) || undefined,
    order: String(query['order_by'] ?? Object.keys(listing.orders)[0]),
    descending: query['direction'] === 'desc',
    filters: readFilters(listing, query),
    // The earlier of this machine's and the source's time, so a wrong clock never hides rows that must be shown.
    feed: readFeed(query, earlierOf(view.clockOf(place.env), serverTime)),
    disabled: query['disabled'] === true,
    window: listing.window === undefined ? null : readWindow(query, serverTime),
  };
}

export function readFilters({ filters }: CollectionListing, query: ParsedQuery): ListParameters['filters'] {
  const given = Object.keys(filters).filter((name) => query[name] !== undefined);
  return Object.fromEntries(given.map((name) => [name, query[name] as string[]]));
}

function readFeed(query: ParsedQuery, now: Instant): ListParameters['feed'] {
  const synced = readInstant(query, 'synced_since');
  const deleted = readInstant(query, 'deleted_since');
  if (synced !== null && deleted !== null) {
    throw badRequest('synced_since and deleted_since cannot be combined: send two requests');
  }
  if (synced !== null) return { of: 'synced', since: clampToLookback(synced, now) };
  return deleted === null ? null : { of: 'deleted', since: clampToLookback(deleted, now) };
}

function readWindow(query: ParsedQuery, serverTime: Instant): ListParameters['window'] {
  const from = readInstant(query, 'start_time_from') ?? addDays(serverTime, -DEFAULT_WINDOW_DAYS);
  return { from: clampToLookback(from, serverTime), to: readInstant(query, 'start_time_to') };
}

/** Limits a bound to 90 days back. An older bound is moved, not rejected. */
const clampToLookback = (bound: Instant, now: Instant): Instant => laterOf(bound, addDays(now, -LOOKBACK_DAYS));

function readInstant(query: ParsedQuery, name: string): Instant | null {
  return parseInstant(String(query[name] ?? ''));
}
