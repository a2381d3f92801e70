import { parentsOf } from '../core/stream.ts';
import { CATALOGUE, type CollectionName } from '../streams/catalogue.ts';
import type { CollectionEndpoint, ViewScope } from '../streams/endpoint.ts';
import type { CatalogueEntry } from '../streams/entry.ts';
import { type ArrayFilters, arrayFiltersOf } from './filters.ts';
import { type CollectionNames, namesOf } from './names.ts';
import { assetIdsOf, type JoinedRow, joinOf, selectParentRow, whereRelatedRow } from './related-rows.ts';

/**
 * The endpoints of one collection, as data: its list and its single item. Everything follows from the catalogue's
 * entry. In the SQL `r` is the row, `c` the joined row, `@env` the environment, `@id` the id of the parent in the path,
 * `@week` the time a week ago.
 */
export interface CollectionListing {
  readonly entry: CatalogueEntry<CollectionName>;
  readonly scope: ViewScope;
  readonly names: CollectionNames;
  /** A description beyond its name. */
  readonly describe?: string;
  readonly join?: JoinedRow;
  /** The condition of its rows in the table; an index answers it. */
  readonly baseFilter?: string;
  /** Rows and their child rows are shown for a week after the time in this field. */
  readonly weekOf?: string;
  /** The condition of the rows that are shown, which may be few of many. */
  readonly visibleIf?: string;
  /**
   * The row with the times of the feeds: its `mirrored_at` is served as `synced_at`, or as `deleted_at` of a deleted
   * row. A collection without one has no feeds.
   */
  readonly feedClock?: 'r' | 'c';
  /** The ids of the assets that a reader has to see in order to see the row. */
  readonly assets: readonly string[];
  readonly filters: ArrayFilters;
  /** The values of `order_by` and their sort columns, the default first. The key breaks ties. */
  readonly orders: Readonly<Record<string, readonly string[]>>;
  /** A sort column that may be NULL. */
  readonly nullable?: string;
  /** The default of `direction`. */
  readonly direction: 'asc' | 'desc';
  /**
   * The conditions without `disabled` (or `false`) and with `true`; a feed shows both. `leads`: an index by id has only
   * disabled rows.
   */
  readonly disabled?: { readonly without: string; readonly only: string; readonly leads?: true };
  /** The time that `start_time_from` and `start_time_to` bound. */
  readonly window?: string;
  /** The collection of the parent. Its row has to exist and be visible, else 404. */
  readonly parent?: CollectionListing;
  /** The endpoint of a single item: the last parameter of its path, and the column that it names. */
  readonly one?: { readonly parameter: string; readonly by: string };
  /** No other row is needed to decide whether a row is shown, or to make its item. */
  readonly alone?: true;
  /** Text fields whose empty text is served as no value. */
  readonly emptyIsNull?: readonly string[];
  /** Whether fields without a value are shown as null or left out. */
  readonly nulls: 'shown' | 'left out';
}

type ServedEntry = CollectionListing['entry'] & { readonly serve: CollectionEndpoint };

const isServed = (entry: CollectionListing['entry']): entry is ServedEntry => entry.serve !== false;

const ofRow = (field: string): string => `r.${field}`;

/** Rows that feeds write: those of the stream itself, or of the stream whose rows it fills in (R11, R22). */
const isFeedRow = ({ method, subtype }: ServedEntry): boolean => method === 'feed' || subtype !== undefined;

