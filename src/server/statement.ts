import { getTableName } from 'drizzle-orm';
import { addDays, type Instant } from '../core/instant.ts';
import type { Reader } from './access.ts';
import type { Position } from './cursor.ts';
import type { Filter } from './filters.ts';
import type { Listing } from './listings.ts';
import type { Asked } from './parameters.ts';
import { readable, visible } from './visibility.ts';

/** SQL and the values of its named parameters; equal questions with other values give equal SQL. */
export interface Statement {
  readonly sql: string;
  readonly values: Readonly<Record<string, string | number | null>>;
}

/** The ids in a path. */
interface Place {
  readonly env: string;
  /** The parent's, where there is one. */
  readonly id: string | null;
  /** The single item's. */
  readonly one: string | null;
}

/** Who asks for which collection, and where; `now` is the mirror's. */
export interface Question {
  readonly listing: Listing;
  readonly place: Place;
  readonly reader: Reader;
  readonly now: Instant;
}

const SCORE_DAYS = 7;

/** Later than any time there is. */
const END_OF_TIME = '9999';

/** Scores older than this are not shown. */
export const weekBefore = (now: Instant): Instant => addDays(now, -SCORE_DAYS);

/**
 * Rows looked at for one page where few of many may show: an answer holds what was found among them, and a cursor that goes on
 * behind them.
 */
export const STRETCH_ROWS = 40_000;

/** What a row is called by which its page goes on: `sort_0`, `sort_1`, … */
export const sortColumn = (index: number) => `sort_${index}`;

/** The statement of one page: one row more than the limit tells whether there is another page. Never an OFFSET. */
export function pageStatement(question: Question, asked: Asked, position: Position | null): Statement {
  const values = { ...valuesOf(question), ...askedValues(asked), ...positionValues(position) };
  const walk = walkOf(question, asked, position);
  const fields = fieldsOf(question, asked.feed?.of);
  const narrowing = narrowingConditions(question, asked);
  if (!isSparse(question, asked)) {
    const rows = walked({ ...walk, legs: walk.legs.map((leg) => [...leg, ...narrowing]) }, fields);
    return { sql: `${rows} limit @limit`, values };
  }
  const rows = walked(walk, [...fields, `(${narrowing.join('\n and ') || 'true'}) as shown`]);
  return { sql: `select * from (${rows} limit ${STRETCH_ROWS}) where shown limit @limit`, values };
}

/** Where the stretch of rows that a page looks at ends; no row where it reaches the end of all. */
export function stretchStatement(question: Question, asked: Asked, position: Position | null): Statement {
  return {
    sql: `${walked(walkOf(question, asked, position), [])} limit 1 offset ${STRETCH_ROWS - 1}`,
    values: { ...valuesOf(question), ...askedValues(asked), ...positionValues(position) },
  };
}

/** The statement of a single item. */
export function oneStatement(question: Question): Statement {
  const { listing } = question;
  const conditions = ['r.env_id = @env', `${listing.one?.by} = @one`, ...visible(listing, question.reader)];
  if (listing.where !== undefined) conditions.push(listing.where);
  if (listing.shows !== undefined) conditions.push(listing.shows);
  if (listing.timed !== undefined) conditions.push(`${listing.timed}.deleted_at is null`);
  return {
    sql: `select ${fieldsOf(question).join(', ')} ${from(listing, 'r')} where ${conditions.join('\n and ')} limit 1`,
    values: valuesOf(question),
  };
}

/** Whether a page looks at a stretch of rows at most, as few of them may show: no values lead to those that do. */
export function isSparse(question: Question, asked: Asked): boolean {
  return leadingConditions(question, asked).length === 0;
}

export function sortsOf({ orders, timed }: Listing, { feed, order }: Pick<Asked, 'feed' | 'order'>): readonly string[] {
  return (feed !== null && timed !== undefined ? orders['synced_at'] : orders[order]) ?? [];
}

/** A way through the rows, in the order of their page. */
interface Walk {
  readonly from: string;
  /** Conditions that an index answers, of each part of the way; the parts have no row in common. */
  readonly legs: readonly (readonly string[])[];
  /** By what the rows are sorted. */
  readonly sorts: readonly string[];
  readonly descending: boolean;
}

