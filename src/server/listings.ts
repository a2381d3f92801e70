import { capitalize } from '../core/capitalize.ts';
import type { Instant } from '../core/time/instant.ts';
import { CATALOGUE, type CollectionName } from '../streams/catalogue.ts';
import type { CollectionEndpoint } from '../streams/endpoint.ts';
import type { CatalogueEntry } from '../streams/entry.ts';
import type { Principal } from './access.ts';
import { type ArrayFilters, arrayFiltersOf } from './filters.ts';
import { assetIdsOf, joinOf, selectParentRow, whereRelatedRow } from './related-rows.ts';

/**
 * The endpoints of one collection, as data: its list and its single item. Everything is derived from the catalogue
 * entry. In the SQL, `r` is the row, `c` the joined row, `@env` the environment, `@id` the id of the parent in the
 * path, `@week` the time a week ago.
 */
export interface CollectionListing {
  readonly entry: ServedEntry;
  /** The names in the OpenAPI document: its tag, one item, many items, and the item's schema. */
  readonly names: Readonly<Record<'tag' | 'one' | 'many' | 'item', string>>;
  /** The row joined to every row of the list. */
  readonly join: ReturnType<typeof joinOf>;
  /** The condition that selects the collection's rows in the table; an index answers it. */
  readonly baseFilter: string | undefined;
  /** The condition for showing a row. Few of many rows may meet it. */
  readonly visibleIf: string | undefined;
  /**
   * The row with the feed times: its `mirrored_at` is `synced_at` or `deleted_at`. Without one there are no feeds. If
   * it is `r`, no other row is needed to decide whether a row is shown, or to build its item.
   */
  readonly feedClock: 'r' | 'c' | undefined;
  /** SQL of the ids of the assets that a reader must see in order to see the row. */
  readonly assets: readonly string[];
  readonly filters: ArrayFilters;
  /** The values of `order_by` and their sort columns, default first. The key breaks ties. */
  readonly orders: Readonly<Record<string, readonly string[]>>;
  /** A sort column that may be NULL. */
  readonly nullable: string | undefined;
  /** The default of `direction`. */
  readonly direction: 'asc' | 'desc';
  /** The conditions for `disabled` absent or `false`, and for `true`. `leads`: an index by id has only these. */
  readonly disabled: { readonly without: string; readonly only: string; readonly leads?: true } | undefined;
  /** The time that `start_time_from` and `start_time_to` limit. */
  readonly window: string | undefined;
  /** The parent's collection. The parent must exist and be visible, else 404. */
  readonly parent: CollectionListing | undefined;
  /** The endpoint of a single item: the last path parameter, and the column it identifies. */
  readonly one: { readonly parameter: string; readonly by: string } | undefined;
}

export interface ListRequest {
  readonly listing: CollectionListing;
  /** The ids in the path. `id` is the parent's, if the collection has one. */
  readonly place: { readonly env: string; readonly id: string | null; readonly one: string | null };
  readonly reader: Principal;
  /** The source's time. */
  readonly serverTime: Instant;
}

type ServedEntry = CatalogueEntry<CollectionName> & { readonly serve: CollectionEndpoint };

const isServed = (entry: CatalogueEntry<CollectionName>): entry is ServedEntry => entry.serve !== false;

const ofRow = (field: string): string => `r.${field}`;

/** Rows written by feeds: those of the stream itself, or of the stream whose rows it fills in (R11, R22). */
const isFeedRow = ({ method, subtype }: ServedEntry): boolean => method === 'feed' || subtype !== undefined;

function listingOf(entry: ServedEntry): CollectionListing {
  const { serve } = entry;
  const { get, window } = serve;
  const join = joinOf(entry);
  return {
    entry,
    names: namesOf(serve),
    join,
    feedClock: isFeedRow(entry) ? 'r' : join && 'c',
    ...rowsOf(entry),
    assets: assetIdsOf(entry, serve),
    filters: arrayFiltersOf(serve.filters, entry),
    ...sortingOf(entry),
    disabled: disabledOf(entry),
    window: window && ofRow(window),
    parent: parentOf(entry),
    one: get && { parameter: get.parameter, by: ofRow(get.field) },
  };
}

