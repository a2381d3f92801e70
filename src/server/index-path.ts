import { type ArrayFilter, valuesIn } from './filters.ts';
import type { ListRequest, SqlStatement } from './list-request.ts';
import type { MirrorSnapshot } from './mirror-reads.ts';
import type { ListParameters } from './parameters.ts';
import { SCAN_WINDOW_ROWS } from './scan-window.ts';
import { isLimited, VISIBLE_IDS } from './visibility.ts';

/** A way that values lead to the rows of a page, as long as there are few of them. */
export interface IndexPath {
  /** The filter whose values they are; null for the assets of a reader. */
  readonly filter: string | null;
  /** The conditions of each part of the way, the one that an index answers first; the parts have no row in common. */
  readonly branches: readonly (readonly string[])[];
  /** What is passed on the way: rows of which there have to be fewer than so many. */
  readonly passed: readonly { readonly rows: string; readonly fewerThan: number }[];
}

/** A reader of so many assets is not led to their rows. */
const MOST_LEADING_ASSETS = 1001;

/**
 * The way of which an index tells that it has fewer rows than a stretch; null for none: then the rows are walked through in the
 * order of their page. A feed goes by time in any case: mostly there is little new, however much the values lead to.
 */
export function indexPathOf(
  mirrorSnapshot: MirrorSnapshot,
  listRequest: ListRequest,
  listParameters: ListParameters,
  values: SqlStatement['values'],
): IndexPath | null {
  if (listParameters.feed !== null) return null;
  const isShort = (indexPath: IndexPath): boolean =>
    countStatements(indexPath, values).every(
      ({ statement, fewerThan }) => Number(mirrorSnapshot.rows(statement)[0]?.['passed']) < fewerThan,
    );
  return indexPathsOf(listRequest, listParameters).find(isShort) ?? null;
}

/** Counted no further than to the bound. */
export function countStatements({ passed }: IndexPath, values: SqlStatement['values']) {
  return passed.map(({ rows, fewerThan }) => ({
    fewerThan,
    statement: { sql: `select count(*) as passed from (${rows} limit ${fewerThan})`, values },
  }));
}

/** The ways there are: one by each filter that leads, and one by the assets of a reader who does not see all. */
export function indexPathsOf(listRequest: ListRequest, { filters }: ListParameters): IndexPath[] {
  const { listing, reader } = listRequest;
  const byFilters = Object.keys(filters).flatMap((name) =>
    indexPathBy(listRequest, listing.filters[name], valuesIn(name), name),
  );
  if (!isLimited(reader)) return byFilters;
  const byReader = indexPathBy(listRequest, listing.filters['asset_ids'] ?? listing.filters['ids'], VISIBLE_IDS, null);
  const seen = { rows: `select 1 from ${VISIBLE_IDS}`, fewerThan: MOST_LEADING_ASSETS };
  return [...byFilters, ...byReader.map((lead) => ({ ...lead, passed: [seen, ...lead.passed] }))];
}

function indexPathBy(
  { listing }: ListRequest,
  by: ArrayFilter | undefined,
  values: string,
  filter: IndexPath['filter'],
): IndexPath[] {
  if (by?.branches === undefined) return [];
  const branches = by.branches(values);
  const table = listing.entry.table;
  const rows = [
    ...(by.through === undefined ? [] : [by.through(values)]),
    ...branches.map(([indexed]) => `select 1 from ${table} r where r.env_id = @env and ${indexed}`),
  ];
  return [{ filter, branches, passed: rows.map((passed) => ({ rows: passed, fewerThan: SCAN_WINDOW_ROWS })) }];
}