/** The rows behind a position. Those that values lead to are looked up by them alone and then sorted: they are few. */
function walkOf(question: Question, asked: Asked, position: Position | null): Walk {
  const { listing } = question;
  const leading = leadingConditions(question, asked);
  const sorts = sortsOf(listing, asked);
  const descending = asked.descending && asked.feed === null;
  const reached = reachConditions(listing, asked, position);
  const behind = position === null ? ['true'] : behindPosition(sorts, position, descending);
  if (leading.length === 0) {
    const first = sorts[0]?.startsWith('c.') ? 'c' : 'r';
    const legs = behind.map((condition) => [`${first}.env_id = @env`, ...reached, condition]);
    return { from: from(listing, first), legs, sorts, descending };
  }
  const others = [...reached, `(${behind.join(' or ')})`].map(unindexed);
  const legs = leading.map((conditions) => ['r.env_id = @env', ...conditions, ...others]);
  return { from: from(listing, 'r'), legs, sorts: sorts.map(unindexed), descending };
}

/** `+` keeps SQLite from answering a condition, or an order, by an index. */
const unindexed = (sql: string): string => `+(${sql})`;

/** The rows of a walk in its order; each with what is `selected` and with what it is sorted by. */
function walked({ from, legs, sorts, descending }: Walk, selected: readonly string[]): string {
  const columns = [...selected, ...sorts.map((sort, i) => `${sort} as ${sortColumn(i)}`)];
  const order = sorts.map((_, i) => `${sortColumn(i)} ${descending ? 'desc' : 'asc'}`);
  const rows = legs.map((leg) => `select ${columns.join(', ')} ${from} where ${leg.join('\n and ')}`);
  return `${rows.join('\n union all ')} order by ${order.join(', ')}`;
}

/**
 * `first` is the row that the walk goes by, which SQLite is not left to choose. Where that is the joined one, a row without any
 * to join is looked at as well: many may have none, and a stretch has its end among them too.
 */
function from({ entry, join }: Listing, first: 'r' | 'c'): string {
  const row = `${getTableName(entry.table)} r`;
  if (join === undefined) return `from ${row}`;
  return first === 'r'
    ? `from ${row} cross join ${join.row} on ${join.on}`
    : `from ${join.row} left join ${row} on ${join.on}`;
}

/** What an item is made of. The times of a `timed` row are the mirror's own. */
function fieldsOf({ listing }: Question, feed?: 'synced' | 'deleted'): string[] {
  const { entry, timed, blank } = listing;
  const fields = Object.keys(entry.fields).map((name) => {
    if (timed === 'r' && name === 'synced_at') return 'r.mirrored_at as synced_at';
    return blank?.includes(name) ? `nullif(r."${name}", '') as "${name}"` : `r."${name}" as "${name}"`;
  });
  if (timed === 'r' && feed === 'deleted') fields.push('r.mirrored_at as deleted_at');
  return [...fields, `${extraOf(listing)} as extra`];
}

/** The unknown fields of a kind came from its typed endpoint and are shown there alone. */
function extraOf({ entry }: Listing): string {
  const typed = Object.keys(entry.kinds ?? {}).map((kind) => `'${kind}'`);
  return typed.length === 0 ? 'r.extra' : `case when r.kind in (${typed.join(', ')}) then null else r.extra end`;
}

/** A reader of more assets than this is not led to their rows. */
const MOST_LEADING_ASSETS = 1000;

/** Conditions whose values lead to rows by an index, of each part of a walk: filters, and the assets of a reader who sees few. */
function leadingConditions({ listing, reader }: Question, { filters }: Asked): readonly (readonly string[])[] {
  const leading = Object.keys(filters).flatMap((name) => leadingOf(listing.filters[name], name));
  const few = reader.assetIds !== null && reader.assetIds.length <= MOST_LEADING_ASSETS;
  if (few) leading.push(...leadingOf(listing.filters['asset_ids'] ?? listing.filters['ids'], 'readable_ids'));
  if (leading.length === 0) return [];
  return leading.reduce<string[][]>((legs, parts) => legs.flatMap((leg) => parts.map((part) => [...leg, part])), [[]]);
}

function leadingOf(filter: Filter | undefined, parameter: string): (readonly string[])[] {
  if (!filter?.leads) return [];
  const values = valuesIn(parameter);
  return [filter.parts?.(values) ?? [filter.matches(values)]];
}

const valuesIn = (parameter: string): string => `(select value from json_each(@${parameter}))`;

