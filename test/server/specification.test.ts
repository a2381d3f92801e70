import { describe, expect, test } from 'vitest';
import { LISTINGS } from '../../src/server/listings.ts';
import type { FeedName } from '../../src/streams/catalogue.ts';
import { entryNamed, PLAIN_FEEDS } from '../support/catalogue.ts';
import { SAMPLES } from '../support/samples.ts';
import { asset, NOW, serve } from './fixture.ts';
import { expectRefusal } from './refusal.ts';
import { fillWorld, hour, keyOf, samplesOf, WEEK_AGO } from './specification-world.ts';

const { get, all } = serve(fillWorld);

const one = async (path: string) => (await get(`e/${path}`)).body;
const keys = async (path: string) => (await all(`e/${path}`)).items.map(keyOf);

const COMMON = ['id', 'name', 'kind', 'source_type', 'description', 'owners', 'tags', 'parent_id', 'path'];
const TIMES = ['created_at', 'updated_at', 'synced_at'];

describe('a full item (resources)', () => {
  const table = [...COMMON, ...TIMES, 'data_platform', 'db_name', 'schema_name', 'table_name', 'materialization'];
  const test_ = ['id', 'name', 'test_type', 'definition_type', 'source_type', 'severity', 'disabled', 'asset_id'];
  const execution = ['id', 'test_id', 'sub_test_unique_id', 'sub_type', 'status', 'failure_count', 'start_time'];
  const details = ['column_name', 'quality_dimension', 'result_reason', 'exception', 'description', 'synced_at'];

  test.each([
    ['Table asset', 'assets/tables/orders', table],
    ['BI asset', 'assets/bi/dash', [...COMMON, ...TIMES, 'bi_platform', 'bi_type', 'url']],
    ['Asset (field notes)', 'assets/orders', [...COMMON, ...TIMES]],
    ['Column', 'columns/orders.id', ['id', 'asset_id', 'name', 'data_type', 'synced_at']],
    ['Test (field notes)', 'tests/unique', [...test_, 'column_name', 'config', 'owners', 'tags', 'synced_at']],
    ['Test execution', 'latest-test-executions/a', [...execution, ...details, 'duration_seconds']],
    ['Test execution', 'tests/unique/executions/now', [...execution, ...details, 'duration_seconds']],
    ['Asset health score', 'asset-health-scores/orders', ['asset_id', 'total', 'dimensions']],
  ])('%s at %s has exactly the documented fields', async (_, path, fields) => {
    expect(Object.keys(await one(path)).sort()).toEqual([...fields].sort());
  });

  test('asset and column lineage edges have both ids and nothing else (field notes)', async () => {
    expect((await get('e/asset-lineage?asset_ids=dash')).body.items).toEqual([
      { upstream_asset_id: 'lines', downstream_asset_id: 'dash' },
    ]);
    expect((await get('e/column-lineage?column_ids=orders.id')).body.items).toEqual([
      { upstream_column_id: 'unseen', downstream_column_id: 'orders.id' },
    ]);
  });

  test('values of every type are served as they were sent', async () => {
    expect(await one('assets/tables/orders')).toMatchObject({
      table_name: 'ORDERS',
      description: 'All orders',
      owners: ['Ann'],
      tags: ['pii', 'daily'],
      created_at: hour(1),
      updated_at: hour(2),
      parent_id: 'raw',
    });
    expect(await one('tests/unique')).toMatchObject({ disabled: false, config: { where: 'x > 1' }, column_name: 'id' });
    expect(await one('tests/unique/executions/now')).toMatchObject({
      failure_count: 0,
      duration_seconds: 1.5,
      start_time: NOW,
    });
  });

  test('a test execution has its own synced_at, null for an empty description, and maybe a null failure_count (field notes)', async () => {
    expect(await one('latest-test-executions/c')).toMatchObject({ description: null, failure_count: null });
    expect(await one('tests/unique/executions/now')).toMatchObject({ description: null, failure_count: 0 });
    expect(await one('latest-test-executions/a')).toMatchObject({ synced_at: hour(9) });
  });

  test('a list has exactly items, has_more and next_cursor', async () => {
    const page = (await get('e/columns?limit=2')).body;
    expect(page).toEqual({ items: expect.any(Array), has_more: true, next_cursor: expect.any(String) });
    expect(page.items).toHaveLength(2);
    expect((await get('e/columns?ids=none')).body).toEqual({ items: [], has_more: false, next_cursor: null });
  });

  test('unknown values of extensible enums pass through (versioning rule 3)', async () => {
    expect(await one('assets/thing')).toMatchObject({ kind: 'hologram', source_type: 'quantum' });
    expect(await one('tests/fresh')).toMatchObject({ severity: 'DIRE', definition_type: 'monitor' });
    expect(await one('latest-test-executions/c')).toMatchObject({ status: 'MAYBE' });
    expect((await one('asset-health-scores/lines')).dimensions).toMatchObject([{ dimension: 'novelty' }]);
    expect(await keys('latest-test-executions?statuses=MAYBE')).toEqual(['x']);
    expect(await keys('assets?source_types=quantum')).toEqual(['thing']);
  });
});

