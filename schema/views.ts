import { sql } from 'drizzle-orm';
import { view } from './view.ts';
import type { ViewDialect } from './view-dialect.ts';
import {
  environment,
  fromLiveAssets,
  integers,
  joinAsset,
  joinEnvironment,
  joinLiveAsset,
  kind,
  reals,
  texts,
} from './view-parts.ts';

const assetStart = sql`a.env_id, v.name AS env_name, a.id, a.name`;
const assetEnd = (
  d: ViewDialect,
) => sql`a.description, ${d.listed('a.owners')} AS owners, ${d.listed('a.tags')} AS tags, a.parent_id, a.path,
  a.created_at, a.updated_at, a.synced_at, a.mirrored_at`;
const assetEndColumns = () =>
  texts('description', 'owners', 'tags', 'parent_id', 'path', 'created_at', 'updated_at', 'synced_at', 'mirrored_at');

/** One row per asset of any kind. */
export const liveAssets = view(
  'live_assets',
  {
    ...environment(),
    ...texts('id', 'name', 'kind', 'source_type', 'data_platform', 'db_name', 'schema_name', 'table_name'),
    ...texts('materialization', 'bi_platform', 'bi_type', 'url'),
    ...assetEndColumns(),
  },
  (d) => sql`SELECT ${assetStart}, ${kind(d, 'a')} AS kind, a.source_type,
  a.data_platform, a.db_name, a.schema_name, a.table_name, a.materialization, a.bi_platform, a.bi_type, a.url,
  ${assetEnd(d)}
${fromLiveAssets}`,
);

/** One row per asset of kind `table`. */
export const liveTables = view(
  'live_tables',
  {
    ...environment(),
    ...texts('id', 'name', 'source_type', 'data_platform', 'db_name', 'schema_name', 'table_name', 'materialization'),
    ...assetEndColumns(),
  },
  (d) => sql`SELECT ${assetStart}, a.source_type,
  a.data_platform, a.db_name, a.schema_name, a.table_name, a.materialization,
  ${assetEnd(d)}
${fromLiveAssets} AND a.kind = 'table'`,
);

/** One row per asset of kind `bi`. */
export const liveBiAssets = view(
  'live_bi_assets',
  {
    ...environment(),
    ...texts('id', 'name', 'source_type', 'bi_platform', 'bi_type', 'url'),
    ...assetEndColumns(),
  },
  (d) => sql`SELECT ${assetStart}, a.source_type, a.bi_platform, a.bi_type, a.url,
  ${assetEnd(d)}
${fromLiveAssets} AND a.kind = 'bi'`,
);

/** One row per column. */
export const liveColumns = view(
  'live_columns',
  {
    ...environment(),
    ...texts('id', 'asset_id', 'asset_name', 'name', 'data_type', 'synced_at', 'mirrored_at'),
  },
  () => sql`SELECT c.env_id, v.name AS env_name, c.id, c.asset_id, a.name AS asset_name, c.name, c.data_type,
  c.synced_at, c.mirrored_at
FROM columns c ${joinEnvironment('c')} ${joinLiveAsset('c')}
WHERE c.deleted_at IS NULL`,
);

const assetElements = (d: ViewDialect, list: string, name: string) =>
  sql`SELECT DISTINCT a.env_id, v.name AS env_name, a.id AS asset_id, a.name AS asset_name, ${kind(d, 'a')} AS kind,
  ${d.label} AS ${sql.raw(name)}
FROM assets a ${d.joinElements(list)} ${joinEnvironment('a')}
WHERE a.deleted_at IS NULL AND ${d.label} IS NOT NULL`;

/** One row per asset and tag; a tag that an asset has twice counts once. */
export const assetTags = view(
  'asset_tags',
  {
    ...environment(),
    ...texts('asset_id', 'asset_name', 'kind', 'tag'),
  },
  (d) => assetElements(d, 'a.tags', 'tag'),
);

