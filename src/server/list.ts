import { type SqlRow, type SqlStatement, selectValues } from '../page-data/sql.ts';
import { sortColumn, sortsOf } from './access-path.ts';
import { type CursorSeal, openCursor, sealCursor } from './cursor.ts';
import { invalidCursor, notFound } from './errors.ts';
import { indexPathOf } from './index-path.ts';
import { type ApiItem, itemReader } from './item.ts';
import type { ListRequest } from './listings.ts';
import type { MirrorSnapshot } from './mirror-reads.ts';
import { type ParsedQuery, type RequestedPage, readParameters } from './parameters.ts';
import {
  longOneStatement,
  oneStatement,
  pageStatement,
  pageValues,
  reachedStatement,
  scanWindowStatement,
  valuesOf,
  writtenPageStatement,
} from './statement.ts';
import { isLimited } from './visibility.ts';

/** Answers any list request. @throws HttpError */
export function listPage(snapshot: MirrorSnapshot, request: ListRequest, query: ParsedQuery) {
  const { page, sealOf } = openPage(snapshot, request, query);
  const index = indexPathOf(snapshot, page, pageValues(page));
  const rows = snapshot.rows(pageStatement(page, index));
  const shown = rows.slice(0, page.limit);
  // The last row that was read, if there may be more after it.
  const windowEnd = (): SqlRow | undefined =>
    index === null ? snapshot.rows(scanWindowStatement(page))[0] : undefined;
  const last = rows.length > page.limit ? shown.at(-1) : windowEnd();
  const position = sortsOf(page).map((_, i) => last?.[sortColumn(i)] ?? null);
  return {
    items: itemsOf(snapshot, request, shown),
    has_more: last !== undefined,
    next_cursor: last === undefined ? null : sealCursor(sealOf(), position),
  };
}

/** A page to read, and a function that makes the seal of its cursors. @throws HttpError */
function openPage(snapshot: MirrorSnapshot, request: ListRequest, query: ParsedQuery) {
  const { cursor, ...parameters } = readParameters(snapshot, request, query);
  requireParent(snapshot, request);
  const sealOf = (): CursorSeal => ({ key: snapshot.cursorKey, context: contextOf(request, query) });
  const position = cursor === undefined ? null : openCursor(sealOf(), cursor);
  const page: RequestedPage = { ...request, ...parameters, position };
  if (position !== null && position.length !== sortsOf(page).length) throw invalidCursor();
  return { page, sealOf };
}

/** A page, as JSON, that takes next to no time whatever the mirror holds; null for any other page. @throws HttpError */
export function lightPage(snapshot: MirrorSnapshot, request: ListRequest, query: ParsedQuery): string | null {
  // A parent may be hidden from a restricted reader, whose assets are not cached here.
  if (request.listing.parent !== undefined) return null;
  const { page, sealOf } = openPage(snapshot, request, query);
  if (page.feed !== null) return isIdle(snapshot, page) ? writtenPage([], null) : null;
  return isReadByKeyAlone(page) ? keyPage(snapshot, page, sealOf) : null;
}

const isIdle = (snapshot: MirrorSnapshot, page: RequestedPage): boolean =>
  page.position === null && snapshot.rows(reachedStatement(page)).length === 0;

/** Whether the rows are read in the order in which they are stored, and no other row is needed for their items. */
const isReadByKeyAlone = ({ listing, reader, order, filters }: RequestedPage): boolean =>
  listing.feedClock === 'r' && order === 'id' && Object.keys(filters).length === 0 && !isLimited(reader);

/** The most rows that are read for a light page, and the most bytes of its items; larger pages take too long. */
const LIGHT_ROWS = 4000;
const LIGHT_BYTES = 1024 * 1024;

function keyPage(snapshot: MirrorSnapshot, page: RequestedPage, sealOf: () => CursorSeal): string | null {
  const { limit } = page;
  const items = writtenItems(snapshot, writtenPageStatement(page, LIGHT_ROWS, Math.floor(LIGHT_BYTES / limit)));
  if (items === null || items.includes(null)) return null;
  if (items.length > limit) {
    const shown = items.slice(0, limit);
    return writtenPage(shown, sealCursor(sealOf(), [idIn(shown.at(-1))]));
  }
  const isEnd = snapshot.rows(scanWindowStatement(page, LIGHT_ROWS)).length === 0;
  return isEnd ? writtenPage(items, null) : null;
}

