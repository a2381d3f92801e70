import { addDays, type Instant, parseInstant } from '../core/instant.ts';
import { badRequest, unprocessable } from './errors.ts';
import type { Listing } from './listings.ts';

const DEFAULT_LIMIT = 500;
const MOST_VALUES = 1000;
const LOOKBACK_DAYS = 90;
const DEFAULT_WINDOW_DAYS = 30;

/** A query string as the framework reads it. */
export type Raw = Readonly<Record<string, string | string[]>>;

interface Feed {
  readonly of: 'synced' | 'deleted';
  readonly since: Instant;
}

/** What a list request asks for, once understood. */
export interface Asked {
  readonly limit: number;
  readonly cursor: string | undefined;
  readonly order: string;
  readonly descending: boolean;
  readonly filters: Readonly<Record<string, readonly string[]>>;
  readonly feed: Feed | null;
  readonly disabled: boolean;
  readonly window: { readonly from: Instant; readonly to: Instant | null } | null;
}

interface Limits {
  readonly now: Instant;
  readonly pageMax: number;
}

/** Reads the query of a list request. @throws Refusal 422, or 400 for both feeds at once */
export function readParameters(listing: Listing, raw: Raw, limits: Limits): Asked {
  refuseUnknown(listing, raw);
  return {
    limit: readLimit(raw, limits.pageMax),
    cursor: single(raw, 'cursor'),
    order: readChoice(raw, 'order_by', Object.keys(listing.orders)),
    descending:
      readChoice(raw, 'direction', listing.direction === 'desc' ? ['desc', 'asc'] : ['asc', 'desc']) === 'desc',
    filters: readFilters(listing, raw),
    feed: readFeed(raw, limits.now),
    disabled: readChoice(raw, 'disabled', ['false', 'true']) === 'true',
    window: listing.window === undefined ? null : readWindow(raw, limits.now),
  };
}

function refuseUnknown(listing: Listing, raw: Raw): void {
  const known = new Set(['cursor', 'limit', ...Object.keys(listing.filters)]);
  if (listing.direction !== 'fixed') known.add('order_by').add('direction');
  if (listing.feeds) known.add('synced_since').add('deleted_since');
  if (listing.disabled !== undefined) known.add('disabled');
  if (listing.window !== undefined) known.add('start_time_from').add('start_time_to');
  const unknown = Object.keys(raw).find((name) => !known.has(name));
  if (unknown !== undefined) throw unprocessable(`Unknown parameter ${unknown}`);
}

function readLimit(raw: Raw, pageMax: number): number {
  const text = single(raw, 'limit');
  if (text === undefined) return Math.min(DEFAULT_LIMIT, pageMax);
  const limit = /^\d{1,9}$/.test(text) ? Number(text) : 0;
  if (limit < 1 || limit > pageMax) throw unprocessable(`limit must be a number from 1 to ${pageMax}`);
  return limit;
}

function readFilters(listing: Listing, raw: Raw): Asked['filters'] {
  const given = Object.keys(listing.filters).filter((name) => raw[name] !== undefined);
  return Object.fromEntries(given.map((name) => [name, readValues(raw, name)]));
}

function readValues(raw: Raw, name: string): string[] {
  const values = [raw[name] ?? []].flat();
  if (values.length > MOST_VALUES) throw unprocessable(`${name} takes at most ${MOST_VALUES} values`);
  return values;
}

function readFeed(raw: Raw, now: Instant): Feed | null {
  const synced = readInstant(raw, 'synced_since');
  const deleted = readInstant(raw, 'deleted_since');
  if (synced !== undefined && deleted !== undefined) {
    throw badRequest('synced_since and deleted_since exclude each other: ask for them in two requests');
  }
  if (synced !== undefined) return { of: 'synced', since: clamped(synced, now) };
  return deleted === undefined ? null : { of: 'deleted', since: clamped(deleted, now) };
}

function readWindow(raw: Raw, now: Instant): Asked['window'] {
  const from = readInstant(raw, 'start_time_from') ?? addDays(now, -DEFAULT_WINDOW_DAYS);
  return { from: clamped(from, now), to: readInstant(raw, 'start_time_to') ?? null };
}

/** A bound reaches back 90 days at most; an older one is cut, not refused. */
function clamped(bound: Instant, now: Instant): Instant {
  const oldest = addDays(now, -LOOKBACK_DAYS);
  return bound < oldest ? oldest : bound;
}

function readInstant(raw: Raw, name: string): Instant | undefined {
  const text = single(raw, name);
  if (text === undefined) return undefined;
  const instant = parseInstant(text);
  if (instant === null) throw unprocessable(`${name} must be an ISO 8601 date-time`);
  return instant;
}

/** One of `choices`; the first when left out. */
function readChoice(raw: Raw, name: string, choices: readonly string[]): string {
  const text = single(raw, name) ?? choices[0] ?? '';
  if (!choices.includes(text)) throw unprocessable(`${name} must be one of ${choices.join(', ')}`);
  return text;
}

function single(raw: Raw, name: string): string | undefined {
  const value = raw[name];
  if (Array.isArray(value)) throw unprocessable(`${name} can be given once only`);
  return value;
}
