import { describe, expect, test } from 'vitest';
import { assetLineage, assets, columnLineage, columns, environments } from '../../schema/assets.ts';
import { latestTestExecutions, testExecutions, tests } from '../../schema/tests.ts';
import { asset, column, idsOf, NOW, run, serve, test_ } from './fixture.ts';

const numbered = (count: number) => Array.from({ length: count }, (_, i) => `a${String(i).padStart(2, '0')}`);

describe('paging', () => {
  test.each([
    '',
    '&direction=desc',
    '&order_by=synced_at',
    '&order_by=synced_at&direction=desc',
    '&synced_since=2026-10-01T00:00:00Z',
  ])('shows every row exactly once, equal and missing timestamps included, with %s', async (query) => {
    const times = [null, '2026-11-01T00:00:00.000000Z', '2026-11-02T00:00:00.000000Z'];
    const feed = query.includes('since');
    const rows = numbered(23).map((id, i) => asset(id, { synced_at: times[feed ? 1 + (i % 2) : i % 3] ?? null }));
    const { all } = serve(({ db }) => db.insert(assets).values(rows).run());
    const { items, pages } = await all(`e/assets?limit=4${query}`);
    expect(idsOf(items).sort()).toEqual(numbered(23));
    expect(pages).toBe(6);
  });

  test('orders by time with the key as tiebreaker', async () => {
    const late = { synced_at: '2026-11-05T00:00:00.000000Z' };
    const { all } = serve(({ db }) =>
      db
        .insert(assets)
        .values([asset('b', late), asset('z'), asset('a', late), asset('y')])
        .run(),
    );
    expect(idsOf((await all('e/assets?order_by=synced_at')).items)).toEqual(['y', 'z', 'a', 'b']);
    expect(idsOf((await all('e/assets?order_by=synced_at&direction=desc')).items)).toEqual(['b', 'a', 'z', 'y']);
    expect(idsOf((await all('e/assets?synced_since=2026-10-01T00:00:00Z&limit=1')).items)).toEqual([
      'y',
      'z',
      'a',
      'b',
    ]);
  });

  test('the last page has no cursor, even when it is full', async () => {
    const { get } = serve(({ db }) =>
      db
        .insert(assets)
        .values([asset('a'), asset('b')])
        .run(),
    );
    const { body } = await get('e/assets?limit=2');
    expect(body).toMatchObject({ has_more: false, next_cursor: null });
    expect(body.items).toHaveLength(2);
  });

  test('edges are paged by both ids', async () => {
    const ids = numbered(5);
    const pairs = ids.flatMap((one) => ids.map((other) => [one, other] as const));
    const { all } = serve(({ db }) => {
      db.insert(assets)
        .values(ids.map((id) => asset(id)))
        .run();
      db.insert(columns)
        .values(ids.map((id) => column(id)))
        .run();
      const kept = { env_id: 'e', mirrored_at: NOW };
      db.insert(assetLineage)
        .values(pairs.map(([up, down]) => ({ ...kept, upstream_asset_id: up, downstream_asset_id: down })))
        .run();
      db.insert(columnLineage)
        .values(pairs.map(([up, down]) => ({ ...kept, upstream_column_id: up, downstream_column_id: down })))
        .run();
    });
    for (const path of [
      'e/asset-lineage?limit=3',
      'e/column-lineage?limit=3',
      'e/column-lineage?limit=3&synced_since=2026-11-01T00:00:00Z',
    ]) {
      const seen = (await all(path)).items.map((edge) => JSON.stringify(edge));
      expect(seen).toHaveLength(25);
      expect(new Set(seen).size).toBe(25);
    }
  });

  test('runs of one test are paged, newest first, over equal start times', async () => {
    const { all } = serve(({ db }) => {
      db.insert(tests).values(test_('t')).run();
      db.insert(testExecutions)
        .values(numbered(11).map((id, i) => run(id, { start_time: `2026-11-1${i % 3}T00:00:00.000000Z` })))
        .run();
    });
    const { items } = await all('e/tests/t/executions?limit=2');
    const starts = items.map(({ start_time }) => start_time as string);
    expect(starts).toEqual([...starts].sort().reverse());
    expect(idsOf(items).sort()).toEqual(numbered(11));
    expect(idsOf((await all('e/tests/t/executions?limit=2&order_by=id&direction=asc')).items)).toEqual(numbered(11));
  });

  test('latest executions are paged by sub-test', async () => {
    const { all } = serve(({ db }) =>
      db
        .insert(latestTestExecutions)
        .values(numbered(7).map((id) => run(id)))
        .run(),
    );
    expect((await all('e/latest-test-executions?limit=3')).items).toHaveLength(7);
  });

  test('500 rows make a page unless limit says otherwise', async () => {
    const rows = Array.from({ length: 501 }, (_, i) => asset(`a${i}`));
    const { get } = serve(({ db }) => db.insert(assets).values(rows).run());
    expect((await get('e/assets')).body.items).toHaveLength(500);
    expect((await get('e/assets?limit=2000')).body.items).toHaveLength(501);
  });
});

describe('cursors', () => {
  const two = () =>
    serve(({ db }) =>
      db
        .insert(assets)
        .values([asset('a'), asset('b')])
        .run(),
    );

  test.each([
    'e/assets?limit=2',
    'e/assets?limit=1&ids=a',
    'e/assets?limit=1&direction=desc',
    'e/assets?limit=1&synced_since=2026-11-01T00:00:00Z',
    'e/assets/tables?limit=1',
    'e/columns?limit=1',
  ])('a cursor of another path or query is refused: %s', async (other) => {
    const { get } = two();
    const cursor = (await get('e/assets?limit=1')).body.next_cursor;
    const { status, body } = await get(`${other}&cursor=${cursor}`);
    expect([status, body.error.code]).toEqual([400, 'invalid_cursor']);
  });

  test('a cursor of another environment is refused', async () => {
    const { get } = serve(({ db }) => {
      db.insert(environments).values({ id: 'f', name: 'F', mirrored_at: NOW }).run();
      db.insert(assets)
        .values([asset('a'), asset('b'), asset('a', { env_id: 'f' })])
        .run();
    });
    const cursor = (await get('e/assets?limit=1')).body.next_cursor;
    expect((await get(`f/assets?limit=1&cursor=${cursor}`)).body.error.code).toBe('invalid_cursor');
  });

  test('a cursor is good for the same query with its parameters in another order', async () => {
    const { get } = two();
    const cursor = (await get('e/assets?limit=1&direction=desc')).body.next_cursor;
    expect((await get(`e/assets?direction=desc&cursor=${cursor}&limit=1`)).body.items).toMatchObject([{ id: 'a' }]);
  });

  test.each(['', 'nonsense', 'AAAA', '%00', 'a'.repeat(300)])(
    'a cursor never issued is refused: "%s"',
    async (cursor) => {
      const { status, body } = await two().get(`e/assets?cursor=${cursor}`);
      expect([status, body.error.code]).toEqual([400, 'invalid_cursor']);
    },
  );

  test('a cursor outlives the server that issued it', async () => {
    const { get } = two();
    const cursor = (await get('e/assets?limit=1')).body.next_cursor;
    expect((await two().get(`e/assets?limit=1&cursor=${cursor}`)).body.items).toMatchObject([{ id: 'b' }]);
  });
});