function listingOf(entry: ServedEntry): CollectionListing {
  const { serve } = entry;
  const { scope, describe, get, showsNulls, emptyIsNull, window } = serve;
  const join = joinOf(entry);
  return {
    entry,
    scope,
    names: namesOf(serve),
    ...(describe === undefined ? {} : { describe }),
    ...(join === undefined ? {} : { join, feedClock: 'c' }),
    ...(isFeedRow(entry) ? { feedClock: 'r', alone: true } : {}),
    ...rowsOf(entry),
    assets: assetIdsOf(entry, serve),
    filters: arrayFiltersOf(serve.filters, { parent: parentsOf(entry)[0], join }),
    ...sortingOf(entry),
    ...disabledOf(entry),
    ...(window === undefined ? {} : { window: ofRow(window) }),
    ...parentOf(entry),
    ...(get === undefined ? {} : { one: { parameter: get.parameter, by: ofRow(get.field) } }),
    ...(emptyIsNull === undefined ? {} : { emptyIsNull }),
    nulls: showsNulls ? 'shown' : 'left out',
  };
}

/** The conditions of the collection's rows, and of those that are shown. */
function rowsOf(entry: ServedEntry): Pick<CollectionListing, 'baseFilter' | 'visibleIf' | 'weekOf'> {
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
  return {
    ...(base.length === 0 ? {} : { baseFilter: base.join(' and ') }),
    ...(serve.weekOf === undefined ? {} : { weekOf: serve.weekOf }),
    ...(shown.length === 0 ? {} : { visibleIf: shown.join(' and ') }),
  };
}

/**
 * A row lacks required fields if only its deletion is known, or only its key until its typed stream is read. `+` keeps
 * SQLite from using an index for this condition, because most rows meet it.
 */
const complete = ({ fields, key }: ServedEntry): string[] =>
  Object.entries(fields)
    .filter(([name, field]) => field.required && !key.includes(name))
    .map(([name]) => `+r.${name} is not null`);

function sortingOf(entry: ServedEntry): Pick<CollectionListing, 'orders' | 'nullable' | 'direction'> {
  const { key, fields, serve } = entry;
  const own = Object.entries(serve.orders ?? { id: key }).map(([name, by]) => [name, by.map(ofRow)]);
  const nullable = Object.values(serve.orders ?? {}).find(([first = '']) => !fields[first]?.required)?.[0];
  return {
    orders: { ...Object.fromEntries(own), ...byTime(entry) },
    ...(nullable === undefined ? {} : { nullable: ofRow(nullable) }),
    direction: serve.window === undefined ? 'asc' : 'desc',
  };
}

/** The order of the feeds: by the mirror's own time of the row, or of the joined row. */
function byTime(entry: ServedEntry): CollectionListing['orders'] {
  const [, ...others] = entry.key;
  if (joinOf(entry) !== undefined) return { synced_at: ['c.mirrored_at', 'c.id', ...others.map(ofRow)] };
  return isFeedRow(entry) ? { synced_at: ['r.mirrored_at', ...entry.key.map(ofRow)] } : {};
}

function disabledOf(entry: ServedEntry): Pick<CollectionListing, 'disabled'> {
  const { serve } = entry;
  if (serve.disabled === undefined) return {};
  if (serve.disabled === 'row')
    return { disabled: { without: 'r.disabled is not 1', only: 'r.disabled = 1', leads: true } };
  const only = `exists ${selectParentRow(parentsOf(entry)[0], 'p.disabled = 1')}`;
  return { disabled: { without: `not ${only}`, only } };
}

/** The path before the id is that of the parent's list. */
function parentOf({ path }: ServedEntry): Pick<CollectionListing, 'parent'> {
  if (!path.includes('{id}')) return {};
  const list = path.slice(0, path.indexOf('{id}')).join('/');
  const parent = CATALOGUE.filter(isServed).find((entry) => entry.path.join('/') === list);
  return parent === undefined ? {} : { parent: listingOf(parent) };
}

/** Every collection that is served, in the order of the description. */
export const LISTINGS: readonly CollectionListing[] = CATALOGUE.filter(isServed).map(listingOf);

export function listingNamed(name: CollectionName): CollectionListing {
  const listing = LISTINGS.find(({ entry }) => entry.name === name);
  if (listing === undefined) throw new Error(`${name} is not served`);
  return listing;
}
