import { instantOfMs } from '../core/instant.ts';
import { openCursor, type Position, sealCursor } from './cursor.ts';
import { invalidCursor, notFound } from './errors.ts';
import { type Item, itemOf, type Row } from './item.ts';
import type { Listing } from './listings.ts';
import { type Asked, type Raw, readParameters } from './parameters.ts';
import { type Place, pageStatement, sortColumn, sortsOf } from './statement.ts';
import { addParts, type Store } from './store.ts';

interface Page {
  readonly items: readonly Item[];
  readonly has_more: boolean;
  readonly next_cursor: string | null;
}

export interface Service {
  readonly store: Store;
  readonly pageMax: number;
  readonly nowMs: () => number;
}

/** Answers any list request. @throws Refusal */
export function listPage(service: Service, listing: Listing, place: Place, raw: Raw): Page {
  const { store } = service;
  requireEnvironment(store, place.env);
  const asked = readParameters(listing, raw, { now: instantOfMs(service.nowMs()), pageMax: service.pageMax });
  requireParent(store, listing, place);
  const context = contextOf(listing, place, raw);
  const position = readPosition(listing, asked, context);
  const rows = store.rows(pageStatement(listing, asked, place, position));
  const shown = rows.slice(0, asked.limit);
  const hasMore = rows.length > asked.limit;
  return {
    items: itemsOf(store, listing, place, shown),
    has_more: hasMore,
    next_cursor: hasMore ? sealCursor(context, positionOf(shown.at(-1), sortsOf(listing, asked).length)) : null,
  };
}

function itemsOf(store: Store, listing: Listing, { env }: Place, rows: readonly Row[]): Item[] {
  const { entry, nulls } = listing;
  const items = rows.map((row) => {
    const item = itemOf(entry.fields, row, nulls);
    return row.deleted_at === undefined ? item : { ...item, deleted_at: row.deleted_at };
  });
  addParts(store, listing, env, items);
  return items;
}

/** An environment the source no longer lists is none here either. */
function requireEnvironment(store: Store, env: string): void {
  const sql = 'select 1 from environments where id = @env and missing_since is null';
  if (store.rows({ sql, values: { env } }).length === 0) throw notFound(`Environment ${env}`);
}

function requireParent(store: Store, { parent }: Listing, { env, id }: Place): void {
  if (parent === undefined) return;
  if (store.rows({ sql: parent.exists, values: { env, id } }).length === 0) throw notFound(`The ${parent.word} ${id}`);
}

/** The exact path and query a cursor is bound to; the order of different parameters does not matter. */
function contextOf({ entry }: Listing, { env, id }: Place, raw: Raw): string {
  const given = Object.entries(raw).filter(([name]) => name !== 'cursor');
  return JSON.stringify([entry.path, env, id, given.sort(([a], [b]) => (a < b ? -1 : 1))]);
}

function readPosition(listing: Listing, asked: Asked, context: string): Position | null {
  if (asked.cursor === undefined) return null;
  const position = openCursor(context, asked.cursor);
  if (position.length !== sortsOf(listing, asked).length) throw invalidCursor();
  return position;
}

function positionOf(row: Row | undefined, length: number): Position {
  return Array.from({ length }, (_, i) => row?.[sortColumn(i)] ?? null);
}
