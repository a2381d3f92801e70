import { type SqlStatement, selectValues } from '../page-data/sql.ts';
import type { ArrayFilter } from './filters.ts';
import type { CollectionListing } from './listings.ts';
import type { MirrorSnapshot } from './mirror-reads.ts';
import type { RequestedPage } from './parameters.ts';
import { isLimited, VISIBLE_IDS } from './visibility.ts';

/** A way to find the rows of a page through an index on filter values. It is used only if there are few such rows. */
export interface IndexPath {
  /** The filter that has the values; null for the assets of a restricted reader. */
  readonly filter: string | null;
  /** The conditions of each branch; an index answers the first one. The branches do not overlap. */
  readonly branches: readonly (readonly string[])[];
  /** SQL that counts the rows read at each step. The path is used only if each step reads fewer than `fewerThan`. */
  readonly steps: readonly { readonly count: string; readonly fewerThan: number }[];
}

/** The rows to read at most for one page if few of many are shown: then it ends, with a cursor that continues. */
export const SCAN_WINDOW_ROWS = 40_000;

/** For a reader who sees this many assets, the index on asset ids is not used. */
const MAX_LEADING_ASSETS = 1001;

/**
 * The index path with fewer rows than a scan window, or null: then rows are read in the order of the page. A feed is
 * always read by time, because it usually has few new rows, however many rows match the filters.
 */
export function indexPathOf(view: MirrorSnapshot, page: RequestedPage, values: SqlStatement['values']) {
  if (page.feed !== null) return null;
  const isShort = ({ steps }: IndexPath): boolean =>
    steps.every(({ count, fewerThan }) => Number(view.rows({ sql: count, values })[0]?.['passed']) < fewerThan);
  return indexPathsOf(page).find(isShort) ?? null;
}

/** Counts up to the bound only. */
const countFewer = (rows: string, fewerThan: number): IndexPath['steps'][number] => ({
  count: `select count(*) as passed from (${rows} limit ${fewerThan})`,
  fewerThan,
});

/** All index paths: one for each indexed filter, and one for the assets of a restricted reader. */
export function indexPathsOf({ listing, reader, filters }: RequestedPage): IndexPath[] {
  const byFilters = Object.keys(filters).flatMap((name) =>
    indexPathBy(listing, listing.filters[name], selectValues(name), name),
  );
  if (!isLimited(reader)) return byFilters;
  const byReader = indexPathBy(listing, listing.filters['asset_ids'] ?? listing.filters['ids'], VISIBLE_IDS, null);
  const seen = countFewer(`select 1 from ${VISIBLE_IDS}`, MAX_LEADING_ASSETS);
  return [...byFilters, ...byReader.map((path) => ({ ...path, steps: [seen, ...path.steps] }))];
}

function indexPathBy({ entry }: CollectionListing, by: ArrayFilter | undefined, values: string, filter: string | null) {
  if (by?.branches === undefined) return [];
  const branches = by.branches(values);
  const rows = [
    ...(by.through === undefined ? [] : [by.through(values)]),
    ...branches.map(([indexed]) => `select 1 from ${entry.table} r where r.env_id = @env and ${indexed}`),
  ];
  return [{ filter, branches, steps: rows.map((sql) => countFewer(sql, SCAN_WINDOW_ROWS)) }];
}