describe('get-ones', () => {
  test.each([
    ['endpoint 3', 'assets/tables/', ['orders', 'eph'], ['dash', 'thing', 'gone', 'untyped', 'nothing']],
    ['endpoint 4', 'assets/bi/', ['dash', 'page'], ['orders', 'thing', 'gone dash', 'nothing']],
    ['endpoint 5', 'columns/', ['orders.id'], ['gone.id', 'nothing', 'orders']],
    ['endpoint 10', 'asset-health-scores/', ['orders', 'lines'], ['ordersx', 'dash', 'gone', 'nothing']],
    ['field notes', 'assets/', ['orders', 'dash', 'meaning', 'thing', 'untyped'], ['gone', 'gone dash', 'nothing']],
    ['field notes', 'tests/', ['unique', 'off'], ['gone', 'nothing']],
    ['field notes', 'latest-test-executions/', ['a', 'd'], ['e', 'z', 'nothing']],
    ['field notes', 'tests/unique/executions/', ['now', 'over 90 days'], ['of another', 'nothing']],
  ])('%s: %s returns %j, and 404 for %j', async (_, path, there, not) => {
    const listed = new Set<unknown>();
    for (const id of there) {
      const { status, body } = await get(`e/${path}${encodeURIComponent(id)}`);
      expect([id, status]).toEqual([id, 200]);
      listed.add(body.sub_test_unique_id === id ? id : keyOf(body));
    }
    expect([...listed]).toEqual(there);
    for (const id of not) expectRefusal(await get(`e/${path}${encodeURIComponent(id)}`), 404, 'not_found');
  });

  test('an item is the same as in its list', async () => {
    const single = LISTINGS.filter(({ one, parent }) => one !== undefined && parent === undefined);
    const lists = single.map(({ entry }) => entry.path.join('/'));
    expect(lists).not.toEqual([]);
    for (const list of [...lists, 'tests/unique/executions'])
      for (const item of (await all(`e/${list}`)).items) {
        const id = list.startsWith('latest') ? String(item['sub_test_unique_id']) : keyOf(item);
        expect(await one(`${list}/${encodeURIComponent(id)}`)).toEqual(item);
      }
  });
});