/** Whether rows go by when the mirror changed them. */
const isByTime = ({ timed }: Listing, { feed, order }: Asked): boolean =>
  timed !== undefined && (feed !== null || order !== 'id');

const deletion = (timed: 'r' | 'c', { feed }: Asked): string =>
  `${timed}.deleted_at is ${feed?.of === 'deleted' ? 'not null' : 'null'}`;

/** Conditions that an index answers in the order of the page. */
function reachConditions(listing: Listing, asked: Asked, position: Position | null): string[] {
  const { timed, window, where, disabled } = listing;
  const conditions: string[] = [];
  if (where !== undefined && asked.feed?.of !== 'deleted') conditions.push(where);
  if (window !== undefined) conditions.push(...windowConditions(window, listing, asked, position));
  if (timed !== undefined && isByTime(listing, asked)) {
    conditions.push(deletion(timed, asked));
    // A position lies behind the bound already; both at once would have SQLite search from the bound on every page.
    if (asked.feed !== null && position === null) conditions.push(`${timed}.mirrored_at >= @since`);
  } else if (disabled?.leads && asked.disabled) conditions.push(disabled.only);
  return conditions;
}

/** The bounds, but the one that a position lies behind already. */
function windowConditions(window: string, listing: Listing, asked: Asked, position: Position | null): string[] {
  const bounds = [`${window} >= @from`, `${window} <= @to`];
  if (position === null || sortsOf(listing, asked)[0] !== window) return bounds;
  return bounds.slice(asked.descending ? 0 : 1, asked.descending ? 1 : 2);
}

/** Which of the rows that are reached show. */
function narrowingConditions({ listing, reader }: Question, asked: Asked): string[] {
  const { shows, disabled, timed, where, join } = listing;
  const conditions = shows === undefined ? [] : [shows];
  if (where !== undefined && asked.feed?.of === 'deleted') conditions.push(where);
  if (timed !== undefined && !isByTime(listing, asked)) conditions.push(deletion(timed, asked));
  if (join !== undefined && isByTime(listing, asked)) conditions.push('r.env_id is not null');
  if (disabled !== undefined && asked.feed === null) conditions.push(asked.disabled ? disabled.only : disabled.without);
  const others = Object.entries(asked.filters).filter(([name]) => !listing.filters[name]?.leads);
  return [...conditions, ...filterConditions(listing, Object.fromEntries(others)), ...visible(listing, reader)];
}

/** The conditions of the filters given; their values go by the names of the filters. */
export function filterConditions({ filters }: Pick<Listing, 'filters'>, given: Asked['filters']): string[] {
  return Object.keys(given).map((name) => filters[name]?.matches(valuesIn(name)) ?? 'true');
}

/**
 * Conditions of the rows behind a position, each for an index to answer. SQLite sorts NULL before all else, and compares it with
 * nothing.
 */
function behindPosition(sorts: readonly string[], position: Position, descending: boolean): string[] {
  const [first, ...rest] = sorts;
  const tail = rest.map((_, i) => `@position_${i + 1}`);
  const sign = descending ? '<' : '>';
  if (position[0] === null) {
    const among = `${first} is null and (${rest.join(', ')}) ${sign} (${tail.join(', ')})`;
    return descending ? [among] : [among, `${first} is not null`];
  }
  const behind = `(${sorts.join(', ')}) ${sign} (${['@position_0', ...tail].join(', ')})`;
  return descending && first?.endsWith('.synced_at') ? [behind, `${first} is null`] : [behind];
}

/** Values of parameters that a statement does without are passed over. */
export function valuesOf({ place, reader, now }: Pick<Question, 'place' | 'reader' | 'now'>): Statement['values'] {
  return { ...place, ...readable(reader), week: weekBefore(now) };
}

export function filterValues(filters: Asked['filters']): Statement['values'] {
  return Object.fromEntries(Object.entries(filters).map(([name, values]) => [name, JSON.stringify(values)]));
}

function askedValues({ limit, filters, feed, window }: Asked): Statement['values'] {
  return {
    ...filterValues(filters),
    from: window?.from ?? null,
    to: window?.to ?? END_OF_TIME,
    since: feed?.since ?? null,
    limit: limit + 1,
  };
}

function positionValues(position: Position | null): Statement['values'] {
  return Object.fromEntries((position ?? []).map((value, i) => [`position_${i}`, value]));
}