/** These are the service's own names, so a client generated from one document works with the other. */
function namesOf({ noun, tag, item }: CollectionEndpoint): CollectionListing['names'] {
  const many = `${noun}s`;
  return { tag: tag ?? capitalize(many), one: noun, many, item: item ?? pascal(noun) };
}

/** `BI assets` as `BiAssets`. */
export const pascal = (words: string): string =>
  words
    .split(' ')
    .map((word) => capitalize(word.toLowerCase()))
    .join('');

/** The conditions that select the collection's rows and those to show. */
function rowsOf(entry: ServedEntry): Pick<CollectionListing, 'baseFilter' | 'visibleIf'> {
  const { subtype, serve } = entry;
  const base = [
    ...(subtype === undefined ? [] : [`r.${subtype.field} = '${subtype.is}'`]),
    ...(serve.idInPath === undefined ? [] : [`r.${serve.idInPath} = @id`]),
  ];
  const shown = [
    ...(isFeedRow(entry) ? complete(entry) : []),
    ...(serve.weekOf === undefined ? [] : [`r.${serve.weekOf} >= @week`]),
    ...(serve.shownWhile ?? []).map(whereRelatedRow),
  ];
  return { baseFilter: base.join(' and ') || undefined, visibleIf: shown.join(' and ') || undefined };
}

/**
 * A row lacks required fields if only its deletion is known, or until its typed stream is read. `+` prevents SQLite
 * from using an index for this condition, because most rows meet it.
 */
const complete = ({ fields, key }: ServedEntry): string[] =>
  Object.entries(fields)
    .filter(([name, field]) => field.required && !key.includes(name))
    .map(([name]) => `+r.${name} is not null`);

function sortingOf(entry: ServedEntry): Pick<CollectionListing, 'orders' | 'nullable' | 'direction'> {
  const { key, fields, serve } = entry;
  const declared = Object.entries(serve.orders ?? { id: key }).map(([name, by]) => [name, by.map(ofRow)]);
  const nullable = Object.values(serve.orders ?? {}).find(([first = '']) => !fields[first]?.required)?.[0];
  return {
    orders: { ...Object.fromEntries(declared), ...byTime(entry) },
    nullable: nullable && ofRow(nullable),
    direction: serve.window === undefined ? 'asc' : 'desc',
  };
}

/** The order of the feeds: by the mirror's time of the row or of the joined row. */
function byTime(entry: ServedEntry): CollectionListing['orders'] {
  const [, ...others] = entry.key;
  if (joinOf(entry) !== undefined) return { synced_at: ['c.mirrored_at', 'c.id', ...others.map(ofRow)] };
  return isFeedRow(entry) ? { synced_at: ['r.mirrored_at', ...entry.key.map(ofRow)] } : {};
}

function disabledOf(entry: ServedEntry): CollectionListing['disabled'] {
  const { disabled } = entry.serve;
  if (disabled === undefined) return undefined;
  if (disabled === 'row') return { without: 'r.disabled is not 1', only: 'r.disabled = 1', leads: true };
  const only = `exists ${selectParentRow(entry, 'p.disabled = 1')}`;
  return { without: `not ${only}`, only };
}

/** The path before the id is the path of the parent's list. */
function parentOf({ path }: ServedEntry): CollectionListing | undefined {
  if (!path.includes('{id}')) return undefined;
  const list = path.slice(0, path.indexOf('{id}')).join('/');
  const parent = CATALOGUE.filter(isServed).find((entry) => entry.path.join('/') === list);
  return parent && listingOf(parent);
}

/** Every served collection, in the order of the OpenAPI document. */
export const LISTINGS: readonly CollectionListing[] = CATALOGUE.filter(isServed).map(listingOf);

export function listingNamed(name: CollectionName): CollectionListing {
  const listing = LISTINGS.find(({ entry }) => entry.name === name);
  if (listing === undefined) throw new Error(`${name} is not served`);
  return listing;
}
