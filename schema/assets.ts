import { index, primaryKey } from 'drizzle-orm/sqlite-core';
import { text, time } from './column-types.ts';
import {
  assetId,
  envId,
  feedColumns,
  feedKeys,
  kept,
  objectDescription,
  owners,
  projectPath,
  sourceType,
  stagedTable,
  tags,
  updatedAt,
  whereNotDeleted,
} from './common-columns.ts';
import { table } from './table.ts';

export const environments = table('environments', 'A row per environment that the token has seen.', {
  id: text('the id of the environment').primaryKey(),
  name: text('its name').notNull(),
  cron: text("the service's own schedule for it, as a cron expression"),
  last_sync_status: text("how the service's last sync of it ended, such as `success`"),
  last_synced_at: time('when the service last synced it'),
  warehouse_type: text('the kind of its warehouse, such as `snowflake`'),
  missing_since: time(
    'server time of the first run that no longer found it listed; NULL while it is listed. Its rows stay',
  ),
  ...kept(),
});

export const assets = table(
  'assets',
  'A row per asset of any kind: tables, dashboards and their like. Deleted rows stay.',
  feedColumns('asset', {
    name: text('its name'),
    kind: text('`table`, `bi`, `semantic`, `etl` or `other`; newer values pass through'),
    source_type: sourceType(),
    data_platform: text('the warehouse of a table, such as `snowflake`'),
    db_name: text('the database of a table'),
    schema_name: text('the schema of a table'),
    table_name: text('the name of a table in the warehouse'),
    materialization: text('how a table is made: `table`, `view`, `incremental`, `ephemeral`, …'),
    bi_platform: text('the platform of a BI asset, such as `looker`'),
    bi_type: text('the type of a BI asset, such as `dashboard`'),
    url: text('the address of a BI asset in its own platform'),
    description: objectDescription(),
    owners: owners(),
    tags: tags(),
    parent_id: text('the asset that contains this one, such as the dashboard of a page'),
    path: projectPath(),
    created_at: time('when it was created in the platform that it comes from'),
    updated_at: updatedAt(),
  }),
  (t) => [
    ...feedKeys('assets', t),
    index('assets_by_kind').on(t.env_id, t.kind, t.id),
    index('assets_live_by_kind').on(t.env_id, t.kind, t.mirrored_at, t.id).where(whereNotDeleted),
  ],
);

export const columns = table(
  'columns',
  'A row per column of an asset. Deleted rows stay.',
  feedColumns('column', {
    asset_id: assetId(),
    name: text('its name'),
    data_type: text('its type in the warehouse'),
  }),
  (t) => [...feedKeys('columns', t), index('columns_by_asset').on(t.env_id, t.asset_id)],
);

const assetEdge = () => ({
  env_id: envId(),
  upstream_asset_id: text('the asset that is read from').notNull(),
  downstream_asset_id: text('the asset that is made from it').notNull(),
  ...kept(),
});

export const assetLineage = table('asset_lineage', 'A row per edge between two assets.', assetEdge(), (t) => [
  primaryKey({ columns: [t.env_id, t.upstream_asset_id, t.downstream_asset_id] }),
  index('asset_lineage_by_downstream').on(t.env_id, t.downstream_asset_id, t.upstream_asset_id),
]);

export const assetLineageStaged = stagedTable('asset_lineage', assetEdge());

const columnEdge = () => ({
  env_id: envId(),
  upstream_column_id: text(
    'the column that is read from; the token may not see it, and then `columns` has no row for it',
  ).notNull(),
  downstream_column_id: text('the column that is made from it').notNull(),
  ...kept(),
});

/** The downstream column comes first in the key, because its edges are read, replaced and removed together (R18). */
export const columnLineage = table('column_lineage', 'A row per edge between two columns.', columnEdge(), (t) => [
  primaryKey({ columns: [t.env_id, t.downstream_column_id, t.upstream_column_id] }),
  index('column_lineage_by_upstream').on(t.env_id, t.upstream_column_id),
]);

export const columnLineageStaged = stagedTable('column_lineage', columnEdge());
