import { sql } from 'drizzle-orm';
import { integer, text } from './column-types.ts';
import { assetId, testId } from './common-columns.ts';
import { FAILING } from './data-tests.ts';
import type { ViewDialect } from './view-dialect.ts';

/*
 * Views for people and BI tools. Four rules hold for all of them:
 * - They return no deleted rows, and no scores, incidents or lineage of a deleted asset or test. A live column or test
 *   of a deleted asset has no asset name. LEFT JOIN is needed because an id may refer to a row that was never mirrored.
 * - SQLite 3.34 can parse them, because a reader cannot open a file with a view that it cannot parse. For example, they
 *   have no ORDER BY within aggregates.
 * - A filter on `env_id` and on the id of the asset or test uses the keys of the tables.
 * - Every column has a type in SQLite's catalog, where BI tools look for it; computed columns get it from the dialect's
 *   `text` and its siblings.
 */

export const namedAsset = () => ({
  asset_id: assetId(),
  asset_name: text('the name of the asset; NULL if the asset is not live'),
});

export const namedTest = () => ({ test_id: testId(), test_name: text('the name of the test') });

export const assetKind = () => text('`table`, `bi`, `semantic`, `etl` or `other`; every other value counts as `other`');

export const ownerList = (whose = 'its') => text(`${whose} owners, separated by commas`);

export const ownersOfBoth = () => ({
  test_owners: ownerList("the test's"),
  asset_owners: ownerList("the asset's"),
});

export const lineageDepth = () => integer('the smallest number of edges between the two');

/** What `coverageCounts` selects. */
export const coverage = () => ({
  test_count: integer('number of enabled tests'),
  column_count: integer('number of columns'),
  tested_column_count: integer('number of columns that an enabled test or sub-test names'),
});

/** Joins the environment `v` of a row of `from`. */
export const joinEnvironment = (from: string) => sql.raw(`LEFT JOIN environments v ON v.id = ${from}.env_id`);

/** Joins the asset `a` that a row of `from` refers to, deleted or not. */
export const joinAsset = (from: string) =>
  sql.raw(`LEFT JOIN assets a ON a.env_id = ${from}.env_id AND a.id = ${from}.asset_id`);

/** The same for rows that outlive their asset: once the asset is deleted, the row loses its name. */
export const joinLiveAsset = (from: string) => sql`${joinAsset(from)} AND a.deleted_at IS NULL`;

/** The kinds that this version knows; any other kind is `other` (R19). */
export const kind = (dialect: ViewDialect, asset: string) =>
  dialect.text(
    sql.raw(`CASE WHEN ${asset}.kind IN ('table', 'bi', 'semantic', 'etl') THEN ${asset}.kind ELSE 'other' END`),
  );

/** The live assets `a`; a view of one kind adds its condition with AND. */
export const fromLiveAssets = sql`FROM assets a ${joinEnvironment('a')} WHERE a.deleted_at IS NULL`;

export const failing = sql.raw(FAILING);

/**
 * Joins the owners `o` of the test that a row of `from` refers to: the test's own or, without any, its asset's. For few
 * rows, they are looked up row by row.
 */
export const joinOwnersOfTest = (dialect: ViewDialect, from: string, hasFewRows = false) => {
  const { label, joinElements, listOr, perRow } = dialect;
  const { lateral, condition } = hasFewRows ? perRow : { lateral: sql``, condition: () => sql`` };
  const ofRow = condition(sql.raw(`t.env_id = ${from}.env_id AND t.id = ${from}.test_id`));
  return sql`LEFT JOIN${lateral} (SELECT DISTINCT t.env_id, t.id AS test_id, ${label} AS owner
    FROM tests t ${joinAsset('t')} ${joinElements(listOr('t.owners', 'a.owners'))}
    WHERE ${label} IS NOT NULL${ofRow}) o ON o.env_id = ${sql.raw(from)}.env_id AND o.test_id = ${sql.raw(from)}.test_id`;
};

/** All scores `h` ever seen of assets `a` that are not deleted. */
export const fromHealthHistory = sql`FROM asset_health_score_history h ${joinEnvironment('h')} ${joinAsset('h')}
WHERE a.deleted_at IS NULL`;
