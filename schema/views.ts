import { sql } from 'drizzle-orm';
import { assets, columns } from './assets.ts';
import { day, integer, real, text, time } from './column-types.ts';
import { dimensionOrTotal } from './health.ts';
import { COMPLETE_AT, COUNTED_CHECKPOINTS } from './sync.ts';
import { sameColumns } from './table.ts';
import { view } from './view.ts';
import type { ViewDialect } from './view-dialect.ts';
import {
  assetKind,
  fromLiveAssets,
  joinAsset,
  joinEnvironment,
  joinLiveAsset,
  kind,
  lineageDepth,
  namedAsset,
  ownerList,
} from './view-parts.ts';

export const environmentFreshness = view('environment_freshness', {
  description:
    'A row per listed environment that a run has begun to read: up to when it is mirrored, whether or not later runs failed. ' +
    'Histories, streams that were never live, and streams that no run has begun do not count.',
  key: ['env_id'],
  columns: {
    complete_at: time(
      'changes up to this server time are in the mirror, in every stream; NULL while a stream was never read to its end',
    ),
  },
  select: (d) => sql`SELECT c.env_id, v.name AS env_name, c.complete_at
FROM (
  SELECT env_id, ${d.time(sql.raw(COMPLETE_AT))} AS complete_at FROM sync_checkpoints
  WHERE ${sql.raw(COUNTED_CHECKPOINTS)}
  GROUP BY env_id
) c ${joinEnvironment('c')}
WHERE v.missing_since IS NULL`,
});

const assetStart = sql`a.env_id, v.name AS env_name, a.id, a.name`;
const assetEnd = (
  d: ViewDialect,
) => sql`a.description, ${d.listed('a.owners')} AS owners, ${d.listed('a.tags')} AS tags, a.parent_id, a.path,
  a.created_at, a.updated_at, a.synced_at, a.mirrored_at`;
const assetEndColumns = () => ({
  ...sameColumns(assets, 'description'),
  owners: ownerList(),
  tags: text('its tags, separated by commas'),
  ...sameColumns(assets, 'parent_id', 'path', 'created_at', 'updated_at', 'synced_at', 'mirrored_at'),
});

export const liveAssets = view('live_assets', {
  description: 'A row per live asset.',
  key: ['env_id', 'id'],
  columns: {
    ...sameColumns(assets, 'id', 'name'),
    kind: assetKind(),
    ...sameColumns(assets, 'source_type', 'data_platform', 'db_name', 'schema_name', 'table_name', 'materialization'),
    ...sameColumns(assets, 'bi_platform', 'bi_type', 'url'),
    ...assetEndColumns(),
  },
  select: (d) => sql`SELECT ${assetStart}, ${kind(d, 'a')} AS kind, a.source_type,
  a.data_platform, a.db_name, a.schema_name, a.table_name, a.materialization, a.bi_platform, a.bi_type, a.url,
  ${assetEnd(d)}
${fromLiveAssets}`,
});

export const liveTables = view('live_tables', {
  description: 'A row per live asset of kind `table`.',
  key: ['env_id', 'id'],
  columns: {
    ...sameColumns(assets, 'id', 'name', 'source_type', 'data_platform', 'db_name', 'schema_name', 'table_name'),
    ...sameColumns(assets, 'materialization'),
    ...assetEndColumns(),
  },
  select: (d) => sql`SELECT ${assetStart}, a.source_type,
  a.data_platform, a.db_name, a.schema_name, a.table_name, a.materialization,
  ${assetEnd(d)}
${fromLiveAssets} AND a.kind = 'table'`,
});

export const liveBiAssets = view('live_bi_assets', {
  description: 'A row per live asset of kind `bi`.',
  key: ['env_id', 'id'],
  columns: {
    ...sameColumns(assets, 'id', 'name', 'source_type', 'bi_platform', 'bi_type', 'url'),
    ...assetEndColumns(),
  },
  select: (d) => sql`SELECT ${assetStart}, a.source_type, a.bi_platform, a.bi_type, a.url,
  ${assetEnd(d)}
${fromLiveAssets} AND a.kind = 'bi'`,
});

export const liveColumns = view('live_columns', {
  description: 'A row per live column.',
  key: ['env_id', 'id'],
  columns: {
    ...sameColumns(columns, 'id'),
    ...namedAsset(),
    ...sameColumns(columns, 'name', 'data_type', 'synced_at', 'mirrored_at'),
  },
  select: () => sql`SELECT c.env_id, v.name AS env_name, c.id, c.asset_id, a.name AS asset_name, c.name, c.data_type,
  c.synced_at, c.mirrored_at
FROM columns c ${joinEnvironment('c')} ${joinLiveAsset('c')}
WHERE c.deleted_at IS NULL`,
});

const assetElements = (d: ViewDialect, list: string, name: string) =>
  sql`SELECT DISTINCT a.env_id, v.name AS env_name, a.id AS asset_id, a.name AS asset_name, ${kind(d, 'a')} AS kind,
  ${d.label} AS ${sql.raw(name)}
FROM assets a ${d.joinElements(list)} ${joinEnvironment('a')}
WHERE a.deleted_at IS NULL AND ${d.label} IS NOT NULL`;

