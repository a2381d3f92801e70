import { getTableName } from 'drizzle-orm';
import type { Position } from './cursor.ts';
import { valuesIn } from './filters.ts';
import type { Lead } from './lead.ts';
import type { Listing } from './listings.ts';
import type { Asked } from './parameters.ts';
import type { Question, Statement } from './question.ts';
import { STRETCH_ROWS } from './stretch.ts';
import { weekBefore } from './times.ts';
import { numberOf, visible } from './visibility.ts';
import { deletion, from, isByTime, unindexed, walked, walkOf } from './walk.ts';

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

/** Where the stretch of rows that a page looks at ends, where nothing leads to them: no row where it reaches the end of all. */
export function stretchStatement(question: Question, asked: Asked, position: Position | null): Statement {
  return {
    sql: `${walked(walkOf(question, asked, position, null), [])} limit 1 offset ${STRETCH_ROWS - 1}`,
    values: pageValues(question, asked, position),
  };
}

/** One row, whether or not it shows, where any is reached. */
export function reachedStatement(question: Question, asked: Asked): Statement {
  return {
    sql: `${walked(walkOf(question, asked, null, null), [])} limit 1`,
    values: pageValues(question, asked, null),
  };
}

/** One row where there is a single item of that id, no longer than `bytes` in all. */
export function smallStatement({ listing, ...question }: Question, bytes: number): Statement {
  const { entry, one } = listing;
  const fields = [...Object.keys(entry.fields).map((name) => `r."${name}"`), 'r.extra'];
  const length = fields.map((field) => `ifnull(octet_length(${field}), 0)`).join(' + ');
  return {
    sql: `select 1 from ${getTableName(entry.table)} r where r.env_id = @env and ${one?.by} = @one and ${length} <= ${bytes}`,
    values: valuesOf(question),
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

/** What an item is made of. The times of a `timed` row are the mirror's own. */
function fieldsOf({ listing }: Question, feed?: 'synced' | 'deleted'): string[] {
  const { entry, timed, blank } = listing;
  const fields = Object.keys(entry.fields).map((name) => {
    if (timed === 'r' && name === 'synced_at') return 'r.mirrored_at as synced_at';
    return blank?.includes(name) ? `nullif(r."${name}", '') as "${name}"` : `r."${name}" as "${name}"`;
  });
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
