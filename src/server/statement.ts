import { LAST_INSTANT } from '../core/time/instant.ts';
import { accessPathOf, accessPathSql, fromClause, isOrderedByTime, unindexed, whereDeletion } from './access-path.ts';
import type { PagePosition } from './cursor.ts';
import { selectValues } from './filters.ts';
import type { IndexPath } from './index-path.ts';
import type { ListRequest, SqlStatement } from './list-request.ts';
import type { CollectionListing } from './listings.ts';
import type { ListParameters } from './parameters.ts';
import { SCAN_WINDOW_ROWS } from './scan-window.ts';
import { weekBefore } from './times.ts';
import { isLimited, readerNumber, whereVisible } from './visibility.ts';
import { columnOf, lengthOf, writtenItem } from './written.ts';

/**
 * The statement of one page. It reads one row more than the limit, which says whether there is another page. It never
 * uses OFFSET.
 */
export function pageStatement(
  listRequest: ListRequest,
  listParameters: ListParameters,
  position: PagePosition | null,
  lead: IndexPath | null,
): SqlStatement {
  const values = pageValues(listRequest, listParameters, position);
  const accessPath = accessPathOf(listRequest, listParameters, position, lead);
  const fields = fieldsOf(listRequest, listParameters.feed?.of);
  const narrowing = narrowingConditions(listRequest, listParameters, lead);
  if (accessPath.indexed) {
    const others = narrowing.map(unindexed);
    const rows = accessPathSql(
      { ...accessPath, branches: accessPath.branches.map((conditions) => [...conditions, ...others]) },
      fields,
    );
    return { sql: `${rows} limit @limit`, values };
  }
  const rows = accessPathSql(accessPath, [...fields, `(${narrowing.join('\n and ') || 'true'}) as shown`]);
  return { sql: `select * from (${rows} limit ${SCAN_WINDOW_ROWS}) where shown limit @limit`, values };
}

/**
 * The same page with its items written as JSON by SQLite, from at most `most.rows` rows. An item is null if it is
 * longer than `most.bytes` or has members that are not fields.
 */
export function writtenPageStatement(
  listRequest: ListRequest,
  listParameters: ListParameters,
  position: PagePosition | null,
  most: { readonly rows: number; readonly bytes: number },
): SqlStatement {
  const { listing } = listRequest;
  const item = `iif(r.extra is null and ${lengthOf(listing)} <= ${most.bytes}, ${writtenItem(listing)}, null)`;
  const shown = `(${narrowingConditions(listRequest, listParameters, null).join('\n and ') || 'true'})`;
  const rows = accessPathSql(accessPathOf(listRequest, listParameters, position, null), [
    `${item} as item`,
    `${shown} as shown`,
  ]);
  return {
    sql: `select item from (${rows} limit ${most.rows}) where shown limit @limit`,
    values: pageValues(listRequest, listParameters, position),
  };
}

/** The last row of the window that a page without an index reads; no row if the window reaches the end of the list. */
export function scanWindowStatement(
  listRequest: ListRequest,
  listParameters: ListParameters,
  position: PagePosition | null,
  rows = SCAN_WINDOW_ROWS,
): SqlStatement {
  return {
    sql: `${accessPathSql(accessPathOf(listRequest, listParameters, position, null), [])} limit 1 offset ${rows - 1}`,
    values: pageValues(listRequest, listParameters, position),
  };
}

/** One row, shown or not, if any row is reached. */
export function reachedStatement(listRequest: ListRequest, listParameters: ListParameters): SqlStatement {
  const { listing } = listRequest;
  const sql = keptText(
    listing,
    `reached ${listParameters.feed?.of} ${listParameters.descending}`,
    () => `${accessPathSql(accessPathOf(listRequest, listParameters, null, null), [])} limit 1`,
  );
  return { sql, values: pageValues(listRequest, listParameters, null) };
}

/** One row if there is an item of that id, shown or not, that is longer than `bytes`. */
export function longOneStatement(listRequest: ListRequest, bytes: number): SqlStatement {
  const { listing } = listRequest;
  const { entry, one } = listing;
  const sql = keptText(
    listing,
    `long ${bytes}`,
    () => `select 1 from ${entry.table} r
      where r.env_id = @env and ${one?.by} = @one and ${lengthOf(listing)} > ${bytes}`,
  );
  return { sql, values: valuesOf(listRequest) };
}

