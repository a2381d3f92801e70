import { expect, test } from 'vitest';
import { CATALOGUE } from '../../src/streams/catalogue.ts';
import { API_LISTS } from '../model/api-lists.ts';
import { createWorld } from '../model/world.ts';

type ListUse = readonly [path: string, queries: readonly object[], ids: string | null, parent: string | null];

const ONCE = [{}];
const TWICE = [{}, { disabled: 'true' }];

/** How each collection is read, as the API publishes it. */
const READ: Readonly<Record<string, ListUse>> = {
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

test('each collection is read at the path and with the parameters that the API publishes', () => {
  const read = CATALOGUE.map(({ name, path, scanQueries, idsParameter = null, parent }): [string, ListUse] => {
    const parentUse = parent === undefined ? null : `${parent.parameter} by ${parent.by}`;
    return [name, [path.join('/'), scanQueries, idsParameter, parentUse]];
  });
  expect(Object.fromEntries(read)).toEqual(READ);
  for (const [path, queries, ids, parent] of Object.values(READ)) {
    const parameters = [...queries.flatMap(Object.keys), ids ?? [], parent?.split(' ').slice(0, 1) ?? []].flat();
    expect([path, API_LISTS[path]]).toEqual([path, expect.arrayContaining(parameters)]);
  }
});

test.each(Object.keys(API_LISTS))('the model refuses a parameter that %s doesn’t have', async (list) => {
  const world = createWorld();
  const source = world.source();
  const path = ['e1', ...list.replace('{id}', 't1').split('/')];
  const query = { monitor_ids: ['m'] };
  const asked = list.endsWith('aggregate')
    ? source.matchedCount({ path, query })
    : source.page({ path, query, cursor: null });
  await expect(asked).rejects.toThrow('monitor_ids');
  expect(world.violations).toEqual([`${path.join('/')} has no parameter monitor_ids`]);
});
