import type { Position } from './cursor.ts';
import { valuesIn } from './filters.ts';
import type { Lead } from './lead.ts';
import type { Listing } from './listings.ts';
import type { Asked } from './parameters.ts';
import type { Question, Statement } from './question.ts';
import { STRETCH_ROWS } from './stretch.ts';
import { weekBefore } from './times.ts';
import { isLimited, numberOf, visible } from './visibility.ts';
import { deletion, from, isByTime, unindexed, walked, walkOf } from './walk.ts';
import { columnOf, lengthOf, writtenItem } from './written.ts';

/** Later than any time there is. */
const END_OF_TIME = '9999';

/** The statement of one page: one row more than the limit tells whether there is another page. Never an OFFSET. */
export function pageStatement(
  question: Question,
  asked: Asked,
  position: Position | null,
  lead: Lead | null,
): Statement {
  const values = pageValues(question, asked, position);
  const walk = walkOf(question, asked, position, lead);
  const fields = fieldsOf(question, asked.feed?.of);
  const narrowing = narrowingConditions(question, asked, lead);
  if (walk.led) {
    const others = narrowing.map(unindexed);
    const rows = walked({ ...walk, legs: walk.legs.map((leg) => [...leg, ...others]) }, fields);
    return { sql: `${rows} limit @limit`, values };
  }
  const rows = walked(walk, [...fields, `(${narrowing.join('\n and ') || 'true'}) as shown`]);
  return { sql: `select * from (${rows} limit ${STRETCH_ROWS}) where shown limit @limit`, values };
}

/**
 * The same page with its items written out as JSON, where no more than `most.rows` are looked at: null for an item that is longer
 * than `most.bytes`, or has members that no field holds.
 */
export function writtenPageStatement(
  question: Question,
  asked: Asked,
  position: Position | null,
  most: { readonly rows: number; readonly bytes: number },
): Statement {
  const { listing } = question;
  const item = `iif(r.extra is null and ${lengthOf(listing)} <= ${most.bytes}, ${writtenItem(listing)}, null)`;
  const shown = `(${narrowingConditions(question, asked, null).join('\n and ') || 'true'})`;
  const rows = walked(walkOf(question, asked, position, null), [`${item} as item`, `${shown} as shown`]);
  return {
    sql: `select item from (${rows} limit ${most.rows}) where shown limit @limit`,
    values: pageValues(question, asked, position),
  };
}

/** Where the stretch of rows that a page looks at ends, where nothing leads to them: no row where it reaches the end of all. */
export function stretchStatement(
  question: Question,
  asked: Asked,
  position: Position | null,
  rows = STRETCH_ROWS,
): Statement {
  return {
    sql: `${walked(walkOf(question, asked, position, null), [])} limit 1 offset ${rows - 1}`,
    values: pageValues(question, asked, position),
  };
}

/** One row, whether or not it shows, where any is reached. */
export function reachedStatement(question: Question, asked: Asked): Statement {
  const { listing } = question;
  const sql = keptText(
    listing,
    `reached ${asked.feed?.of} ${asked.descending}`,
    () => `${walked(walkOf(question, asked, null, null), [])} limit 1`,
  );
  return { sql, values: pageValues(question, asked, null) };
}

/** One row where there is an item of that id, shown or not, longer than `bytes` in all. */
export function longOneStatement(question: Question, bytes: number): Statement {
  const { listing } = question;
  const { entry, one } = listing;
  const sql = keptText(
    listing,
    `long ${bytes}`,
    () => `select 1 from ${entry.table} r
      where r.env_id = @env and ${one?.by} = @one and ${lengthOf(listing)} > ${bytes}`,
  );
  return { sql, values: valuesOf(question) };
}

/** The statement of a single item, no longer than `mostBytes` in all where that is given. */
export function oneStatement(question: Question, mostBytes?: number): Statement {
  const { listing, reader } = question;
  const sql = keptText(listing, `one ${isLimited(reader)} ${mostBytes}`, () => {
    const conditions = ['r.env_id = @env', `${listing.one?.by} = @one`, ...visible(listing, reader)];
    if (listing.where !== undefined) conditions.push(listing.where);
    if (listing.shows !== undefined) conditions.push(listing.shows);
    if (listing.timed !== undefined) conditions.push(`${listing.timed}.deleted_at is null`);
    if (mostBytes !== undefined) conditions.push(`${lengthOf(listing)} <= ${mostBytes}`);
    return `select ${fieldsOf(question).join(', ')} ${from(listing, 'r')} where ${conditions.join('\n and ')} limit 1`;
  });
  return { sql, values: valuesOf(question) };
}

const texts = new WeakMap<Listing, Map<string, string>>();

/** The SQL of a question that is asked often, made once; `of` names all that it depends on beside the listing. */
function keptText(listing: Listing, of: string, make: () => string): string {
  const kept = texts.get(listing) ?? new Map<string, string>();
  texts.set(listing, kept);
  const text = kept.get(of) ?? make();
  kept.set(of, text);
  return text;
}

/** What an item is made of. */
function fieldsOf({ listing }: Question, feed?: 'synced' | 'deleted'): string[] {
  const { entry, timed, blank } = listing;
  const fields = Object.keys(entry.fields).map((name) =>
    blank?.includes(name) ? `nullif(r."${name}", '') as "${name}"` : `${columnOf(listing, name)} as "${name}"`,
  );
  if (timed === 'r' && feed === 'deleted') fields.push('r.mirrored_at as deleted_at');
  return [...fields, 'r.extra as extra'];
}

/** Which of the rows that are reached show. */
function narrowingConditions({ listing, reader }: Question, asked: Asked, lead: Lead | null): string[] {
  const { shows, disabled, timed, where, join } = listing;
  const conditions = shows === undefined ? [] : [shows];
  if (where !== undefined && asked.feed?.of === 'deleted') conditions.push(where);
  if (timed !== undefined && !isByTime(listing, asked)) conditions.push(deletion(timed, asked));
  if (join !== undefined && isByTime(listing, asked)) conditions.push('r.env_id is not null');
  if (disabled !== undefined && asked.feed === null) conditions.push(asked.disabled ? disabled.only : disabled.without);
  const others = Object.entries(asked.filters).filter(([name]) => name !== lead?.filter);
  return [...conditions, ...filterConditions(listing, Object.fromEntries(others)), ...visible(listing, reader)];
}

/** The conditions of the filters given; their values go by the names of the filters. */
export function filterConditions({ filters }: Pick<Listing, 'filters'>, given: Asked['filters']): string[] {
  return Object.keys(given).map((name) => filters[name]?.matches(valuesIn(name)) ?? 'true');
}

/** Values of parameters that a statement does without are passed over. */
export function valuesOf({
  place,
  reader,
  serverTime,
}: Pick<Question, 'place' | 'reader' | 'serverTime'>): Statement['values'] {
  return { ...place, reader: numberOf(reader), week: weekBefore(serverTime) };
}

export function filterValues(filters: Asked['filters']): Statement['values'] {
  return Object.fromEntries(Object.entries(filters).map(([name, values]) => [name, JSON.stringify(values)]));
}

export function pageValues(question: Question, asked: Asked, position: Position | null): Statement['values'] {
  return { ...valuesOf(question), ...askedValues(asked), ...positionValues(position) };
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
