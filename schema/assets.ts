import { index, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import {
  envId,
  feedColumns,
  feedKeys,
  isLive,
  json,
  kept,
  staged,
  stagedByEnvironment,
  time,
} from './common-columns.ts';

export const environments = sqliteTable('environments', {
  id: text('id').primaryKey(),
  name: text('name').notNull(),
  cron: text('cron'),
  last_sync_status: text('last_sync_status'),
  last_synced_at: time('last_synced_at'),
  warehouse_type: text('warehouse_type'),
  /** Server time of the first run that no longer found the environment listed; NULL while it is listed. */
  missing_since: time('missing_since'),
  ...kept(),
});

export const assets = sqliteTable(
  'assets',
  feedColumns({
    name: text('name'),
    kind: text('kind'),
    source_type: text('source_type'),
    data_platform: text('data_platform'),
    db_name: text('db_name'),
    schema_name: text('schema_name'),
    table_name: text('table_name'),
    materialization: text('materialization'),
    bi_platform: text('bi_platform'),
    bi_type: text('bi_type'),
    url: text('url'),
    description: text('description'),
    owners: json('owners'),
    tags: json('tags'),
    parent_id: text('parent_id'),
    path: text('path'),
    created_at: time('created_at'),
    updated_at: time('updated_at'),
  }),
  (t) => [
    ...feedKeys('assets', t),
    index('assets_by_kind').on(t.env_id, t.kind, t.id),
    index('assets_live_by_kind').on(t.env_id, t.kind, t.mirrored_at, t.id).where(isLive),
  ],
);

export const columns = sqliteTable(
  'columns',
  feedColumns({
    asset_id: text('asset_id'),
    name: text('name'),
    data_type: text('data_type'),
  }),
  (t) => [...feedKeys('columns', t), index('columns_by_asset').on(t.env_id, t.asset_id)],
);

const assetEdge = () => ({
  env_id: envId(),
  upstream_asset_id: text('upstream_asset_id').notNull(),
  downstream_asset_id: text('downstream_asset_id').notNull(),
  ...kept(),
});

export const assetLineage = sqliteTable('asset_lineage', assetEdge(), (t) => [
  primaryKey({ columns: [t.env_id, t.upstream_asset_id, t.downstream_asset_id] }),
  index('asset_lineage_by_downstream').on(t.env_id, t.downstream_asset_id, t.upstream_asset_id),
]);

export const assetLineageStaged = sqliteTable(
  'asset_lineage_staged',
  staged(assetEdge()),
  stagedByEnvironment('asset_lineage_staged'),
);

const columnEdge = () => ({
  env_id: envId(),
  upstream_column_id: text('upstream_column_id').notNull(),
  downstream_column_id: text('downstream_column_id').notNull(),
  ...kept(),
});

/** The downstream column comes first in the key, because its edges are read, replaced and removed together (R18). */
export const columnLineage = sqliteTable('column_lineage', columnEdge(), (t) => [
  primaryKey({ columns: [t.env_id, t.downstream_column_id, t.upstream_column_id] }),
  index('column_lineage_by_upstream').on(t.env_id, t.upstream_column_id),
]);

export const columnLineageStaged = sqliteTable(
  'column_lineage_staged',
  staged(columnEdge()),
  stagedByEnvironment('column_lineage_staged'),
);
