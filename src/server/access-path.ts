import type { IndexPath } from './index-path.ts';
import type { CollectionListing } from './listings.ts';
import type { RequestedPage } from './parameters.ts';

/** The columns with the row's sort values, from which the next page continues: `sort_0`, `sort_1`, … */
export const sortColumn = (index: number) => `sort_${index}`;

/** SQL that reads the rows after the position in the order of the page, each with `selected` and its sort values. */
export function selectInOrder(page: RequestedPage, selected: readonly string[]): string {
  const sorts = sortsOf(page);
  const first = sorts[0]?.startsWith('c.') ? 'c' : 'r';
  const indexed = [`${first}.env_id = @env`, ...indexedConditions(page)];
  const branches = conditionsAfter(page).map((condition) => [...indexed, condition]);
  return orderedRows(page, { first, branches, sorts, selected });
}

/** The same for an index path. It has few rows: they are found by that index alone, narrowed down, and then sorted. */
export function selectByIndex(
  page: RequestedPage,
  index: IndexPath,
  { selected, narrowing }: { readonly selected: readonly string[]; readonly narrowing: readonly string[] },
): string {
  const others = [...indexedConditions(page), `(${conditionsAfter(page).join(' or ')})`, ...narrowing].map(unindexed);
  const branches = index.branches.map((conditions) => ['r.env_id = @env', ...conditions, ...others]);
  return orderedRows(page, { first: 'r', branches, sorts: sortsOf(page).map(unindexed), selected });
}

/** `+` prevents SQLite from using an index for a condition or an order. */
const unindexed = (sql: string): string => `+(${sql})`;

/** How a page reads its rows: the table to read first, and disjoint branches with conditions that an index answers. */
interface AccessPath {
  readonly first: 'r' | 'c';
  readonly branches: readonly (readonly string[])[];
  readonly sorts: readonly string[];
  readonly selected: readonly string[];
}

function orderedRows({ listing, descending }: RequestedPage, { first, branches, sorts, selected }: AccessPath): string {
  const columns = [...selected, ...sorts.map((sort, i) => `${sort} as ${sortColumn(i)}`)].join(', ');
  const order = sorts.map((_, i) => `${sortColumn(i)} ${descending ? 'desc' : 'asc'}`);
  const from = fromClause(listing, first);
  const rows = branches.map((conditions) => `select ${columns} ${from} where ${conditions.join('\n and ')}`);
  return `${rows.join('\n union all ')} order by ${order.join(', ')}`;
}

/**
 * `first` is the table to read first; the join order is fixed. If it is the joined table, rows without a partner are
 * read too: there may be many, and they count towards the window of rows.
 */
export function fromClause({ entry, join }: CollectionListing, first: 'r' | 'c'): string {
  const row = `${entry.table} r`;
  if (join === undefined) return `from ${row}`;
  return first === 'r'
    ? `from ${row} cross join ${join.row} on ${join.on}`
    : `from ${join.row} left join ${row} on ${join.on}`;
}

export function sortsOf({ listing, feed, order }: RequestedPage): readonly string[] {
  const { orders, feedClock } = listing;
  return (feed !== null && feedClock !== undefined ? orders['synced_at'] : orders[order]) ?? [];
}

/** Whether the rows are ordered by the time at which the mirror changed them. */
export const isOrderedByTime = ({ listing, feed, order }: RequestedPage): boolean =>
  listing.feedClock !== undefined && (feed !== null || order !== 'id');

export const whereDeletion = (timed: 'r' | 'c', { feed }: RequestedPage): string =>
  `${timed}.deleted_at is ${feed?.of === 'deleted' ? 'not null' : 'null'}`;

/** Conditions that an index answers in the order of the page. */
function indexedConditions(page: RequestedPage): string[] {
  const { listing, feed, position, descending } = page;
  const { feedClock, baseFilter, disabled } = listing;
  const conditions = baseFilter === undefined || feed?.of === 'deleted' ? [] : [baseFilter];
  conditions.push(...windowConditions(page));
  if (feedClock !== undefined && isOrderedByTime(page)) {
    conditions.push(whereDeletion(feedClock, page));
    // A position lies after the bound already, and with both conditions SQLite would search from the bound on every
    // page. In descending order the bound ends the feed.
    if (feed !== null && (position === null || descending)) conditions.push(`${feedClock}.mirrored_at >= @since`);
  } else if (disabled?.leads && page.disabled) conditions.push(disabled.only);
  return conditions;
}

/** The bounds of the window, without the one that the position makes redundant. */
function windowConditions(page: RequestedPage): string[] {
  const { window } = page.listing;
  if (window === undefined) return [];
  const [from, to] = [`${window} >= @from`, `${window} <= @to`];
  if (page.position === null || sortsOf(page)[0] !== window) return [from, to];
  return [page.descending ? from : to];
}

/** Conditions for the rows after the position, each answered by an index. SQLite sorts NULL first. */
function conditionsAfter(page: RequestedPage): string[] {
  const { listing, descending, position } = page;
  if (position === null) return ['true'];
  const sorts = sortsOf(page);
  const [first, ...rest] = sorts;
  const tail = rest.map((_, i) => `@position_${i + 1}`);
  const sign = descending ? '<' : '>';
  if (position[0] === null) {
    const among = `${first} is null and (${rest.join(', ')}) ${sign} (${tail.join(', ')})`;
    return descending ? [among] : [among, `${first} is not null`];
  }
  const after = `(${sorts.join(', ')}) ${sign} (${['@position_0', ...tail].join(', ')})`;
  return descending && first === listing.nullable ? [after, `${first} is null`] : [after];
}
