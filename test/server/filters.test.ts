import { expect, test } from 'vitest';
import { assetLineage, assets, columns } from '../../schema/assets.ts';
import { latestTestExecutions, testExecutions, tests } from '../../schema/tests.ts';
import { asset, column, idsOf, NOW, run, serve, test_ } from './fixture.ts';

test('values of one parameter are any-of, different parameters combine', async () => {
  const { all } = serve(({ db }) =>
    db
      .insert(assets)
      .values([asset('a'), asset('b', { source_type: 'looker', kind: 'bi' }), asset('c', { source_type: 'looker' })])
      .run(),
  );
  expect(idsOf((await all('e/assets?ids=a&ids=b')).items)).toEqual(['a', 'b']);
  expect(idsOf((await all('e/assets?ids=a&ids=b&source_types=looker')).items)).toEqual(['b']);
  expect(idsOf((await all('e/assets?ids=none')).items)).toEqual([]);
});

test('typed lists show their own kind alone', async () => {
  const { all } = serve(({ db }) =>
    db
      .insert(assets)
      .values([asset('t'), asset('b', { kind: 'bi', bi_platform: 'looker' }), asset('o', { kind: 'odd' })])
      .run(),
  );
  expect(idsOf((await all('e/assets')).items)).toEqual(['b', 'o', 't']);
  expect(idsOf((await all('e/assets/tables')).items)).toEqual(['t']);
  expect(idsOf((await all('e/assets/bi?bi_platforms=looker')).items)).toEqual(['b']);
  expect(idsOf((await all('e/assets/bi?bi_platforms=sigma')).items)).toEqual([]);
});

test('tags match any tag of a row', async () => {
  const { all } = serve(({ db }) =>
    db
      .insert(assets)
      .values([
        asset('a', { tags: '["pii","daily"]' }),
        asset('b', { tags: '[]' }),
        asset('c'),
        asset('d', { tags: '["x"]' }),
      ])
      .run(),
  );
  expect(idsOf((await all('e/assets?tags=daily&tags=x')).items)).toEqual(['a', 'd']);
});

test('path matches itself and what is nested under it, never a longer name', async () => {
  const { all } = serve(({ db }) =>
    db
      .insert(assets)
      .values([asset('a', { path: 'm/x' }), asset('b', { path: 'm/x/y' }), asset('c', { path: 'm/xy' }), asset('d')])
      .run(),
  );
  expect(idsOf((await all('e/assets?path=m/x')).items)).toEqual(['a', 'b']);
  expect(idsOf((await all('e/assets?path=m/x/&path=nowhere')).items)).toEqual(['a', 'b']);
  expect(idsOf((await all('e/assets?path=m/%25')).items)).toEqual([]);
});

test('table assets are found by database, schema and materialization', async () => {
  const { all } = serve(({ db }) =>
    db
      .insert(assets)
      .values([
        asset('a', { db_name: 'raw', schema_name: 's', materialization: 'view' }),
        asset('b', { db_name: 'raw' }),
      ])
      .run(),
  );
  expect(idsOf((await all('e/assets/tables?db_names=raw')).items)).toEqual(['a', 'b']);
  expect(idsOf((await all('e/assets/tables?db_names=raw&schema_names=s&materializations=view')).items)).toEqual(['a']);
});

test('columns are found by asset and type', async () => {
  const { all } = serve(({ db }) =>
    db
      .insert(columns)
      .values([column('1'), column('2', { asset_id: 'b', data_type: 'DATE' })])
      .run(),
  );
  expect(idsOf((await all('e/columns?asset_ids=b')).items)).toEqual(['2']);
  expect(idsOf((await all('e/columns?data_types=DATE')).items)).toEqual(['2']);
});

