import { getTableName } from 'drizzle-orm';
import type { Position } from './cursor.ts';
import type { Listing } from './listings.ts';
import type { Asked } from './parameters.ts';

/** SQL and the values of its named parameters; equal questions with other values give equal SQL. */
export interface Statement {
  readonly sql: string;
  readonly values: Readonly<Record<string, string | number | null>>;
}

export interface Place {
  readonly env: string;
  /** The id in the path, where it has one. */
  readonly id: string | null;
}

/** What a row is called by which its page goes on: `sort_0`, `sort_1`, … */
export const sortColumn = (index: number) => `sort_${index}`;

/** The statement of one page: one row more than the limit tells whether there is another page. Never an OFFSET. */
export function pageStatement(listing: Listing, asked: Asked, place: Place, position: Position | null): Statement {
  const sorts = searchedBy(asked, sortsOf(listing, asked));
  const descending = asked.descending && asked.feed === null;
  const conditions = [
    'r.env_id = @env',
    ...rowConditions(listing, asked, position),
    ...filterConditions(listing, asked),
  ];
  if (position !== null) conditions.push(afterPosition(sorts, position, descending));
  return {
    sql: `select ${selected(listing, asked, sorts)}
      from ${getTableName(listing.entry.table)} r ${listing.join ?? ''}
      where ${conditions.join('\n and ')}
      order by ${sorts.map((sort) => `${sort} ${descending ? 'desc' : 'asc'}`).join(', ')}
      limit @limit`,
    values: { ...place, ...askedValues(asked), ...positionValues(position) },
  };
}

export function sortsOf(listing: Listing, { feed, order }: Asked): readonly string[] {
  const byId = listing.orders.id ?? [];
  if (feed !== null && listing.times !== undefined) return [listing.times[feed.of], ...byId];
  return listing.orders[order] ?? byId;
}

/** With ids to look for, `+` keeps SQLite from walking a whole table in sort order instead of looking them up. */
function searchedBy({ filters }: Asked, sorts: readonly string[]): readonly string[] {
  return Object.keys(filters).some((name) => name.endsWith('ids')) ? sorts.map((sort) => `+${sort}`) : sorts;
}

function selected(listing: Listing, { feed }: Asked, sorts: readonly string[]): string {
  const { entry } = listing;
  const fields = Object.keys(entry.fields).map((name) => `r."${name}" as "${name}"`);
  if (feed?.of === 'deleted' && listing.showsDeletion) fields.push('r.deleted_at as deleted_at');
  return [...fields, `${extraOf(listing)} as extra`, ...sorts.map((sort, i) => `${sort} as ${sortColumn(i)}`)].join(
    ', ',
  );
}

/** The unknown fields of a kind came from its typed endpoint and are shown there alone. */
function extraOf({ entry }: Listing): string {
  const typed = Object.keys(entry.kinds ?? {}).map((kind) => `'${kind}'`);
  return typed.length === 0 ? 'r.extra' : `case when r.kind in (${typed.join(', ')}) then null else r.extra end`;
}

function rowConditions(listing: Listing, asked: Asked, position: Position | null): string[] {
  const { times, disabled, window, where } = listing;
  const conditions = where === undefined ? [] : [where];
  if (times !== undefined && asked.feed?.of !== 'deleted') conditions.push(`${times.deleted} is null`);
  // A position lies behind the bound already; both at once would have SQLite search from the bound on every page.
  if (times !== undefined && asked.feed !== null && position === null)
    conditions.push(`${times[asked.feed.of]} >= @since`);
  if (disabled !== undefined && asked.feed === null) conditions.push(asked.disabled ? disabled.only : disabled.without);
  if (window !== undefined) conditions.push(`${window} >= @from`, `(@to is null or ${window} <= @to)`);
  return conditions;
}

function filterConditions(listing: Listing, asked: Asked): string[] {
  return Object.keys(asked.filters).map(
    (name) => listing.filters[name]?.(`(select value from json_each(@${name}))`) ?? 'true',
  );
}

/** Rows after a position; SQLite sorts NULL before all else, and compares it with nothing. */
function afterPosition(sorts: readonly string[], position: Position, descending: boolean): string {
  const [first, ...rest] = sorts;
  const tail = rest.map((_, i) => `@position_${i + 1}`);
  const sign = descending ? '<' : '>';
  if (position[0] === null) {
    const among = `${first} is null and (${rest.join(', ')}) ${sign} (${tail.join(', ')})`;
    return descending ? among : `(${first} is not null or ${among})`;
  }
  const after = `(${sorts.join(', ')}) ${sign} (${['@position_0', ...tail].join(', ')})`;
  return descending && first?.endsWith('synced_at') ? `(${after} or ${first} is null)` : after;
}

/** Values of parameters that a statement does without are passed over. */
function askedValues({ limit, filters, feed, window }: Asked): Statement['values'] {
  const lists = Object.entries(filters).map(([name, values]) => [name, JSON.stringify(values)]);
  return {
    ...Object.fromEntries(lists),
    ...window,
    since: feed?.since ?? null,
    limit: limit + 1,
  };
}

function positionValues(position: Position | null): Statement['values'] {
  return Object.fromEntries((position ?? []).map((value, i) => [`position_${i}`, value]));
}
