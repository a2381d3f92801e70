import type { FeedName } from '../../src/streams/catalogue.ts';
import { API_LISTS } from '../model/api-lists.ts';
import { entryNamed, PLAIN_FEEDS } from '../support/catalogue.ts';

export const ENV = '/public/beta/{env_id}';
const LIST_SET = ['cursor', 'limit', 'order_by', 'direction'];

/** What each operation of the specification answers with: one of these, or a list of them. */
const ANSWERS = {
  '/public/beta/environments': 'Environment',
  [`${ENV}/assets`]: 'Asset',
  [`${ENV}/assets/{asset_id}`]: 'Asset',
  [`${ENV}/assets/tables`]: 'TableAsset',
  [`${ENV}/assets/tables/{asset_id}`]: 'TableAsset',
  [`${ENV}/assets/bi`]: 'BiAsset',
  [`${ENV}/assets/bi/{asset_id}`]: 'BiAsset',
  [`${ENV}/columns`]: 'Column',
  [`${ENV}/columns/{column_id}`]: 'Column',
  [`${ENV}/asset-lineage`]: 'AssetLineageEdge',
  [`${ENV}/column-lineage`]: 'ColumnLineageEdge',
  [`${ENV}/tests`]: 'Test',
  [`${ENV}/tests/{test_id}`]: 'Test',
  [`${ENV}/latest-test-executions`]: 'TestExecution',
  [`${ENV}/latest-test-executions/{sub_test_unique_id}`]: 'TestExecution',
  [`${ENV}/tests/{test_id}/executions`]: 'TestExecution',
  [`${ENV}/tests/{test_id}/executions/{execution_id}`]: 'TestExecution',
  [`${ENV}/asset-health-scores`]: 'AssetHealthScore',
  [`${ENV}/asset-health-scores/{asset_id}`]: 'AssetHealthScore',
  [`${ENV}/asset-health-scores/aggregate`]: 'AggregatedHealthScore',
};

type Operation = readonly [path: string, query: string, item: string, list: boolean];

/** Every operation of the API: its path, its own parameters, and its answer. */
export const OPERATIONS: readonly Operation[] = [...Object.entries(ANSWERS), ...PLAIN_FEEDS.flatMap(answersOf)].map(
  ([path, item]) => {
    const own = API_LISTS[path.slice(ENV.length + 1).replace('{test_id}', '{id}')];
    const isList = own !== undefined && !path.endsWith('/aggregate');
    return [path, [...new Set([...(own ?? []), ...(isList ? LIST_SET : [])])].join(' '), item, isList];
  },
);

/** The answers of a collection that the specification does not describe. */
function answersOf(name: FeedName): [path: string, item: string][] {
  const { path, serve } = entryNamed(name);
  if (serve === false) return [];
  const [list, item] = [`${ENV}/${path.join('/')}`, serve.item ?? capitalised(serve.noun)];
  return [list, ...(serve.get === undefined ? [] : [`${list}/{${serve.get.parameter}}`])].map((each) => [each, item]);
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