test('asset edges are found by either end, and shown only between live assets', async () => {
  const edge = (up: string, down: string) => ({
    env_id: 'e',
    upstream_asset_id: up,
    downstream_asset_id: down,
    mirrored_at: NOW,
  });
  const { all } = serve(({ db }) => {
    db.insert(assets)
      .values([asset('a'), asset('b'), asset('c'), asset('dead', { deleted_at: NOW })])
      .run();
    db.insert(assetLineage)
      .values([edge('a', 'b'), edge('b', 'c'), edge('c', 'a'), edge('a', 'dead'), edge('unseen', 'a')])
      .run();
  });
  expect((await all('e/asset-lineage')).items).toHaveLength(3);
  expect((await all('e/asset-lineage?asset_ids=b')).items).toEqual([
    { upstream_asset_id: 'a', downstream_asset_id: 'b' },
    { upstream_asset_id: 'b', downstream_asset_id: 'c' },
  ]);
});

test('latest executions are found by sub-test, status and what their test is', async () => {
  const { all } = serve(({ db }) => {
    db.insert(tests)
      .values([
        test_('t', { asset_id: 'a' }),
        test_('u', { test_type: 'freshness', source_type: 'hosted', definition_type: 'monitor' }),
      ])
      .run();
    db.insert(latestTestExecutions)
      .values([run('1'), run('2', { test_id: 'u', status: 'FAIL' })])
      .run();
  });
  const found = async (query: string) => idsOf((await all(`e/latest-test-executions?${query}`)).items);
  expect(await found('sub_test_ids=sub%201')).toEqual(['1']);
  expect(await found('test_ids=u')).toEqual(['2']);
  expect(await found('asset_ids=a')).toEqual(['1']);
  expect(await found('test_types=freshness&source_types=hosted&definition_types=monitor')).toEqual(['2']);
  expect(await found('statuses=FAIL&statuses=WARN')).toEqual(['2']);
});

test('latest executions of disabled tests are shown apart, those of deleted tests never', async () => {
  const { all } = serve(({ db }) => {
    db.insert(tests)
      .values([test_('on'), test_('off', { disabled: 1 }), test_('dead', { disabled: 1, deleted_at: NOW })])
      .run();
    db.insert(latestTestExecutions)
      .values(['on', 'off', 'dead', 'unseen'].map((test_id) => run(test_id, { test_id })))
      .run();
  });
  expect(idsOf((await all('e/latest-test-executions')).items)).toEqual(['on', 'unseen']);
  expect(idsOf((await all('e/latest-test-executions?disabled=true')).items)).toEqual(['off']);
});

test('runs of a test go back 30 days unless asked, and 90 at most', async () => {
  const at = (day: string) => run(day, { start_time: `2026-${day}T00:00:00.000000Z` });
  const { all } = serve(({ db }) => {
    db.insert(tests)
      .values([test_('t'), test_('other')])
      .run();
    db.insert(testExecutions)
      .values([at('11-19'), at('11-01'), at('10-01'), at('08-01'), run('else', { test_id: 'other' })])
      .run();
  });
  const found = async (query: string) => idsOf((await all(`e/tests/t/executions?${query}`)).items);
  expect(await found('')).toEqual(['11-19', '11-01']);
  expect(await found('start_time_from=2020-01-01T00:00:00Z')).toEqual(['11-19', '11-01', '10-01']);
  expect(await found('start_time_from=2026-11-01T00:00:00Z&start_time_to=2026-11-01T00:00:00Z')).toEqual(['11-01']);
  expect(await found('direction=asc')).toEqual(['11-01', '11-19']);
  expect(await found('sub_test_ids=sub%2011-19&statuses=PASS')).toEqual(['11-19']);
  expect(await found('statuses=FAIL')).toEqual([]);
});

test('a thousand values are taken, one more is not', async () => {
  const { get } = serve(({ db }) => db.insert(assets).values(asset('a0')).run());
  const query = (count: number) => Array.from({ length: count }, (_, i) => `ids=a${i}`).join('&');
  expect((await get(`e/assets?${query(1000)}`)).body.items).toHaveLength(1);
  expect((await get(`e/assets?${query(1001)}`)).status).toBe(422);
});
