import { parentsOf } from '../core/stream.ts';
import { CATALOGUE, type CollectionName } from '../streams/catalogue.ts';
import type { CollectionEndpoint, ViewScope } from '../streams/endpoint.ts';
import type { CatalogueEntry } from '../streams/entry.ts';
import { type ArrayFilters, arrayFiltersOf } from './filters.ts';
import { type CollectionNames, namesOf } from './names.ts';
import { assetIdsOf, type JoinedRow, joinOf, otherRowCondition, parentRow } from './related-rows.ts';

/**
 * One collection, as data: its list endpoint and its get-one. All of it follows from the catalogue's entry. In the SQL `r` is
 * the row, `c` the joined row, `@env` the environment, `@id` the id of the parent in the path and `@week` the time a week ago.
 */
export interface CollectionListing {
  readonly entry: CatalogueEntry<CollectionName>;
  readonly scope: ViewScope;
  readonly names: CollectionNames;
  /** What there is to say of it beyond its name. */
  readonly describe?: string;
  readonly join?: JoinedRow;
  /** Which rows there are at all: an index leads to them. */
  readonly baseFilter?: string;
  /** Rows, and the rows of their parts, show for a week after the time in this field. */
  readonly weekOf?: string;
  /** Which of them show; it may be few of many. */
  readonly visibleIf?: string;
  /**
   * The row that has the times the feeds go by: its `mirrored_at` is served as `synced_at`, or as `deleted_at` when it is
   * deleted. Rows of a collection without one have no feeds.
   */
  readonly feedClock?: 'r' | 'c';
  /** The ids of the assets a reader has to see to see the row. */
  readonly assets: readonly string[];
  readonly filters: ArrayFilters;
  /** The values of `order_by` and what they sort by, the default first; the key breaks ties. */
  readonly orders: Readonly<Record<string, readonly string[]>>;
  /** A value to sort by that a row may be without. */
  readonly nullable?: string;
  /** The default of `direction`. */
  readonly direction: 'asc' | 'desc';
  /** What `disabled` left out or `false` shows, and `true`; a feed shows both. `leads`: an index by id holds those alone. */
  readonly disabled?: { readonly without: string; readonly only: string; readonly leads?: true };
  /** The time that `start_time_from` and `start_time_to` bound. */
  readonly window?: string;
  /** Whose row has to be there and visible, else 404. */
  readonly parent?: CollectionListing;
  /** A single item, by the last parameter of its path. */
  readonly one?: { readonly parameter: string; readonly by: string };
  /** Whether a row tells by itself whether it shows, and holds all that its item does. */
  readonly alone?: true;
  /** Texts that are none when they are empty. */
  readonly emptyIsNull?: readonly string[];
  /** Fields without a value: shown as null or left out. */
  readonly nulls: 'shown' | 'left out';
}

type ServedEntry = CollectionListing['entry'] & { readonly serve: CollectionEndpoint };

const isServed = (entry: CollectionListing['entry']): entry is ServedEntry => entry.serve !== false;

const ofRow = (field: string): string => `r.${field}`;

/** Rows that the feeds of a stream write, be it of the same collection or of the one that it fills in (R11, R22). */
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

/** Which rows there are, and which of them show. */
function rowsOf(entry: ServedEntry): Pick<CollectionListing, 'baseFilter' | 'visibleIf' | 'weekOf'> {
  const { subtype, serve } = entry;
  const base = [
    ...(subtype === undefined ? [] : [`r.${subtype.field} = '${subtype.is}'`]),
    ...(serve.idInPath === undefined ? [] : [`r.${serve.idInPath} = @id`]),
  ];
  const shown = [
    ...(isFeedRow(entry) ? complete(entry) : []),
    ...(serve.weekOf === undefined ? [] : [`r.${serve.weekOf} >= @week`]),
    ...(serve.shownWhile ?? []).map(otherRowCondition),
  ];
  return {
    ...(base.length === 0 ? {} : { baseFilter: base.join(' and ') }),
    ...(serve.weekOf === undefined ? {} : { weekOf: serve.weekOf }),
    ...(shown.length === 0 ? {} : { visibleIf: shown.join(' and ') }),
  };
}

/**
 * A row that is known by its deletion alone, or by its key until its typed stream is read, lacks what every item has. `+` keeps
 * SQLite from looking for such rows by an index: most have it all.
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

/** In the order of the feeds: by the mirror's own time of the row, or of the joined one. */
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
  const only = `exists ${parentRow(parentsOf(entry)[0], 'p.disabled = 1')}`;
  return { disabled: { without: `not ${only}`, only } };
}

/** What stands before the id in the path is the list of the parents. */
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