/** One row per asset and owner; an owner that an asset has twice counts once. */
export const assetOwners = view(
  'asset_owners',
  {
    ...environment(),
    ...texts('asset_id', 'asset_name', 'kind', 'owner'),
  },
  (d) => assetElements(d, 'a.owners', 'owner'),
);

/** The score of the asset `h` in one dimension. */
const dimension = (name: string) =>
  sql.raw(`(SELECT d.score FROM asset_health_score_dimensions d
    WHERE d.env_id = h.env_id AND d.asset_id = h.asset_id AND d.dimension = '${name}') AS ${name}`);

/** One row per asset with a score: the total and the dimensions, from 0 to 1; NULL for a dimension without a score. */
export const assetHealth = view(
  'asset_health',
  {
    ...environment(),
    ...texts('asset_id', 'asset_name'),
    ...reals('total', 'completeness', 'uniqueness', 'freshness', 'validity', 'accuracy', 'consistency'),
    ...integers('test_count'),
    ...texts('bucket_at'),
  },
  () => sql`SELECT h.env_id, v.name AS env_name, h.asset_id, a.name AS asset_name, h.score AS total,
  ${dimension('completeness')}, ${dimension('uniqueness')}, ${dimension('freshness')},
  ${dimension('validity')}, ${dimension('accuracy')}, ${dimension('consistency')},
  h.test_count, h.bucket_at
FROM asset_health_scores h ${joinEnvironment('h')} ${joinAsset('h')}
WHERE a.deleted_at IS NULL`,
);

/**
 * One row per asset, dimension (or `total`) and UTC day: the score of the day's last hourly bucket, and the mean of the
 * day's buckets that the mirror has seen.
 */
export const healthDaily = view(
  'health_daily',
  {
    ...environment(),
    ...texts('asset_id', 'asset_name', 'dimension', 'day'),
    ...reals('score', 'mean_score'),
    ...integers('test_count', 'bucket_count'),
    ...texts('last_bucket_at'),
  },
  (d) => d.healthDaily,
);

/** One row per asset at the `from` end of an edge and every asset that it reaches by edges to their `to` end. */
const lineage = (d: ViewDialect, from: string, to: string, other: string) => {
  const name = (part: string) => sql.raw(`${other}_${part}`);
  return sql`SELECT r.env_id, v.name AS env_name, r.asset_id, a.name AS asset_name, ${d.reachedId} AS ${sql.raw(to)},
  o.name AS ${name('name')}, ${d.text(sql`CASE WHEN o.id IS NOT NULL THEN ${kind(d, 'o')} END`)} AS ${name('kind')},
  ${d.reachedDepth} AS depth
FROM (SELECT DISTINCT env_id, ${sql.raw(from)} AS asset_id FROM asset_lineage) r ${joinEnvironment('r')} ${joinAsset('r')}
${d.joinReached({ envId: 'r.env_id', id: 'r.asset_id', from, to })}
WHERE a.deleted_at IS NULL AND o.deleted_at IS NULL`;
};

/** One row per asset and ancestor, with the smallest number of edges between them. An asset is not its own ancestor. */
export const lineageUpstream = view(
  'lineage_upstream',
  {
    ...environment(),
    ...texts('asset_id', 'asset_name', 'upstream_asset_id', 'upstream_name', 'upstream_kind'),
    ...integers('depth'),
  },
  (d) => lineage(d, 'downstream_asset_id', 'upstream_asset_id', 'upstream'),
);

/**
 * One row per asset and descendant, with the smallest number of edges between them. An asset is not its own descendant.
 */
export const lineageDownstream = view(
  'lineage_downstream',
  {
    ...environment(),
    ...texts('asset_id', 'asset_name', 'downstream_asset_id', 'downstream_name', 'downstream_kind'),
    ...integers('depth'),
  },
  (d) => lineage(d, 'upstream_asset_id', 'downstream_asset_id', 'downstream'),
);