/** Each filter alone, then combinations. */
const FILTERS: readonly [place: string, path: string, found: readonly string[]][] = [
  ['endpoint 2', 'assets/tables?ids=orders&ids=eph&ids=dash&ids=gone', ['eph', 'orders']],
  ['endpoint 2', 'assets/tables?source_types=fivetran', ['lines']],
  ['endpoint 2', 'assets/tables?tags=daily&tags=x', ['lines', 'orders']],
  ['endpoint 2', 'assets/tables?db_names=raw&db_names=prod', ['lines', 'orders', 'ordersx']],
  ['endpoint 2', 'assets/tables?schema_names=sales', ['orders']],
  ['endpoint 2', 'assets/tables?materializations=ephemeral&materializations=table', ['eph', 'orders']],
  ['endpoint 2', 'assets/tables?path=shop/core/orders', ['lines', 'orders']],
  ['endpoint 2', 'assets/tables?path=shop/core/orders/', ['lines', 'orders']],
  ['endpoint 2', 'assets/tables?path=shop&path=bi', ['lines', 'orders', 'ordersx']],
  ['endpoint 2', 'assets/tables?path=core', []],
  ['endpoint 2', 'assets/tables?path=shop/core/ord', []],
  ['endpoint 2', 'assets/tables?path=SHOP', []],
  ['endpoint 2', 'assets/tables?path=shop/%25', []],
  ['endpoint 2', 'assets/tables?path=', []],
  ['endpoint 2', 'assets/tables?path=shop//', ['lines', 'orders', 'ordersx']],
  ['endpoint 2', 'assets/tables?path=/shop', []],
  ['endpoint 2', 'assets/tables?db_names=raw&schema_names=other&source_types=fivetran', ['lines']],
  ['endpoint 2', 'assets/tables?db_names=raw&materializations=view', []],
  ['endpoint 6', 'asset-lineage?asset_ids=lines', ['lines > dash', 'orders > lines']],
  ['endpoint 6', 'asset-lineage?asset_ids=dash&asset_ids=thing', ['eph > thing', 'lines > dash']],
  ['endpoint 6', 'asset-lineage?asset_ids=orders&asset_ids=lines', ['eph > orders', 'lines > dash', 'orders > lines']],
  ['endpoint 6', 'asset-lineage?asset_ids=gone', []],
  ['endpoint 7', 'latest-test-executions?sub_test_ids=a&sub_test_ids=c&sub_test_ids=z', ['z', 'x']],
  ['endpoint 7', 'latest-test-executions?test_ids=fresh', ['y', 'x']],
  ['endpoint 7', 'latest-test-executions?asset_ids=orders', ['z']],
  ['endpoint 7', 'latest-test-executions?test_types=freshness', ['y', 'x']],
  ['endpoint 7', 'latest-test-executions?definition_types=generic', ['z']],
  ['endpoint 7', 'latest-test-executions?source_types=acme_cloud', ['y', 'x']],
  ['endpoint 7', 'latest-test-executions?statuses=PASS&statuses=WARN', ['z', 'y']],
  ['endpoint 7', 'latest-test-executions?test_ids=fresh&statuses=WARN', ['y']],
  ['endpoint 7', 'latest-test-executions?disabled=true&asset_ids=orders', ['w']],
  ['endpoint 8', 'tests/unique/executions?sub_test_ids=s2', ['b']],
  ['endpoint 8', 'tests/unique/executions?statuses=FAIL&statuses=ERROR', ['b']],
  ['endpoint 8', 'tests/unique/executions?statuses=PASS&sub_test_ids=s2', []],
  ['endpoint 9', 'asset-health-scores?asset_ids=orders&asset_ids=dash', ['orders']],
  ['field notes', 'assets?ids=thing&ids=dash&ids=gone', ['dash', 'thing']],
  ['field notes', 'assets?source_types=sigma&source_types=looker', ['dash', 'page']],
  ['field notes', 'assets?tags=pii', ['dash', 'orders']],
  ['field notes', 'assets?path=shop/core/orders&path=bi/', ['dash', 'lines', 'orders']],
  ['field notes', 'assets?tags=pii&source_types=looker', ['dash']],
  ['field notes', 'assets/bi?ids=dash&ids=orders', ['dash']],
  ['field notes', 'assets/bi?source_types=sigma', ['page']],
  ['field notes', 'assets/bi?tags=pii', ['dash']],
  ['field notes', 'assets/bi?bi_platforms=sigma', ['page']],
  ['field notes', 'assets/bi?path=bi', ['dash']],
  ['field notes', 'columns?ids=orders.id&ids=gone.id', ['orders.id']],
  ['field notes', 'columns?asset_ids=orders', ['orders.at', 'orders.id']],
  ['field notes', 'columns?data_types=DATE', ['orders.at']],
  ['field notes', 'columns?asset_ids=lines&data_types=DATE', []],
  ['field notes', 'column-lineage?column_ids=lines.id', ['orders.at > lines.id', 'orders.id > lines.id']],
  ['field notes', 'column-lineage?column_ids=orders.at', []],
  ['field notes', 'column-lineage?asset_ids=orders', ['unseen > orders.id']],
  ['field notes', 'tests?ids=unique&ids=off', ['unique']],
  ['field notes', 'tests?asset_ids=lines', ['fresh']],
  ['field notes', 'tests?test_types=freshness', ['fresh']],
  ['field notes', 'tests?definition_types=generic', ['unique']],
  ['field notes', 'tests?source_types=acme_cloud', ['fresh']],
  ['field notes', 'tests?tags=nightly', ['unique']],
  ['field notes', 'tests?asset_ids=orders&disabled=true', ['off']],
  ...PLAIN_FEEDS.flatMap(filtersOf),
];

