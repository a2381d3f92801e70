import { describe, expect, test } from 'vitest';
import { assets } from '../../schema/assets.ts';
import { assetDetail } from '../../src/page-data/asset-detail.ts';
import { searchAssets } from '../../src/page-data/search-assets.ts';
import { asset, insert } from '../server/fixture.ts';
import { mirrorOf, reportOf } from './setup.ts';

const NO_TABLE = { db_name: null, schema_name: null, table_name: null };

const WORLD = [
  asset('model.shop.dim_orders', { name: 'dim_orders', path: 'models/marts', ...NO_TABLE }),
  asset('1', { name: 'the orders', path: 'x', db_name: 'analytics', schema_name: 'marts', table_name: 'Dim_Orders' }),
  asset('2', { name: 'Orders', path: 'x', ...NO_TABLE }),
  asset('3', { name: 'orders_daily', path: 'x', ...NO_TABLE }),
  asset('4', { name: 'customers', path: 'orders/x', ...NO_TABLE }),
  asset('5', { name: '100%', path: '[a-c]*?', ...NO_TABLE }),
  asset('6', { name: 'Überweisungen', path: 'x', ...NO_TABLE }),
  asset('7', { name: 'Aberweisungen', path: 'ÜBER/x', ...NO_TABLE }),
  asset('8', { name: 'Straße', path: null, ...NO_TABLE }),
  asset('9', { name: null, path: 'no name, no order', ...NO_TABLE }),
  asset('10', { name: '😀 orders', path: 'x', ...NO_TABLE }),
  asset('11', { name: 'x'.repeat(9), path: 'x', db_name: null, schema_name: 'marts', table_name: null }),
];

/** The results of a search in a mirror and in a report of the same assets. */
function searchIn(rows: readonly (typeof assets.$inferInsert)[]) {
  const { seen } = mirrorOf(({ db }) => {
    for (const row of rows) insert(db, assets, row);
  });
  const answers = rows.map(({ id }) => ({
    ...{ name: 'asset', env: 'e', parameters: { id } },
    data: seen((scope) => assetDetail(scope, { id })),
  }));
  const ask = reportOf(answers);
  const ofMirror = (text: string) => seen((scope) => searchAssets(scope, { q: text }));
  return { ofMirror, ofReport: (q: string) => ask('search', { q }) };
}

describe('the asset search', () => {
  const { ofMirror, ofReport } = searchIn(WORLD);

  test.each([
    ['orders', ['2', '3', '10', 'model.shop.dim_orders', '1', '4']],
    ['ORDERS ', ['2', '3', '10', 'model.shop.dim_orders', '1', '4']],
    ['model.shop.dim_orders', ['model.shop.dim_orders']],
    ['Analytics.marts.dim_orders', ['1']],
    ['marts.dim', ['1']],
    ['dim_orders', ['model.shop.dim_orders', '1']],
    ['überweisungen', ['6']],
    ['ÜBER', ['6', '7']],
    ['straße', ['8']],
    ['strasse', []],
    ['no order', ['9']],
    ['_', ['model.shop.dim_orders', '3', '1']],
    ['%', ['5']],
    ['[a-c]', ['5']],
    ['*?', ['5']],
    ['\\', []],
    ['', []],
    [' ', []],
  ])(
    'the text %j is found in names, ids, qualified names and paths, alike in a mirror and in a report',
    async (text, ids) => {
      expect(ofMirror(text).rows.map(({ id }) => id)).toEqual(ids);
      expect((await ofReport(text))?.rows.map(({ id }) => id)).toEqual(ids);
    },
  );

  test.each([
    [50, false],
    [51, true],
  ])('of %i matches, a mirror and a report return the same first 50, and cut is %s', async (count, cut) => {
    const ids = Array.from({ length: count }, (_, i) => `orders ${String(i).padStart(2, '0')}`);
    const many = searchIn(ids.map((id) => asset(id)));
    for (const found of [many.ofMirror('orders'), await many.ofReport('orders')])
      expect([found?.rows.map(({ id }) => id), found?.cut]).toEqual([ids.slice(0, 50), cut]);
  });
});
