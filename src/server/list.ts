import { openCursor, type Position, type Seal, sealCursor } from './cursor.ts';
import { invalidCursor, notFound } from './errors.ts';
import { type Item, itemOf, type Row } from './item.ts';
import { leadOf } from './lead.ts';
import { type Asked, type Query, readParameters } from './parameters.ts';
import { addParts } from './parts.ts';
import type { Question } from './question.ts';
import {
  longOneStatement,
  oneStatement,
  pageStatement,
  pageValues,
  reachedStatement,
  stretchStatement,
  writtenPageStatement,
} from './statement.ts';
import type { View } from './store.ts';
import { isLimited } from './visibility.ts';
import { sortColumn, sortsOf } from './walk.ts';

interface Page {
  readonly items: readonly Item[];
  readonly has_more: boolean;
  readonly next_cursor: string | null;
}

/** Answers any list request. @throws Refusal */
export function listPage(view: View, question: Question, query: Query): Page {
  const asked = readParameters(question.listing, query, view);
  requireParent(view, question);
  const seal = { key: view.cursorKey, context: contextOf(question, query) };
  const position = readPosition(question, asked, seal);
  const lead = leadOf(view, question, asked, pageValues(question, asked, position));
  const rows = view.rows(pageStatement(question, asked, position, lead));
  const shown = rows.slice(0, asked.limit);
  // The last row looked at, where there may be more behind it.
  const stretchEnd = (): Row | undefined =>
    lead === null ? view.rows(stretchStatement(question, asked, position))[0] : undefined;
  const last = rows.length > asked.limit ? shown.at(-1) : stretchEnd();
  return {
    items: itemsOf(view, question, shown),
    has_more: last !== undefined,
    next_cursor: last === undefined ? null : sealCursor(seal, positionOf(last)),
  };
}

/** A page that takes next to no time whatever the mirror holds, written out; null for any other. @throws Refusal */
export function lightPage(view: View, question: Question, query: Query): string | null {
  const asked = readParameters(question.listing, query, view);
  if (asked.feed !== null) return isIdle(view, question, asked) ? writtenPage([], null) : null;
  return goesByKeyAlone(question, asked) ? keyPage(view, question, asked, query) : null;
}

/** Whether a feed has nothing new. */
const isIdle = (view: View, question: Question, asked: Asked): boolean =>
  asked.cursor === undefined && view.rows(reachedStatement(question, asked)).length === 0;

/** Rows in the order in which they are stored, and each tells all there is to tell of it. */
const goesByKeyAlone = ({ listing, reader }: Question, { order, filters }: Asked): boolean =>
  listing.alone === true && order === 'id' && Object.keys(filters).length === 0 && !isLimited(reader);

/** Looked at for one light page, and the bytes of its items; others may take longer than anybody should wait. */
const LIGHT_ROWS = 4000;
const LIGHT_BYTES = 1024 * 1024;

function keyPage(view: View, question: Question, asked: Asked, query: Query): string | null {
  const { limit } = asked;
  const seal = { key: view.cursorKey, context: contextOf(question, query) };
  const position = readPosition(question, asked, seal);
  const most = { rows: LIGHT_ROWS, bytes: Math.floor(LIGHT_BYTES / limit) };
  const items = view.texts(writtenPageStatement(question, asked, position, most));
  if (items.includes(null)) return null;
  if (items.length > limit) {
    const shown = items.slice(0, limit);
    return writtenPage(shown, sealCursor(seal, [idIn(shown.at(-1))]));
  }
  const isEnd = view.rows(stretchStatement(question, asked, position, LIGHT_ROWS)).length === 0;
  return isEnd ? writtenPage(items, null) : null;
}

/** What a page in the order of `id` goes on by. */
const idIn = (item: string | null | undefined): string => JSON.parse(item ?? '').id;

const writtenPage = (items: readonly unknown[], cursor: string | null): string =>
  `{"items":[${items.join(',')}],"has_more":${cursor !== null},"next_cursor":${JSON.stringify(cursor)}}`;

/** A row of which no part takes long to read, or to write out. */
const SMALL_BYTES = 64 * 1024;

/** A single item that takes next to no time: found by its key alone, and small; null for any other. */
export function getSmallOne(view: View, question: Question): Item | null {
  const { listing, reader } = question;
  if (listing.parent !== undefined || isLimited(reader)) return null;
  const [item] = itemsOf(view, question, view.rows(oneStatement(question, SMALL_BYTES)));
  if (item !== undefined) return item;
  if (view.rows(longOneStatement(question, SMALL_BYTES)).length > 0) return null;
  throw noItem(question);
}

/** Answers any get-one request. @throws Refusal 404 */
export function getOne(view: View, question: Question): Item {
  requireParent(view, question);
  return requireOne(view, question);
}

function requireOne(view: View, question: Question): Item {
  const [item] = itemsOf(view, question, view.rows(oneStatement(question)));
  if (item === undefined) throw noItem(question);
  return item;
}

const noItem = ({ listing, place }: Question) => notFound(`${listing.item} ${place.one}`);

function requireParent(view: View, { listing, place, ...asking }: Question): void {
  if (listing.parent === undefined) return;
  requireOne(view, { ...asking, listing: listing.parent, place: { ...place, id: null, one: place.id } });
}

function itemsOf(view: View, { listing, place, serverTime }: Question, rows: readonly Row[]): Item[] {
  const { entry, nulls } = listing;
  const items = rows.map((row) => {
    const item = itemOf(entry.fields, row, nulls);
    // Values of a wrong type among them: the generic list has no place for what its kind alone has.
    for (const name of entry.kinds?.[String(row['kind'])] ?? []) delete item[name];
    return row['deleted_at'] === undefined ? item : { ...item, deleted_at: row['deleted_at'] };
  });
  addParts(view, listing, { env: place.env, serverTime }, items);
  return items;
}

/** The path, filters and order a cursor is bound to; `limit`, and the order of different parameters, do not matter. */
function contextOf({ listing, place }: Question, query: Query): string {
  const given = Object.entries(query).filter(([name]) => name !== 'cursor' && name !== 'limit');
  return JSON.stringify([listing.entry.path, place.env, place.id, given.sort(([a], [b]) => (a < b ? -1 : 1))]);
}

function readPosition({ listing }: Question, asked: Asked, seal: Seal): Position | null {
  if (asked.cursor === undefined) return null;
  const position = openCursor(seal, asked.cursor);
  if (position.length !== sortsOf(listing, asked).length) throw invalidCursor();
  return position;
}

function positionOf(row: Row): Position {
  const position: (string | number | null)[] = [];
  for (let i = 0; sortColumn(i) in row; i += 1) position.push(row[sortColumn(i)] ?? null);
  return position;
}
