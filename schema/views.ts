import { sql } from 'drizzle-orm';
import { sqliteView } from 'drizzle-orm/sqlite-core';
import { joinReached, reachedDepth, reachedId } from './view-lineage.ts';
import {
  day,
  elements,
  environment,
  fromLiveAssets,
  integers,
  joinAsset,
  joinEnvironment,
  joinLiveAsset,
  kind,
  label,
  listed,
  reals,
  texts,
  typedInteger,
  typedReal,
  typedText,
} from './view-parts.ts';

const assetStart = sql`a.env_id, v.name AS env_name, a.id, a.name`;
const assetEnd = sql`a.description, ${listed('a.owners')} AS owners, ${listed('a.tags')} AS tags, a.parent_id, a.path,
  a.created_at, a.updated_at, a.synced_at, a.mirrored_at`;
const assetEndColumns = () =>
  texts('description', 'owners', 'tags', 'parent_id', 'path', 'created_at', 'updated_at', 'synced_at', 'mirrored_at');

/** One row per asset of any kind. */
export const liveAssets = sqliteView('live_assets', {
  ...environment(),
  ...texts('id', 'name', 'kind', 'source_type', 'data_platform', 'db_name', 'schema_name', 'table_name'),
  ...texts('materialization', 'bi_platform', 'bi_type', 'url'),
  ...assetEndColumns(),
}).as(sql`SELECT ${assetStart}, ${kind('a')} AS kind, a.source_type,
  a.data_platform, a.db_name, a.schema_name, a.table_name, a.materialization, a.bi_platform, a.bi_type, a.url,
  ${assetEnd}
${fromLiveAssets}`);

/** One row per asset of kind `table`. */
export const liveTables = sqliteView('live_tables', {
  ...environment(),
  ...texts('id', 'name', 'source_type', 'data_platform', 'db_name', 'schema_name', 'table_name', 'materialization'),
  ...assetEndColumns(),
}).as(sql`SELECT ${assetStart}, a.source_type,
  a.data_platform, a.db_name, a.schema_name, a.table_name, a.materialization,
  ${assetEnd}
${fromLiveAssets} AND a.kind = 'table'`);

/** One row per asset of kind `bi`. */
export const liveBiAssets = sqliteView('live_bi_assets', {
  ...environment(),
  ...texts('id', 'name', 'source_type', 'bi_platform', 'bi_type', 'url'),
  ...assetEndColumns(),
}).as(sql`SELECT ${assetStart}, a.source_type, a.bi_platform, a.bi_type, a.url,
  ${assetEnd}
${fromLiveAssets} AND a.kind = 'bi'`);

/** One row per column. */
export const liveColumns = sqliteView('live_columns', {
  ...environment(),
  ...texts('id', 'asset_id', 'asset_name', 'name', 'data_type', 'synced_at', 'mirrored_at'),
}).as(sql`SELECT c.env_id, v.name AS env_name, c.id, c.asset_id, a.name AS asset_name, c.name, c.data_type,
  c.synced_at, c.mirrored_at
FROM columns c ${joinEnvironment('c')} ${joinLiveAsset('c')}
WHERE c.deleted_at IS NULL`);

const assetElements = (list: string, name: string) =>
  sql`SELECT DISTINCT a.env_id, v.name AS env_name, a.id AS asset_id, a.name AS asset_name, ${kind('a')} AS kind,
  ${label} AS ${sql.raw(name)}
FROM assets a JOIN ${elements(list)} ${joinEnvironment('a')}
WHERE a.deleted_at IS NULL AND ${label} IS NOT NULL`;

/** One row per asset and tag; a tag that an asset has twice counts once. */
export const assetTags = sqliteView('asset_tags', {
  ...environment(),
  ...texts('asset_id', 'asset_name', 'kind', 'tag'),
}).as(assetElements('a.tags', 'tag'));

/** One row per asset and owner; an owner that an asset has twice counts once. */
export const assetOwners = sqliteView('asset_owners', {
  ...environment(),
  ...texts('asset_id', 'asset_name', 'kind', 'owner'),
}).as(assetElements('a.owners', 'owner'));

