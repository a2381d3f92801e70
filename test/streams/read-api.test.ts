import { expect, test } from 'vitest';
import { CATALOGUE } from '../../src/streams/catalogue.ts';
import { API_LISTS, API_READS, type ListUse } from '../model/api-lists.ts';
import { createWorld } from '../model/world.ts';

test('each collection is read at the path and with the parameters that the API publishes', () => {
  const read = CATALOGUE.map(({ name, path, scanQueries, idsParameter = null, parent }): [string, ListUse] => {
    const parentUse = parent === undefined ? null : `${parent.parameter} by ${parent.by}`;
    return [name, [path.join('/'), scanQueries, idsParameter, parentUse]];
  });
  expect(Object.fromEntries(read)).toEqual(API_READS);
  for (const [path, queries, ids, parent] of Object.values(API_READS)) {
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
