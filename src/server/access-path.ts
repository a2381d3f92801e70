import type { PagePosition } from './cursor.ts';
import type { IndexPath } from './index-path.ts';
import type { CollectionListing, ListRequest } from './listings.ts';
import type { ListParameters } from './parameters.ts';

/** The columns with the row's sort values, from which the next page continues: `sort_0`, `sort_1`, … */
export const sortColumn = (index: number) => `sort_${index}`;

/** How a page reads its rows in order. */
interface AccessPath {
  /** Whether an index finds the rows by filter values. If not, the page reads a bounded window of rows. */
  readonly indexed: boolean;
  readonly from: string;
  /** The conditions of each branch; an index answers them. The branches do not overlap. */
  readonly branches: readonly (readonly string[])[];
  readonly sorts: readonly string[];
  readonly descending: boolean;
}

/** The rows after a position. An index path has few rows: they are found by that index alone and then sorted. */
export function accessPathOf(
  { listing }: ListRequest,
  parameters: ListParameters,
  position: PagePosition | null,
  index: IndexPath | null,
): AccessPath {
  const sorts = sortsOf(listing, parameters);
  const { descending } = parameters;
  const indexed = indexedConditions(listing, parameters, position);
  const after = position === null ? ['true'] : conditionsAfter(listing, { sorts, descending }, position);
  if (index === null) {
    const first = sorts[0]?.startsWith('c.') ? 'c' : 'r';
    const branches = after.map((condition) => [`${first}.env_id = @env`, ...indexed, condition]);
    return { indexed: false, from: fromClause(listing, first), branches, sorts, descending };
  }
  const others = [...indexed, `(${after.join(' or ')})`].map(unindexed);
  const branches = index.branches.map((conditions) => ['r.env_id = @env', ...conditions, ...others]);
  return { indexed: true, from: fromClause(listing, 'r'), branches, sorts: sorts.map(unindexed), descending };
}

/** `+` prevents SQLite from using an index for a condition or an order. */
export const unindexed = (sql: string): string => `+(${sql})`;

/** SQL that reads the rows in order, each with the `selected` columns and its sort values. */
export function accessPathSql({ from, branches, sorts, descending }: AccessPath, selected: readonly string[]): string {
  const columns = [...selected, ...sorts.map((sort, i) => `${sort} as ${sortColumn(i)}`)];
  const order = sorts.map((_, i) => `${sortColumn(i)} ${descending ? 'desc' : 'asc'}`);
  const rows = branches.map((conditions) => `select ${columns.join(', ')} ${from} where ${conditions.join('\n and ')}`);
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

export function sortsOf(
  { orders, feedClock }: CollectionListing,
  { feed, order }: Pick<ListParameters, 'feed' | 'order'>,
): readonly string[] {
  return (feed !== null && feedClock !== undefined ? orders['synced_at'] : orders[order]) ?? [];
}

/** Whether the rows are ordered by the time at which the mirror changed them. */
export const isOrderedByTime = ({ feedClock }: CollectionListing, { feed, order }: ListParameters): boolean =>
  feedClock !== undefined && (feed !== null || order !== 'id');

export const whereDeletion = (timed: 'r' | 'c', { feed }: ListParameters): string =>
  `${timed}.deleted_at is ${feed?.of === 'deleted' ? 'not null' : 'null'}`;

/** Conditions that an index answers in the order of the page. */
function indexedConditions(
  listing: CollectionListing,
  parameters: ListParameters,
  position: PagePosition | null,
): string[] {
  const { feedClock, window, baseFilter, disabled } = listing;
  const conditions: string[] = [];
  if (baseFilter !== undefined && parameters.feed?.of !== 'deleted') conditions.push(baseFilter);
  if (window !== undefined) conditions.push(...windowConditions(window, listing, parameters, position));
  if (feedClock !== undefined && isOrderedByTime(listing, parameters)) {
    conditions.push(whereDeletion(feedClock, parameters));
    // A position lies after the bound already, and with both conditions SQLite would search from the bound on every
    // page. In descending order the bound ends the feed.
    if (parameters.feed !== null && (position === null || parameters.descending))
      conditions.push(`${feedClock}.mirrored_at >= @since`);
  } else if (disabled?.leads && parameters.disabled) conditions.push(disabled.only);
  return conditions;
}

/** The bounds of the window, without the one that the position makes redundant. */
function windowConditions(
  window: string,
  listing: CollectionListing,
  parameters: ListParameters,
  position: PagePosition | null,
): string[] {
  const [from, to] = [`${window} >= @from`, `${window} <= @to`];
  if (position === null || sortsOf(listing, parameters)[0] !== window) return [from, to];
  return [parameters.descending ? from : to];
}

/** Conditions for the rows after a position, each answered by an index. SQLite sorts NULL first. */
function conditionsAfter(
  { nullable }: CollectionListing,
  { sorts, descending }: Pick<AccessPath, 'sorts' | 'descending'>,
  position: PagePosition,
): string[] {
  const [first, ...rest] = sorts;
  const tail = rest.map((_, i) => `@position_${i + 1}`);
  const sign = descending ? '<' : '>';
  if (position[0] === null) {
    const among = `${first} is null and (${rest.join(', ')}) ${sign} (${tail.join(', ')})`;
    return descending ? [among] : [among, `${first} is not null`];
  }
  const after = `(${sorts.join(', ')}) ${sign} (${['@position_0', ...tail].join(', ')})`;
  return descending && first === nullable ? [after, `${first} is null`] : [after];
}