/** The statement of a single item; with `mostBytes`, only if the item is not longer. */
export function oneStatement(listRequest: ListRequest, mostBytes?: number): SqlStatement {
  const { listing, reader } = listRequest;
  const sql = keptText(listing, `one ${isLimited(reader)} ${mostBytes}`, () => {
    const conditions = ['r.env_id = @env', `${listing.one?.by} = @one`, ...whereVisible(listing, reader)];
    if (listing.baseFilter !== undefined) conditions.push(listing.baseFilter);
    if (listing.visibleIf !== undefined) conditions.push(listing.visibleIf);
    if (listing.feedClock !== undefined) conditions.push(`${listing.feedClock}.deleted_at is null`);
    if (mostBytes !== undefined) conditions.push(`${lengthOf(listing)} <= ${mostBytes}`);
    return `select ${fieldsOf(listRequest).join(', ')} ${fromClause(listing, 'r')} where ${conditions.join('\n and ')} limit 1`;
  });
  return { sql, values: valuesOf(listRequest) };
}

const texts = new WeakMap<CollectionListing, Map<string, string>>();

/** The SQL of a frequent request, made only once. `of` names everything that it depends on besides the listing. */
function keptText(collectionListing: CollectionListing, of: string, make: () => string): string {
  const kept = texts.get(collectionListing) ?? new Map<string, string>();
  texts.set(collectionListing, kept);
  const text = kept.get(of) ?? make();
  kept.set(of, text);
  return text;
}

/** The columns of an item. */
function fieldsOf({ listing }: ListRequest, feed?: 'synced' | 'deleted'): string[] {
  const { entry, feedClock, emptyIsNull } = listing;
  const fields = Object.keys(entry.fields).map((name) =>
    emptyIsNull?.includes(name) ? `nullif(r."${name}", '') as "${name}"` : `${columnOf(listing, name)} as "${name}"`,
  );
  if (feedClock === 'r' && feed === 'deleted') fields.push('r.mirrored_at as deleted_at');
  return [...fields, 'r.extra as extra'];
}

/** The conditions that decide which of the rows that are read show. */
function narrowingConditions(
  { listing, reader }: ListRequest,
  listParameters: ListParameters,
  lead: IndexPath | null,
): string[] {
  const { visibleIf, disabled, feedClock, baseFilter, join } = listing;
  const conditions = visibleIf === undefined ? [] : [visibleIf];
  if (baseFilter !== undefined && listParameters.feed?.of === 'deleted') conditions.push(baseFilter);
  if (feedClock !== undefined && !isOrderedByTime(listing, listParameters))
    conditions.push(whereDeletion(feedClock, listParameters));
  if (join !== undefined && isOrderedByTime(listing, listParameters)) conditions.push('r.env_id is not null');
  if (disabled !== undefined && listParameters.feed === null)
    conditions.push(listParameters.disabled ? disabled.only : disabled.without);
  const others = Object.entries(listParameters.filters).filter(([name]) => name !== lead?.filter);
  return [...conditions, ...filterConditions(listing, Object.fromEntries(others)), ...whereVisible(listing, reader)];
}

/** The conditions of the given filters. Their values are parameters with the names of the filters. */
export function filterConditions(
  { filters }: Pick<CollectionListing, 'filters'>,
  given: ListParameters['filters'],
): string[] {
  return Object.keys(given).map((name) => filters[name]?.matches(selectValues(name)) ?? 'true');
}

/** SQLite ignores the values that a statement does not use. */
export function valuesOf({
  place,
  reader,
  serverTime,
}: Pick<ListRequest, 'place' | 'reader' | 'serverTime'>): SqlStatement['values'] {
  return { ...place, reader: readerNumber(reader), week: weekBefore(serverTime) };
}

export function filterValues(filters: ListParameters['filters']): SqlStatement['values'] {
  return Object.fromEntries(Object.entries(filters).map(([name, values]) => [name, JSON.stringify(values)]));
}

export function pageValues(
  listRequest: ListRequest,
  listParameters: ListParameters,
  position: PagePosition | null,
): SqlStatement['values'] {
  return { ...valuesOf(listRequest), ...parameterValues(listParameters), ...positionValues(position) };
}

function parameterValues({ limit, filters, feed, window }: ListParameters): SqlStatement['values'] {
  return {
    ...filterValues(filters),
    from: window?.from ?? null,
    to: window?.to ?? LAST_INSTANT,
    since: feed?.since ?? null,
    limit: limit + 1,
  };
}

function positionValues(position: PagePosition | null): SqlStatement['values'] {
  return Object.fromEntries((position ?? []).map((value, i) => [`position_${i}`, value]));
}