/** A tag that an asset has twice counts once. */
export const assetTags = view('asset_tags', {
  description: 'A row per live asset and tag.',
  key: ['env_id', 'asset_id', 'tag'],
  columns: { ...namedAsset(), kind: assetKind(), tag: text('one tag') },
  select: (d) => assetElements(d, 'a.tags', 'tag'),
});

/** An owner that an asset has twice counts once. */
export const assetOwners = view('asset_owners', {
  description: 'A row per live asset and owner.',
  key: ['env_id', 'asset_id', 'owner'],
  columns: {
    ...namedAsset(),
    kind: assetKind(),
    owner: text('one owner: the text, or the name, email or id of an object'),
  },
  select: (d) => assetElements(d, 'a.owners', 'owner'),
});

/** The score of the asset `h` in one dimension. */
const dimension = (name: string) =>
  sql.raw(`(SELECT d.score FROM asset_health_score_dimensions d
    WHERE d.env_id = h.env_id AND d.asset_id = h.asset_id AND d.dimension = '${name}') AS ${name}`);

const dimensionScore = (name: string) => real(`the score for ${name}, 0 to 1; NULL if there is none`);

export const assetHealth = view('asset_health', {
  description: 'A row per scored live asset.',
  key: ['env_id', 'asset_id'],
  columns: {
    ...namedAsset(),
    total: real('the total score, 0 to 1'),
    completeness: dimensionScore('completeness'),
    uniqueness: dimensionScore('uniqueness'),
    freshness: dimensionScore('freshness'),
    validity: dimensionScore('validity'),
    accuracy: dimensionScore('accuracy'),
    consistency: dimensionScore('consistency'),
    test_count: integer('number of test results in the total'),
    bucket_at: time('start of the hour that the total covers'),
  },
  select: () => sql`SELECT h.env_id, v.name AS env_name, h.asset_id, a.name AS asset_name, h.score AS total,
  ${dimension('completeness')}, ${dimension('uniqueness')}, ${dimension('freshness')},
  ${dimension('validity')}, ${dimension('accuracy')}, ${dimension('consistency')},
  h.test_count, h.bucket_at
FROM asset_health_scores h ${joinEnvironment('h')} ${joinAsset('h')}
WHERE a.deleted_at IS NULL`,
});

export const healthDaily = view('health_daily', {
  description: 'A row per asset, dimension and day.',
  key: ['env_id', 'asset_id', 'dimension', 'day'],
  columns: {
    ...namedAsset(),
    dimension: dimensionOrTotal(),
    day: day('the UTC day'),
    score: real('the score of the last hour of the day'),
    mean_score: real(
      'the mean of the hours of the day that the mirror has: once scores are thinned, only the last one',
    ),
    test_count: integer('number of test results in the last hour'),
    bucket_count: integer('number of these hours'),
    last_bucket_at: time('the last of them'),
  },
  select: (d) => d.healthDaily,
});

/** One row per asset at the `from` end of an edge, and per asset that it reaches over edges to their `to` end. */
const lineage = (d: ViewDialect, from: string, to: string, other: string) => {
  const name = (part: string) => sql.raw(`${other}_${part}`);
  return sql`SELECT r.env_id, v.name AS env_name, r.asset_id, a.name AS asset_name, ${d.reachedId} AS ${sql.raw(to)},
  o.name AS ${name('name')}, ${d.text(sql`CASE WHEN o.id IS NOT NULL THEN ${kind(d, 'o')} END`)} AS ${name('kind')},
  ${d.reachedDepth} AS depth
FROM (SELECT DISTINCT env_id, ${sql.raw(from)} AS asset_id FROM asset_lineage) r ${joinEnvironment('r')} ${joinAsset('r')}
${d.joinReached({ envId: 'r.env_id', id: 'r.asset_id', from, to })}
WHERE a.deleted_at IS NULL AND o.deleted_at IS NULL`;
};

export const lineageUpstream = view('lineage_upstream', {
  description: 'A row per asset and ancestor. An asset is not its own ancestor.',
  key: ['env_id', 'asset_id', 'upstream_asset_id'],
  columns: {
    ...namedAsset(),
    upstream_asset_id: text('an ancestor'),
    upstream_name: text('its name; NULL if the mirror has no such asset'),
    upstream_kind: text('its kind'),
    depth: lineageDepth(),
  },
  select: (d) => lineage(d, 'downstream_asset_id', 'upstream_asset_id', 'upstream'),
});

export const lineageDownstream = view('lineage_downstream', {
  description: 'A row per asset and descendant. An asset is not its own descendant.',
  key: ['env_id', 'asset_id', 'downstream_asset_id'],
  columns: {
    ...namedAsset(),
    downstream_asset_id: text('a descendant'),
    downstream_name: text('its name; NULL if the mirror has no such asset'),
    downstream_kind: text('its kind'),
    depth: lineageDepth(),
  },
  select: (d) => lineage(d, 'upstream_asset_id', 'downstream_asset_id', 'downstream'),
});
