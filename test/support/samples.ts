import type { CollectionName } from '../../src/streams/catalogue.ts';

/** An item of a collection as the service sends it, without `synced_at`. */
type Sample = Record<string, unknown>;

/** `parent` is the id of the row that the item belongs to, or of the other end of an edge. */
type SampleBuilder = (id: string, parent: string) => Sample;

const execution: SampleBuilder = (id, parent) => ({
  id,
  test_id: parent,
  sub_test_unique_id: `${parent}.1`,
  sub_type: 'x',
  status: 'PASS',
  failure_count: 0,
  start_time: '2026-11-20T04:10:00Z',
  duration_seconds: 1.5,
  exception: null,
});

const asset: SampleBuilder = (id) => ({ id, name: id, kind: 'etl', source_type: 'dbt', owners: [], tags: [] });

/** One item of each collection. A new collection must be added here. */
export const SAMPLES: Readonly<Record<CollectionName, SampleBuilder>> = {
  assets: asset,
  table_assets: (id, parent) => ({
    ...asset(id, parent),
    kind: 'table',
    data_platform: 'snowflake',
    db_name: 'd',
    schema_name: 's',
    table_name: id,
    materialization: 'table',
  }),
  bi_assets: (id, parent) => ({
    ...asset(id, parent),
    kind: 'bi',
    bi_platform: 'looker',
    bi_type: 'dashboard',
    url: null,
  }),
  columns: (id, parent) => ({ id, asset_id: parent, name: id, data_type: 'int' }),
  tests: (id, parent) => ({
    id,
    name: id,
    test_type: 'unique',
    definition_type: 'dbt',
    source_type: 'dbt',
    severity: 'ERROR',
    disabled: false,
    asset_id: parent,
  }),
  asset_lineage: (id, parent) => ({ upstream_asset_id: parent, downstream_asset_id: id }),
  column_lineage: (id, parent) => ({ upstream_column_id: parent, downstream_column_id: id }),
  latest_test_executions: execution,
  asset_health_scores: (id) => {
    const bucket = { score: 0.5, test_count: 3, bucket_at: '2026-11-20T04:00:00' };
    return { asset_id: id, total: bucket, dimensions: [{ ...bucket, dimension: 'freshness', test_count: 1 }] };
  },
  test_executions: execution,
};
