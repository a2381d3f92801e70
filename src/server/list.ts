import { openCursor, type Position, type Seal, sealCursor } from './cursor.ts';
import { invalidCursor, notFound } from './errors.ts';
import { type Item, itemOf, type Row } from './item.ts';
import { leadOf } from './lead.ts';
import { type Asked, type Query, readParameters } from './parameters.ts';
import { addParts } from './parts.ts';
import type { Question } from './question.ts';
import {
  oneStatement,
  pageStatement,
  pageValues,
  reachedStatement,
  smallStatement,
  stretchStatement,
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

/** The page of a feed with nothing new, which takes next to no time; null for any other. @throws Refusal */
export function idlePage(view: View, question: Question, query: Query): Page | null {
  if (query['synced_since'] === undefined && query['deleted_since'] === undefined) return null;
  const asked = readParameters(question.listing, query, view);
  if (asked.feed === null || asked.cursor !== undefined) return null;
  const isIdle = view.rows(reachedStatement(question, asked)).length === 0;
  return isIdle ? { items: [], has_more: false, next_cursor: null } : null;
}

/** A row of which no part takes long to read, or to write out. */
const SMALL_BYTES = 64 * 1024;

/** A single item that takes next to no time: found by its key alone, and small; null for any other. */
export function getSmallOne(view: View, question: Question): Item | null {
  const { listing, reader } = question;
  if (listing.parent !== undefined || isLimited(reader)) return null;
  const isSmall = view.rows(smallStatement(question, SMALL_BYTES)).length > 0;
  return isSmall ? requireOne(view, question) : null;
}

/** Answers any get-one request. @throws Refusal 404 */
export function getOne(view: View, question: Question): Item {
  requireParent(view, question);
  return requireOne(view, question);
}

function requireOne(view: View, question: Question): Item {
  const { listing, place } = question;
  const [item] = itemsOf(view, question, view.rows(oneStatement(question)));
  if (item === undefined) throw notFound(`${listing.item} ${place.one}`);
  return item;
}

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