/** The score of the asset `h` in one dimension. */
const dimension = (name: string) =>
  sql.raw(`(SELECT d.score FROM asset_health_score_dimensions d
    WHERE d.env_id = h.env_id AND d.asset_id = h.asset_id AND d.dimension = '${name}') AS ${name}`);

/** One row per asset with a score: the total and the dimensions, from 0 to 1; NULL for a dimension without a score. */
export const assetHealth = sqliteView('asset_health', {
  ...environment(),
  ...texts('asset_id', 'asset_name'),
  ...reals('total', 'completeness', 'uniqueness', 'freshness', 'validity', 'accuracy', 'consistency'),
  ...integers('test_count'),
  ...texts('bucket_at'),
}).as(sql`SELECT h.env_id, v.name AS env_name, h.asset_id, a.name AS asset_name, h.score AS total,
  ${dimension('completeness')}, ${dimension('uniqueness')}, ${dimension('freshness')},
  ${dimension('validity')}, ${dimension('accuracy')}, ${dimension('consistency')},
  h.test_count, h.bucket_at
FROM asset_health_scores h ${joinEnvironment('h')} ${joinAsset('h')}
WHERE a.deleted_at IS NULL`);

/**
 * One row per asset, dimension (or `total`) and UTC day: the score of the day's last hourly bucket, and the mean of the day's
 * buckets that the mirror has seen. With a single max(), SQLite takes the plain columns from the row of the maximum.
 */
export const healthDaily = sqliteView('health_daily', {
  ...environment(),
  ...texts('asset_id', 'asset_name', 'dimension', 'day'),
  ...reals('score', 'mean_score'),
  ...integers('test_count', 'bucket_count'),
  ...texts('last_bucket_at'),
}).as(sql`SELECT h.env_id, v.name AS env_name, h.asset_id, a.name AS asset_name, h.dimension,
  ${day('h.bucket_at')} AS day, h.score, ${typedReal(sql`avg(h.score)`)} AS mean_score, h.test_count,
  ${typedInteger(sql`count(*)`)} AS bucket_count, ${typedText(sql`max(h.bucket_at)`)} AS last_bucket_at
FROM asset_health_score_history h ${joinEnvironment('h')} ${joinAsset('h')}
WHERE a.deleted_at IS NULL
GROUP BY h.env_id, h.asset_id, h.dimension, day`);

/** One row per asset at the `from` end of an edge and every asset that it reaches by edges to their `to` end. */
const lineage = (from: string, to: string, other: string) => {
  const name = (part: string) => sql.raw(`${other}_${part}`);
  return sql`SELECT r.env_id, v.name AS env_name, r.asset_id, a.name AS asset_name, ${reachedId} AS ${sql.raw(to)},
  o.name AS ${name('name')}, ${typedText(sql`CASE WHEN o.id IS NOT NULL THEN ${kind('o')} END`)} AS ${name('kind')},
  ${reachedDepth} AS depth
FROM (SELECT DISTINCT env_id, ${sql.raw(from)} AS asset_id FROM asset_lineage) r ${joinEnvironment('r')} ${joinAsset('r')}
${joinReached({ envId: 'r.env_id', id: 'r.asset_id', from, to })}
WHERE a.deleted_at IS NULL AND o.deleted_at IS NULL`;
};

/** One row per asset and ancestor, with the smallest number of edges between them. An asset is not its own ancestor. */
export const lineageUpstream = sqliteView('lineage_upstream', {
  ...environment(),
  ...texts('asset_id', 'asset_name', 'upstream_asset_id', 'upstream_name', 'upstream_kind'),
  ...integers('depth'),
}).as(lineage('downstream_asset_id', 'upstream_asset_id', 'upstream'));

/** One row per asset and descendant, with the smallest number of edges between them. An asset is not its own descendant. */
export const lineageDownstream = sqliteView('lineage_downstream', {
  ...environment(),
  ...texts('asset_id', 'asset_name', 'downstream_asset_id', 'downstream_name', 'downstream_kind'),
  ...integers('depth'),
}).as(lineage('upstream_asset_id', 'downstream_asset_id', 'downstream'));
