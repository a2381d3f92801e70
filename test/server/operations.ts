import type { FeedName } from '../../src/streams/catalogue.ts';
import { entryNamed, PLAIN_FEEDS } from '../support/catalogue.ts';

export const ENV = '/public/beta/{env_id}';
const FEEDS = 'synced_since deleted_since';
const LIST_SET = 'cursor limit order_by direction';
const TABLE_FILTERS = 'ids source_types tags db_names schema_names materializations path';

type Operation = readonly [path: string, query: string, item: string, list: boolean];

/** Every operation of the API: its path, its own parameters, and its answer. */
export const OPERATIONS: readonly Operation[] = [
  ['/public/beta/environments', '', 'Environment', false],
  [`${ENV}/assets`, `ids source_types tags path ${LIST_SET} ${FEEDS}`, 'Asset', true],
  [`${ENV}/assets/{asset_id}`, '', 'Asset', false],
  [`${ENV}/assets/tables`, `${TABLE_FILTERS} ${LIST_SET} ${FEEDS}`, 'TableAsset', true],
  [`${ENV}/assets/tables/{asset_id}`, '', 'TableAsset', false],
  [`${ENV}/assets/bi`, `ids source_types tags bi_platforms path ${LIST_SET} ${FEEDS}`, 'BiAsset', true],
  [`${ENV}/assets/bi/{asset_id}`, '', 'BiAsset', false],
  [`${ENV}/columns`, `ids asset_ids data_types ${LIST_SET} ${FEEDS}`, 'Column', true],
  [`${ENV}/columns/{column_id}`, '', 'Column', false],
  [`${ENV}/asset-lineage`, `asset_ids ${LIST_SET}`, 'AssetLineageEdge', true],
  [`${ENV}/column-lineage`, `column_ids asset_ids ${LIST_SET} ${FEEDS}`, 'ColumnLineageEdge', true],
  [
    `${ENV}/tests`,
    `ids asset_ids test_types definition_types source_types tags disabled ${LIST_SET} ${FEEDS}`,
    'Test',
    true,
  ],
  [`${ENV}/tests/{test_id}`, '', 'Test', false],
  [
    `${ENV}/latest-test-executions`,
    `sub_test_ids test_ids asset_ids test_types definition_types source_types statuses disabled ${LIST_SET}`,
    'TestExecution',
    true,
  ],
  [`${ENV}/latest-test-executions/{sub_test_unique_id}`, '', 'TestExecution', false],
  [
    `${ENV}/tests/{test_id}/executions`,
    `sub_test_ids statuses start_time_from start_time_to ${LIST_SET}`,
    'TestExecution',
    true,
  ],
  [`${ENV}/tests/{test_id}/executions/{execution_id}`, '', 'TestExecution', false],
  [`${ENV}/asset-health-scores`, `asset_ids ${LIST_SET}`, 'AssetHealthScore', true],
  [`${ENV}/asset-health-scores/{asset_id}`, '', 'AssetHealthScore', false],
  [`${ENV}/asset-health-scores/aggregate`, TABLE_FILTERS, 'AggregatedHealthScore', false],
  ...PLAIN_FEEDS.flatMap(operationsOf),
];

/** The operations of a collection that the specification does not describe, derived from its entry. */
function operationsOf(name: FeedName): Operation[] {
  const { path, serve } = entryNamed(name);
  if (serve === false) return [];
  const [list, item] = [`${ENV}/${path.join('/')}`, serve.item ?? capitalised(serve.noun)];
  const own = [...Object.keys(serve.filters), ...(serve.disabled === undefined ? [] : ['disabled'])].join(' ');
  const one: Operation[] = serve.get === undefined ? [] : [[`${list}/{${serve.get.parameter}}`, '', item, false]];
  return [[list, `${own} ${LIST_SET} ${FEEDS}`, item, true], ...one];
}

/** `slow query` as `SlowQuery`. */
function capitalised(words: string): string {
  return words.replaceAll(/(?:^| )(\w)/g, (_, letter: string) => letter.toUpperCase());
}

/** The name and tag of each operation in the specification. */
export const OPERATION_NAMES: readonly [path: string, operationId: string, summary: string, tag: string][] = [
  ['/public/beta/environments', 'listEnvironments', 'List environments', 'Environments'],
  [`${ENV}/assets`, 'listAssets', 'List assets', 'Assets'],
  [`${ENV}/assets/{asset_id}`, 'getAsset', 'Get an asset', 'Assets'],
  [`${ENV}/assets/tables`, 'listTableAssets', 'List table assets', 'Assets'],
  [`${ENV}/assets/tables/{asset_id}`, 'getTableAsset', 'Get a table asset', 'Assets'],
  [`${ENV}/assets/bi`, 'listBiAssets', 'List BI assets', 'Assets'],
  [`${ENV}/assets/bi/{asset_id}`, 'getBiAsset', 'Get a BI asset', 'Assets'],
  [`${ENV}/columns`, 'listColumns', 'List columns', 'Columns'],
  [`${ENV}/columns/{column_id}`, 'getColumn', 'Get a column', 'Columns'],
  [`${ENV}/asset-lineage`, 'listAssetLineageEdges', 'List asset lineage edges', 'Asset lineage'],
  [`${ENV}/column-lineage`, 'listColumnLineageEdges', 'List column lineage edges', 'Column lineage'],
  [`${ENV}/tests`, 'listTests', 'List tests', 'Tests'],
  [`${ENV}/tests/{test_id}`, 'getTest', 'Get a test', 'Tests'],
  [
    `${ENV}/latest-test-executions`,
    'listLatestTestExecutions',
    'List latest test executions',
    'Latest test executions',
  ],
  [
    `${ENV}/latest-test-executions/{sub_test_unique_id}`,
    'getLatestTestExecution',
    'Get a latest test execution',
    'Latest test executions',
  ],
  [`${ENV}/tests/{test_id}/executions`, 'listTestExecutions', 'List test executions', 'Test executions'],
  [`${ENV}/tests/{test_id}/executions/{execution_id}`, 'getTestExecution', 'Get a test execution', 'Test executions'],
  [`${ENV}/asset-health-scores`, 'listAssetHealthScores', 'List asset health scores', 'Asset health scores'],
  [`${ENV}/asset-health-scores/{asset_id}`, 'getAssetHealthScore', 'Get an asset health score', 'Asset health scores'],
  [
    `${ENV}/asset-health-scores/aggregate`,
    'aggregateAssetHealthScores',
    'Aggregate asset health scores',
    'Asset health scores',
  ],
];