/** Each filter of a list of samples, by the value of the first sample. */
function filtersOf(kind: FeedName): (typeof FILTERS)[number][] {
  const { path, serve: endpoint } = entryNamed(kind);
  const valueIn = (id: string, name: string) =>
    Object.entries(SAMPLES[kind](id, 'orders')).find(([field]) => field === name)?.[1];
  return Object.entries(endpoint === false ? {} : endpoint.filters).map(([name, filter]) => {
    if (filter.by !== 'field') throw new Error(`write a case for the filter ${name} of ${kind} above`);
    const value = valueIn(`${kind} 1`, filter.field);
    const found = samplesOf(kind).filter((id) => valueIn(id, filter.field) === value);
    return ['its samples', `${path.join('/')}?${name}=${encodeURIComponent(String(value))}`, found];
  });
}

describe('filters', () => {
  test.each(FILTERS)('a filter returns exactly the matching rows (%s): %s', async (_, path, found) => {
    expect(await keys(path)).toEqual(found);
    expect((await all(`e/${path}&limit=1`)).items.map(keyOf)).toEqual(found);
  });

  test('each filter of each list is covered by these tests', () => {
    const tried = FILTERS.map(([, path]) => path.split('&')[0]?.split('=')[0]);
    const given = LISTINGS.flatMap(({ entry, filters }) =>
      Object.keys(filters).map((name) => `${entry.path.join('/').replace('{id}', 'unique')}?${name}`),
    );
    expect(tried).toEqual(expect.arrayContaining(given));
  });
});

describe('lists', () => {
  test.each([
    [
      'live table assets, including ephemeral models (endpoint 2)',
      'assets/tables',
      ['eph', 'lines', 'orders', 'ordersx'],
    ],
    [
      'live assets of every kind (field notes)',
      'assets',
      ['dash', 'eph', 'lines', 'meaning', 'orders', 'ordersx', 'page', 'thing', 'untyped'],
    ],
    ['live BI assets (field notes)', 'assets/bi', ['dash', 'page']],
    ['live columns (field notes)', 'columns', ['lines.id', 'orders.at', 'orders.id']],
    [
      'edges between two visible assets, including ephemeral models (endpoint 6)',
      'asset-lineage',
      ['eph > orders', 'eph > thing', 'lines > dash', 'orders > lines'],
    ],
    [
      'edges into live columns, even from columns that no reader sees (field notes)',
      'column-lineage',
      ['orders.at > lines.id', 'orders.id > lines.id', 'unseen > orders.id'],
    ],
    ['enabled tests by default (field notes)', 'tests', ['fresh', 'unique']],
    ['enabled tests with disabled=false (field notes)', 'tests?disabled=false', ['fresh', 'unique']],
    ['disabled tests with disabled=true (field notes)', 'tests?disabled=true', ['off']],
    [
      'latest executions of enabled live tests by default, by sub-test and not by id (endpoint 7)',
      'latest-test-executions',
      ['z', 'y', 'x', 'u'],
    ],
    [
      'latest executions of enabled live tests with disabled=false (endpoint 7)',
      'latest-test-executions?disabled=false',
      ['z', 'y', 'x', 'u'],
    ],
    [
      'latest executions of disabled tests with disabled=true (endpoint 7)',
      'latest-test-executions?disabled=true',
      ['w'],
    ],
    [
      'latest executions by sub-test with order_by=id (endpoint 7)',
      'latest-test-executions?order_by=id&direction=desc',
      ['u', 'x', 'y', 'z'],
    ],
    [
      'latest executions by time with order_by=synced_at (endpoint 7)',
      'latest-test-executions?order_by=synced_at',
      ['u', 'y', 'x', 'z'],
    ],
    ['scores of the last 7 days, by asset_id (endpoint 9)', 'asset-health-scores', ['lines', 'orders']],
  ])('a list has exactly the %s: %s', async (_, path, found) => {
    expect(await keys(path)).toEqual(found);
  });

  test('dimensions without a result in the last 7 days are omitted (endpoint 9)', async () => {
    expect(await one('asset-health-scores/orders')).toEqual({
      asset_id: 'orders',
      total: { score: 0.5, test_count: 2, bucket_at: NOW },
      dimensions: [
        { dimension: 'accuracy', score: 0.5, test_count: 2, bucket_at: WEEK_AGO },
        { dimension: 'validity', score: 0.5, test_count: 2, bucket_at: NOW },
      ],
    });
  });
});