/** Null when SQLite cannot write an item as JSON, such as a stored BLOB: the other way shows it as text. */
function writtenItems(snapshot: MirrorSnapshot, statement: SqlStatement): readonly (string | null)[] | null {
  try {
    return snapshot.texts(statement);
  } catch (error) {
    if ((error as { code?: unknown }).code === 'SQLITE_ERROR') return null;
    throw error;
  }
}

const idIn = (item: string | null | undefined): string => JSON.parse(item ?? '').id;

const writtenPage = (items: readonly unknown[], cursor: string | null): string =>
  `{"items":[${items.join(',')}],"has_more":${cursor !== null},"next_cursor":${JSON.stringify(cursor)}}`;

/** A row of at most this size takes little time to read and to write. */
const SMALL_BYTES = 64 * 1024;

/** A single item that takes next to no time: it is small, and found by its key alone. Null for any other. */
export function getSmallOne(snapshot: MirrorSnapshot, request: ListRequest): ApiItem | null {
  const { listing, reader } = request;
  if (listing.parent !== undefined || isLimited(reader)) return null;
  const [item] = itemsOf(snapshot, request, snapshot.rows(oneStatement(request, SMALL_BYTES)));
  if (item !== undefined) return item;
  if (snapshot.rows(longOneStatement(request, SMALL_BYTES)).length > 0) return null;
  throw noItem(request);
}

/** Answers a request for a single item. @throws HttpError 404 */
export function getOne(snapshot: MirrorSnapshot, request: ListRequest): ApiItem {
  requireParent(snapshot, request);
  const [item] = itemsOf(snapshot, request, snapshot.rows(oneStatement(request)));
  if (item === undefined) throw noItem(request);
  return item;
}

const noItem = ({ listing, place }: ListRequest) => notFound(`${listing.names.item} ${place.one}`);

function requireParent(snapshot: MirrorSnapshot, { listing, place, ...request }: ListRequest): void {
  if (listing.parent === undefined) return;
  getOne(snapshot, { ...request, listing: listing.parent, place: { ...place, id: null, one: place.id } });
}

function itemsOf(snapshot: MirrorSnapshot, request: ListRequest, rows: readonly SqlRow[]): ApiItem[] {
  const { entry } = request.listing;
  const readItem = itemReader(entry.fields, entry.serve);
  const items = rows.map((row) => {
    const item = readItem(row);
    // Also values of a wrong type: the generic list does not show fields of a kind.
    for (const name of entry.subtypeColumns?.[String(row['kind'])] ?? []) delete item[name];
    return row['deleted_at'] === undefined ? item : { ...item, deleted_at: row['deleted_at'] };
  });
  addChildRows(snapshot, request, items);
  return items;
}

/** The path, filters and order that a cursor is bound to. `limit` and the order of the parameters do not matter. */
function contextOf({ listing, place }: ListRequest, query: ParsedQuery): string {
  const given = Object.entries(query).filter(([name]) => name !== 'cursor' && name !== 'limit');
  return JSON.stringify([listing.entry.path, place.env, place.id, given.sort(([a], [b]) => (a < b ? -1 : 1))]);
}

/** Adds child rows (the dimensions of a score) to the items of a page, except those of old scores. */
function addChildRows(view: MirrorSnapshot, request: ListRequest, items: readonly ApiItem[]): void {
  const { key: keys, serve, childTables = [] } = request.listing.entry;
  const [key] = keys;
  const recent = serve.weekOf === undefined ? '' : `and ${serve.weekOf} >= @week`;
  for (const part of childTables) {
    const names = [key, ...Object.keys(part.fields), 'extra'].map((name) => `"${name}"`).join(', ');
    const rows = view.rows({
      sql: `select ${names} from ${part.table} where env_id = @env ${recent}
        and "${key}" in ${selectValues('keys')} order by ${part.key.join(', ')}`,
      values: { ...valuesOf(request), keys: JSON.stringify(items.map((item) => item[key])) },
    });
    const byKey = Map.groupBy(rows, (row) => row[key]);
    const readPart = itemReader(part.fields, serve);
    for (const item of items) item[part.each] = (byKey.get(item[key] as string) ?? []).map(readPart);
  }
}
