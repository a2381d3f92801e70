import { SCORE_DAYS } from '../core/read-api.ts';
import { addDays, type Instant, LAST_INSTANT } from '../core/time/instant.ts';
import { type SqlStatement, selectValues } from '../page-data/sql.ts';
import { fromClause, isOrderedByTime, selectByIndex, selectInOrder, whereDeletion } from './access-path.ts';
import { type IndexPath, SCAN_WINDOW_ROWS } from './index-path.ts';
import type { CollectionListing, ListRequest } from './listings.ts';
import { memoizeLast } from './memoize-last.ts';
import type { ListParameters, RequestedPage } from './parameters.ts';
import { isLimited, readerNumber, whereVisible } from './visibility.ts';
import { columnOf, lengthOf, whereJsonFits, writtenItem } from './written.ts';

/** The statement of one page, without OFFSET. It reads a row more than the limit, which says if a page follows. */
export function pageStatement(page: RequestedPage, index: IndexPath | null): SqlStatement {
  const values = pageValues(page);
  const fields = fieldsOf(page.listing, page.feed?.of);
  const narrowing = narrowingConditions(page, index);
  if (index !== null) {
    const rows = selectByIndex(page, index, { selected: fields, narrowing });
    return { sql: `${rows} limit @limit`, values };
  }
  const rows = selectInOrder(page, [...fields, shownIf(narrowing)]);
  return { sql: `select * from (${rows} limit ${SCAN_WINDOW_ROWS}) where shown limit @limit`, values };
}

/**
 * The same page with its items written as JSON by SQLite, from at most `maxRows` rows. An item is null if it is longer
 * than `maxBytes`, has members that are not fields, or a value of a wrong type.
 */
export function writtenPageStatement(page: RequestedPage, maxRows: number, maxBytes: number): SqlStatement {
  const { listing } = page;
  const isWritten = ['r.extra is null', `${lengthOf(listing)} <= ${maxBytes}`, ...whereJsonFits(listing)];
  const item = `iif(${isWritten.join(' and ')}, ${writtenItem(listing)}, null) as item`;
  const rows = selectInOrder(page, [item, shownIf(narrowingConditions(page, null))]);
  return { sql: `select item from (${rows} limit ${maxRows}) where shown limit @limit`, values: pageValues(page) };
}

const shownIf = (conditions: readonly string[]): string => `(${conditions.join('\n and ') || 'true'}) as shown`;

/** The last row of the window that a page without an index reads; no row if the window reaches the end of the list. */
export function scanWindowStatement(page: RequestedPage, rows = SCAN_WINDOW_ROWS): SqlStatement {
  return { sql: `${selectInOrder(page, [])} limit 1 offset ${rows - 1}`, values: pageValues(page) };
}

/** One row of a first page, shown or not, if any row is reached. */
export function reachedStatement(page: RequestedPage): SqlStatement {
  const of = `reached ${page.feed?.of} ${page.descending}`;
  return { sql: keptText(page.listing, of, () => `${selectInOrder(page, [])} limit 1`), values: pageValues(page) };
}

/** One row if there is an item of that id, shown or not, that is longer than `bytes`. */
export function longOneStatement(request: ListRequest, bytes: number): SqlStatement {
  const { listing } = request;
  const { entry, one } = listing;
  const sql = keptText(
    listing,
    `long ${bytes}`,
    () => `select 1 from ${entry.table} r
      where r.env_id = @env and ${one?.by} = @one and ${lengthOf(listing)} > ${bytes}`,
  );
  return { sql, values: valuesOf(request) };
}

