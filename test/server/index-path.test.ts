import { describe, expect, test } from 'vitest';
import { assets, columnLineage, columns } from '../../schema/assets.ts';
import { tests } from '../../schema/data-tests.ts';
import { type Principal, rootToken } from '../../src/server/access.ts';
import { indexPathOf, SCAN_WINDOW_ROWS } from '../../src/server/index-path.ts';
import { LISTINGS } from '../../src/server/listings.ts';
import { openMirrorReads } from '../../src/server/mirror-reads.ts';
import type { RequestedPage } from '../../src/server/parameters.ts';
import { pageValues } from '../../src/server/statement.ts';
import { cacheVisibleAssets } from '../../src/server/visibility.ts';
import { asset, bearer, column, columnEdge, insert, insertMany, NOW, restricted, serve, test_ } from './fixture.ts';

const { reader: ALL } = rootToken('all', 'secret');
const sees = (name: string, ...assetIds: string[]): Principal => ({ ...ALL, name, assetIds });
const KEYS = [rootToken('all', 'secret'), ...['few', 'many'].map((id) => restricted(id, { assetIds: [id] }))];

/** One asset has as many columns, edges into them and executions as a scan window; another asset has two of each. */
const { mirror, writing, all, get } = serve(
  (file) => {
    const { db } = file;
    const many = (table: string, values: Readonly<Record<string, string>>) =>
      insertMany(file, table, SCAN_WINDOW_ROWS, values);
    insert(db, assets, [asset('few'), asset('many')]);
    many('columns', { id: "printf('m%05d', i)", asset_id: "'many'", name: "'n'" });
    insert(db, columns, [column('a', { asset_id: 'few' }), column('z', { asset_id: 'few' })]);
    many('column_lineage', { upstream_column_id: "printf('m%05d', i)", downstream_column_id: "printf('m%05d', i)" });
    insert(db, columnLineage, columnEdge('x', 'a'), columnEdge('x', 'z'));
    insert(db, tests, [test_('tf', { asset_id: 'few' }), test_('tm', { asset_id: 'many' })]);
    const run = { sub_type: "'n'", status: "'PASS'", start_time: "'2026'", duration_seconds: '1' };
    const id = "iif(i < 3, 'f', 'm') || printf('%05d', i)";
    many('latest_test_executions', { id, sub_test_unique_id: id, test_id: "iif(i < 3, 'tf', 'tm')", ...run });
  },
  { keys: () => KEYS },
);

function leads(name: string, { by = ALL, ...more }: Partial<RequestedPage> & { by?: Principal }): boolean {
  const listing = LISTINGS.find(({ entry }) => entry.name === name);
  if (listing === undefined) throw new Error(name);
  const page: RequestedPage = {
    listing,
    reader: by,
    serverTime: NOW,
    place: { env: 'e', id: null, one: null },
    position: null,
    limit: 1,
    order: 'id',
    descending: false,
    filters: {},
    feed: null,
    disabled: false,
    window: null,
    ...more,
  };
  return openMirrorReads(mirror).read((view) => {
    cacheVisibleAssets(view, by, 'e');
    return indexPathOf(view, page, pageValues(page)) !== null;
  });
}

const FEW = { filters: { asset_ids: ['few'] } };
const MANY = { filters: { asset_ids: ['few', 'many'] } };

describe('the index path to the rows of a page', () => {
  test.each(['columns', 'column_lineage'])(
    'it finds %s by filter values if there are fewer than a scan window',
    (name) => {
      expect([leads(name, FEW), leads(name, MANY)]).toEqual([true, false]);
    },
  );

  test.each(['columns', 'column_lineage'])(
    'it finds %s by the assets of a token if there are fewer than a scan window',
    (name) => {
      expect([leads(name, { by: sees('few', 'few') }), leads(name, { by: sees('many', 'many') })]).toEqual([
        true,
        false,
      ]);
    },
  );

  test('it is used up to one row less than a scan window', () => {
    const change = (asset: string) =>
      writing.connection.prepare("update columns set asset_id = ? where id = 'm00001'").run(asset);
    change('other');
    expect(leads('columns', { filters: { asset_ids: ['many'] } })).toBe(true);
    change('many');
    expect(leads('columns', { filters: { asset_ids: ['many'] } })).toBe(false);
  });

  test('the rows read at each step count as well', () => {
    expect(leads('column_lineage', { filters: { asset_ids: ['many'], column_ids: ['a'] } })).toBe(true);
    expect(leads('latest_test_executions', FEW)).toBe(true);
    expect(leads('latest_test_executions', { filters: { test_ids: ['tm'] } })).toBe(true);
  });

  test('it is found for one filter even if another has many values', () => {
    expect(leads('columns', { filters: { asset_ids: ['many'], ids: ['a'] } })).toBe(true);
  });

  test('it is never used for a feed, which is read by time', () => {
    const feed = { of: 'synced', since: NOW } as const;
    expect([leads('columns', { ...FEW, feed }), leads('columns', { by: sees('few', 'few'), feed })]).toEqual([
      false,
      false,
    ]);
  });
});

describe('a page with and without an index path', () => {
  test.each<[string, string, string]>([
    ['columns', 'id', 'a z'],
    ['column-lineage', 'downstream_column_id', 'a z'],
    ['latest-test-executions', 'id', 'f00001 f00002'],
  ])('both return the same rows of %s', async (list, id, found) => {
    const idsOf = (items: readonly Record<string, unknown>[]) => items.map((item) => item[id]).join(' ');
    const few = await all(`e/${list}?asset_ids=few`);
    expect(idsOf(few.items)).toBe(found);
    expect((await all(`e/${list}`, bearer('few'))).items).toEqual(few.items);
    const both = await get(`e/${list}?asset_ids=few&asset_ids=many&limit=3`);
    expect(both.body.items).toEqual((await get(`e/${list}?limit=3`)).body.items);
    expect(both.body.items).toHaveLength(3);
    const many = await get(`e/${list}?asset_ids=many&limit=3`);
    expect((await get(`e/${list}?limit=3`, bearer('many'))).body.items).toEqual(many.body.items);
    expect(idsOf(many.body.items)).toMatch(/^m\d+ m\d+ m\d+$/);
  });

  test.each(['columns', 'column-lineage'])('both return the same rows of the feed of %s', async (list) => {
    const feed = `e/${list}?synced_since=2026-11-01T00:00:00Z`;
    const found = (await all(`${feed}&asset_ids=few`)).items;
    expect(found).toHaveLength(2);
    expect((await all(feed, bearer('few'))).items).toEqual(found);
  });
});
