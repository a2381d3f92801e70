import { sql } from 'drizzle-orm';
import { sqliteView } from 'drizzle-orm/sqlite-core';
import {
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
  substr(h.bucket_at, 1, 10) AS day, h.score, avg(h.score) AS mean_score, h.test_count, count(*) AS bucket_count,
  max(h.bucket_at) AS last_bucket_at
FROM asset_health_score_history h ${joinEnvironment('h')} ${joinAsset('h')}
WHERE a.deleted_at IS NULL
GROUP BY h.env_id, h.asset_id, h.dimension, day`);

/**
 * One row per asset at the `from` end of an edge and every asset that it reaches by edges to their `to` end. The walk begins at each
 * asset separately, so that a filter on the asset makes one walk. It goes breadth first: the depth is a text of spaces. RTRIM takes
 * all such texts for equal, so that UNION keeps an asset only once, as it was first met; ORDER BY tells them apart and takes the
 * nearest asset first. So a walk costs no more than its edges, even with diamonds and cycles. CROSS JOIN and unlikely() make SQLite
 * look up edges by their end, whatever statistics it has. Ids are JSON values, because SQLite cuts names of JSON members at U+0000.
 */
const lineage = (from: string, to: string, other: string) => {
  const [fromId, toId] = [sql.raw(from), sql.raw(to)];
  return sql`SELECT r.env_id, v.name AS env_name, r.asset_id, a.name AS asset_name, w.value ->> 0 AS ${toId},
  o.name AS ${sql.raw(`${other}_name`)}, CASE WHEN o.id IS NOT NULL THEN ${kind('o')} END AS ${sql.raw(`${other}_kind`)},
  w.value ->> 1 AS depth
FROM (SELECT DISTINCT env_id, ${fromId} AS asset_id FROM asset_lineage) r ${joinEnvironment('r')} ${joinAsset('r')}
JOIN json_each((
  WITH RECURSIVE walk(id, depth) AS (
    SELECT r.asset_id, '' COLLATE RTRIM
    UNION
    SELECT e.${toId}, walk.depth || ' '
    FROM walk CROSS JOIN asset_lineage e ON e.env_id = r.env_id AND unlikely(e.${fromId} = walk.id)
    LEFT JOIN assets n ON n.env_id = e.env_id AND n.id = e.${toId}
    WHERE n.deleted_at IS NULL
    ORDER BY 2 COLLATE BINARY
  )
  SELECT json_group_array(json_array(id, length(depth))) FROM walk WHERE length(depth) > 0
)) w
LEFT JOIN assets o ON o.env_id = r.env_id AND o.id = w.value ->> 0
WHERE a.deleted_at IS NULL`;
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
