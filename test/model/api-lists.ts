const LIST = ['limit', 'order_by', 'direction'];
const FEEDS = ['synced_since', 'deleted_since'];
const TABLES = ['ids', 'source_types', 'tags', 'db_names', 'schema_names', 'materializations', 'path'];

/** The lists that the API publishes, and their parameters besides the cursor. Written by hand, not derived. */
export const API_LISTS: Readonly<Record<string, readonly string[]>> = {
  assets: ['ids', 'source_types', 'tags', 'path', ...LIST, ...FEEDS],
  'assets/tables': [...TABLES, ...LIST, ...FEEDS],
  'assets/bi': ['ids', 'source_types', 'tags', 'bi_platforms', 'path', ...LIST, ...FEEDS],
  columns: ['ids', 'asset_ids', 'data_types', ...LIST, ...FEEDS],
  tests: [
    ...['ids', 'asset_ids', 'test_types', 'definition_types', 'source_types', 'tags', 'disabled'],
    ...LIST,
    ...FEEDS,
  ],
  'asset-lineage': ['asset_ids', 'limit'],
  'column-lineage': ['column_ids', 'asset_ids', ...LIST, ...FEEDS],
  'latest-test-executions': [
    ...['sub_test_ids', 'test_ids', 'asset_ids', 'test_types', 'definition_types', 'source_types', 'statuses'],
    ...['disabled', ...LIST],
  ],
  'asset-health-scores': ['asset_ids', 'limit'],
  'asset-health-scores/aggregate': TABLES,
  'tests/{id}/executions': ['sub_test_ids', 'statuses', 'start_time_from', 'start_time_to', ...LIST],
};

export type ListUse = readonly [path: string, queries: readonly object[], ids: string | null, parent: string | null];

const ONCE = [{}];
const TWICE = [{}, { disabled: 'true' }];

/** How each collection is read, as the API publishes it: from where, in which lists, and by which ids. */
export const API_READS: Readonly<Record<string, ListUse>> = {
  assets: ['assets', ONCE, 'ids', null],
  table_assets: ['assets/tables', ONCE, 'ids', null],
  bi_assets: ['assets/bi', ONCE, 'ids', null],
  columns: ['columns', ONCE, 'ids', 'asset_ids by asset_id'],
  tests: ['tests', TWICE, 'ids', 'asset_ids by asset_id'],
  asset_lineage: ['asset-lineage', ONCE, 'asset_ids', null],
  column_lineage: ['column-lineage', ONCE, 'column_ids', null],
  latest_test_executions: ['latest-test-executions', TWICE, 'sub_test_ids', null],
  asset_health_scores: ['asset-health-scores', ONCE, 'asset_ids', null],
  test_executions: ['tests/{id}/executions', ONCE, null, null],
};