/** The statement of a single item; with `maxBytes`, only if the item is not longer. */
export function oneStatement(request: ListRequest, maxBytes?: number): SqlStatement {
  const { listing, reader } = request;
  const sql = keptText(listing, `one ${isLimited(reader)} ${maxBytes}`, () => {
    const conditions = ['r.env_id = @env', `${listing.one?.by} = @one`, ...whereVisible(listing, reader)];
    if (listing.baseFilter !== undefined) conditions.push(listing.baseFilter);
    if (listing.visibleIf !== undefined) conditions.push(listing.visibleIf);
    if (listing.feedClock !== undefined) conditions.push(`${listing.feedClock}.deleted_at is null`);
    if (maxBytes !== undefined) conditions.push(`${lengthOf(listing)} <= ${maxBytes}`);
    return `select ${fieldsOf(listing).join(', ')} ${fromClause(listing, 'r')} where ${conditions.join('\n and ')} limit 1`;
  });
  return { sql, values: valuesOf(request) };
}

const texts = new WeakMap<CollectionListing, Map<string, string>>();

/** The SQL of a frequent request, made only once. `of` names everything that it depends on besides the listing. */
function keptText(listing: CollectionListing, of: string, make: () => string): string {
  const kept = texts.get(listing) ?? new Map<string, string>();
  texts.set(listing, kept);
  const text = kept.get(of) ?? make();
  kept.set(of, text);
  return text;
}

function fieldsOf(listing: CollectionListing, feed?: 'synced' | 'deleted'): string[] {
  const { entry, feedClock } = listing;
  const fields = Object.keys(entry.fields).map((name) =>
    entry.serve.emptyIsNull?.includes(name)
      ? `nullif(r."${name}", '') as "${name}"`
      : `${columnOf(listing, name)} as "${name}"`,
  );
  if (feedClock === 'r' && feed === 'deleted') fields.push('r.mirrored_at as deleted_at');
  return [...fields, 'r.extra as extra'];
}

/** The conditions that decide which of the rows that are read show. */
function narrowingConditions(page: RequestedPage, index: IndexPath | null): string[] {
  const { listing, feed, filters } = page;
  const { visibleIf, disabled, feedClock, baseFilter, join } = listing;
  const conditions = visibleIf === undefined ? [] : [visibleIf];
  if (baseFilter !== undefined && feed?.of === 'deleted') conditions.push(baseFilter);
  if (feedClock !== undefined && !isOrderedByTime(page)) conditions.push(whereDeletion(feedClock, page));
  if (join !== undefined && isOrderedByTime(page)) conditions.push('r.env_id is not null');
  if (disabled !== undefined && feed === null) conditions.push(page.disabled ? disabled.only : disabled.without);
  const others = Object.entries(filters).filter(([name]) => name !== index?.filter);
  const more = filterConditions(listing, Object.fromEntries(others));
  return [...conditions, ...more, ...whereVisible(listing, page.reader)];
}

/** The conditions of the given filters. Their values are parameters with the names of the filters. */
export function filterConditions({ filters }: CollectionListing, given: ListParameters['filters']): string[] {
  return Object.keys(given).map((name) => filters[name]?.matches(selectValues(name)) ?? 'true');
}

/** Scores before this time are not shown. Both times are by the source's clock. */
const weekBefore = memoizeLast((serverTime: Instant): Instant => addDays(serverTime, -SCORE_DAYS));

/** SQLite ignores the values that a statement does not use. */
export function valuesOf({ place, reader, serverTime }: Omit<ListRequest, 'listing'>): SqlStatement['values'] {
  return { ...place, reader: readerNumber(reader), week: weekBefore(serverTime) };
}

export function filterValues(filters: ListParameters['filters']): SqlStatement['values'] {
  return Object.fromEntries(Object.entries(filters).map(([name, values]) => [name, JSON.stringify(values)]));
}

export function pageValues(page: RequestedPage): SqlStatement['values'] {
  const { limit, filters, feed, window, position } = page;
  return {
    ...valuesOf(page),
    ...filterValues(filters),
    from: window?.from ?? null,
    to: window?.to ?? LAST_INSTANT,
    since: feed?.since ?? null,
    limit: limit + 1,
    ...Object.fromEntries((position ?? []).map((value, i) => [`position_${i}`, value])),
  };
}
