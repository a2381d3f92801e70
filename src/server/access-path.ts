import type { PagePosition } from './cursor.ts';
import type { IndexPath } from './index-path.ts';
import type { ListRequest } from './list-request.ts';
import type { CollectionListing } from './listings.ts';
import type { ListParameters } from './parameters.ts';

/** What a row is called by which its page goes on: `sort_0`, `sort_1`, … */
export const sortColumn = (index: number) => `sort_${index}`;

/** A way through the rows, in the order of their page. */
interface AccessPath {
  /** Whether values lead to the rows; else a page looks at a stretch of them at most, as few of many may show. */
  readonly indexed: boolean;
  readonly from: string;
  /** Conditions that an index answers, of each part of the way; the parts have no row in common. */
  readonly branches: readonly (readonly string[])[];
  /** By what the rows are sorted. */
  readonly sorts: readonly string[];
  readonly descending: boolean;
}

/** The rows behind a position. Those that values lead to are looked up by them alone and then sorted: they are few. */
export function accessPathOf(
  { listing }: ListRequest,
  listParameters: ListParameters,
  position: PagePosition | null,
  lead: IndexPath | null,
): AccessPath {
  const sorts = sortsOf(listing, listParameters);
  const { descending } = listParameters;
  const reached = reachConditions(listing, listParameters, position);
  const behind = position === null ? ['true'] : behindPosition(listing, { sorts, descending }, position);
  if (lead === null) {
    const first = sorts[0]?.startsWith('c.') ? 'c' : 'r';
    const branches = behind.map((condition) => [`${first}.env_id = @env`, ...reached, condition]);
    return { indexed: false, from: from(listing, first), branches, sorts, descending };
  }
  const others = [...reached, `(${behind.join(' or ')})`].map(unindexed);
  const branches = lead.branches.map((conditions) => ['r.env_id = @env', ...conditions, ...others]);
  return { indexed: true, from: from(listing, 'r'), branches, sorts: sorts.map(unindexed), descending };
}

/** `+` keeps SQLite from answering a condition, or an order, by an index. */
export const unindexed = (sql: string): string => `+(${sql})`;

/** The rows of a walk in its order; each with what is `selected` and with what it is sorted by. */
export function accessPathSql({ from, branches, sorts, descending }: AccessPath, selected: readonly string[]): string {
  const columns = [...selected, ...sorts.map((sort, i) => `${sort} as ${sortColumn(i)}`)];
  const order = sorts.map((_, i) => `${sortColumn(i)} ${descending ? 'desc' : 'asc'}`);
  const rows = branches.map((leg) => `select ${columns.join(', ')} ${from} where ${leg.join('\n and ')}`);
  return `${rows.join('\n union all ')} order by ${order.join(', ')}`;
}

/**
 * `first` is the row that the walk goes by, which SQLite is not left to choose. Where that is the joined one, a row without any
 * to join is looked at as well: many may have none, and a stretch has its end among them too.
 */
export function from({ entry, join }: CollectionListing, first: 'r' | 'c'): string {
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

/** Whether rows go by when the mirror changed them. */
export const isByTime = ({ feedClock }: CollectionListing, { feed, order }: ListParameters): boolean =>
  feedClock !== undefined && (feed !== null || order !== 'id');

export const deletion = (timed: 'r' | 'c', { feed }: ListParameters): string =>
  `${timed}.deleted_at is ${feed?.of === 'deleted' ? 'not null' : 'null'}`;

/** Conditions that an index answers in the order of the page. */
function reachConditions(
  collectionListing: CollectionListing,
  listParameters: ListParameters,
  position: PagePosition | null,
): string[] {
  const { feedClock, window, baseFilter, disabled } = collectionListing;
  const conditions: string[] = [];
  if (baseFilter !== undefined && listParameters.feed?.of !== 'deleted') conditions.push(baseFilter);
  if (window !== undefined) conditions.push(...windowConditions(window, collectionListing, listParameters, position));
  if (feedClock !== undefined && isByTime(collectionListing, listParameters)) {
    conditions.push(deletion(feedClock, listParameters));
    // A position lies behind the bound already; both at once would have SQLite search from the bound on every page. The other way
    // round the bound is where the feed ends.
    if (listParameters.feed !== null && (position === null || listParameters.descending))
      conditions.push(`${feedClock}.mirrored_at >= @since`);
  } else if (disabled?.leads && listParameters.disabled) conditions.push(disabled.only);
  return conditions;
}

/** The bounds, but the one that a position lies behind already. */
function windowConditions(
  window: string,
  collectionListing: CollectionListing,
  listParameters: ListParameters,
  position: PagePosition | null,
): string[] {
  const [from, to] = [`${window} >= @from`, `${window} <= @to`];
  if (position === null || sortsOf(collectionListing, listParameters)[0] !== window) return [from, to];
  return [listParameters.descending ? from : to];
}

/**
 * Conditions of the rows behind a position, each for an index to answer. SQLite sorts NULL before all else, and compares it with
 * nothing.
 */
function behindPosition(
  { nullable }: CollectionListing,
  { sorts, descending }: Pick<AccessPath, 'sorts' | 'descending'>,
  pagePosition: PagePosition,
): string[] {
  const [first, ...rest] = sorts;
  const tail = rest.map((_, i) => `@position_${i + 1}`);
  const sign = descending ? '<' : '>';
  if (pagePosition[0] === null) {
    const among = `${first} is null and (${rest.join(', ')}) ${sign} (${tail.join(', ')})`;
    return descending ? [among] : [among, `${first} is not null`];
  }
  const behind = `(${sorts.join(', ')}) ${sign} (${['@position_0', ...tail].join(', ')})`;
  return descending && first === nullable ? [behind, `${first} is null`] : [behind];
}