describe('the executions of a test (endpoint 8)', () => {
  const WHOLE = ['now', 'b', 'a', '30 days', 'over 30 days', '90 days'];

  test.each([
    [
      'the default is the last 30 days to the microsecond, newest first, equal times by id',
      '',
      ['now', 'b', 'a', '30 days'],
    ],
    ['start_time_from reaches back 90 days to the microsecond', 'start_time_from=2020-01-01T00:00:00Z', WHOLE],
    ['a bound exactly 90 days old is not moved', 'start_time_from=2026-08-22T12:00:00Z', WHOLE],
    ['start_time_from is inclusive', 'start_time_from=2026-11-01T00:00:00Z', ['now', 'b', 'a']],
    ['start_time_from is exact to the microsecond', 'start_time_from=2026-11-01T00:00:00.000001Z', ['now']],
    ['start_time_to is inclusive', 'start_time_to=2026-11-01T00:00:00Z', ['b', 'a', '30 days']],
    ['start_time_to is exact to the microsecond', 'start_time_to=2026-10-31T23:59:59.999999Z', ['30 days']],
    ['start_time_to alone keeps the default of 30 days', 'start_time_to=2026-10-21T12:00:00Z', ['30 days']],
    [
      'both bounds together select a window',
      'start_time_from=2026-10-01T00:00:00Z&start_time_to=2026-11-01T00:00:00Z',
      ['b', 'a', '30 days', 'over 30 days'],
    ],
    ['a window that ends before it begins is empty', 'start_time_to=2026-10-01T00:00:00Z', []],
    ['bounds without a zone are UTC', 'start_time_from=2026-11-01T00:00:00', ['now', 'b', 'a']],
    ['bounds in another time zone are converted', 'start_time_from=2026-11-01T02:00:00%2B02:00', ['now', 'b', 'a']],
    ['order_by start_time is the default', 'order_by=start_time&direction=desc', ['now', 'b', 'a', '30 days']],
    ['direction asc reverses the order', 'direction=asc', ['30 days', 'a', 'b', 'now']],
    ['order_by id is descending by default', 'order_by=id', ['now', 'b', 'a', '30 days']],
    ['order_by id with direction asc is ascending', 'order_by=id&direction=asc', ['30 days', 'a', 'b', 'now']],
  ])('%s: %s', async (_, query, found) => {
    expect(await keys(`tests/unique/executions?${query}`)).toEqual(found);
    expect(await keys(`tests/unique/executions?${query}&limit=1`)).toEqual(found);
  });

  test('the list of a missing test is 404, of a test that never ran empty', async () => {
    expect((await get('e/tests/gone/executions')).status).toBe(404);
    expect((await get('e/tests/nothing/executions')).status).toBe(404);
    expect((await get('e/tests/off/executions')).body).toMatchObject({ items: [], has_more: false });
  });
});

test('a table asset whose typed stream was not read yet is listed only in the generic list', async () => {
  expect(asset('untyped', { kind: 'table' })).not.toHaveProperty('db_name');
  expect(await keys('assets?ids=untyped')).toEqual(['untyped']);
  expect(await keys('assets/tables?ids=untyped')).toEqual([]);
});
