import { describe, expect, test } from 'vitest';
import { assetLineage, assets, columnLineage, columns } from '../../schema/assets.ts';
import { testExecutions, tests } from '../../schema/data-tests.ts';
import { LISTINGS } from '../../src/server/listings.ts';
import { asset, assetEdge, column, columnEdge, idsOf, insert, run, serve, test_ } from './fixture.ts';
import { fillWorld } from './specification-world.ts';

const numbered = (count: number) => Array.from({ length: count }, (_, i) => `a${String(i).padStart(2, '0')}`);

describe('paging', () => {
  const times = [null, '2026-11-01T00:00:00.000000Z', '2026-11-02T00:00:00.000000Z'];
  const rows = numbered(23).map((id, i) => asset(id, { synced_at: times[i % 3] ?? null }));
  const { all: allNumbered, get: getNumbered } = serve(({ db }) => insert(db, assets, rows));

  test.each([
    '',
    '&direction=desc',
    '&order_by=synced_at',
    '&order_by=synced_at&direction=desc',
    '&synced_since=2026-10-01T00:00:00Z',
  ])('pages return every row exactly once, even with equal timestamps, with %s (pagination rule 1)', async (query) => {
    const { items, pages } = await allNumbered(`e/assets?limit=4${query}`);
    expect(idsOf(items).sort()).toEqual(numbered(23));
    expect(pages).toBe(6);
  });

  test('rows are ordered by time, with the id as tiebreaker (pagination rule 4)', async () => {
    const late = { synced_at: '2026-11-05T00:00:00.000000Z' };
    const { all } = serve(({ db }) => insert(db, assets, [asset('b', late), asset('z'), asset('a', late), asset('y')]));
    expect(idsOf((await all('e/assets?order_by=synced_at')).items)).toEqual(['y', 'z', 'a', 'b']);
    expect(idsOf((await all('e/assets?order_by=synced_at&direction=desc')).items)).toEqual(['b', 'a', 'z', 'y']);
    expect(idsOf((await all('e/assets?synced_since=2026-10-01T00:00:00Z&limit=1')).items)).toEqual([
      'y',
      'z',
      'a',
      'b',
    ]);
  });

  test('the last page has no cursor, even when it is full (pagination rule 1)', async () => {
    const { body } = await getNumbered('e/assets?limit=23');
    expect(body).toMatchObject({ has_more: false, next_cursor: null });
    expect(body.items).toHaveLength(23);
  });

  test('edges are paged by both ids (pagination rule 4)', async () => {
    const ids = numbered(5);
    const pairs = ids.flatMap((one) => ids.map((other) => [one, other] as const));
    const { all } = serve(({ db }) => {
      insert(db, assets, ...ids.map((id) => asset(id)));
      insert(db, columns, ...ids.map((id) => column(id)));
      insert(db, assetLineage, ...pairs.map(([up, down]) => assetEdge(up, down)));
      insert(db, columnLineage, ...pairs.map(([up, down]) => columnEdge(up, down)));
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

  test('the runs of one test are paged newest first, across equal start times (pagination rule 4)', async () => {
    const { all } = serve(({ db }) => {
      insert(db, tests, test_('t'));
      insert(
        db,
        testExecutions,
        ...numbered(11).map((id, i) => run(id, { start_time: `2026-11-1${i % 3}T00:00:00.000000Z` })),
      );
    });
    const { items } = await all('e/tests/t/executions?limit=2');
    const starts = items.map(({ start_time }) => start_time as string);
    expect(starts).toEqual([...starts].sort().reverse());
    expect(idsOf(items).sort()).toEqual(numbered(11));
    expect(idsOf((await all('e/tests/t/executions?limit=2&order_by=id&direction=asc')).items)).toEqual(numbered(11));
  });

  test('a page has 500 rows by default and up to 2000 with limit (shared parameters)', async () => {
    const rows = Array.from({ length: 501 }, (_, i) => asset(`a${i}`));
    const { get } = serve(({ db }) => insert(db, assets, rows));
    expect((await get('e/assets')).body.items).toHaveLength(500);
    expect((await get('e/assets?limit=2000')).body.items).toHaveLength(501);
    expect((await get('e/assets?limit=1')).body.items).toHaveLength(1);
  });
});

describe('paging over live data (pagination rule 5)', () => {
  test('rows written between two pages appear in their place, and no other row is repeated or lost', async () => {
    const { get, writing } = serve(({ db }) => insert(db, assets, ...['b', 'd', 'f', 'h'].map((id) => asset(id))));
    const first = (await get('e/assets?limit=2')).body;
    insert(writing.db, assets, [asset('a'), asset('c'), asset('g')]);
    writing.connection.exec("delete from assets where id in ('d', 'f')");
    const second = (await get(`e/assets?limit=2&cursor=${first.next_cursor}`)).body;
    expect([idsOf(first.items), idsOf(second.items), second.has_more]).toEqual([['b', 'd'], ['g', 'h'], false]);
  });
});

describe('the orders of every list', () => {
  const { all } = serve(fillWorld);
  const lists = LISTINGS.map((listing) => ({ ...listing, path: `e/${listing.entry.path.join('/')}` }))
    .map((listing) => ({ ...listing, path: listing.path.replace('{id}', 'unique') }))
    .map((listing) => ({ ...listing, names: Object.keys(listing.orders) }));
  const keysOf = async (path: string) => (await all(path)).items.map((item) => JSON.stringify(item));

  test.each(lists)(
    'desc is the reverse of asc for any page size, and the default is as documented (shared parameters): $path',
    async ({ path, names, direction }) => {
      for (const name of names) {
        const rising = await keysOf(`${path}?order_by=${name}&direction=asc`);
        expect(rising.length).toBeGreaterThan(1);
        expect(new Set(rising).size).toBe(rising.length);
        const falling = rising.toReversed();
        expect(await keysOf(`${path}?order_by=${name}&direction=desc`)).toEqual(falling);
        for (const limit of [1, 2]) {
          expect(await keysOf(`${path}?order_by=${name}&direction=asc&limit=${limit}`)).toEqual(rising);
          expect(await keysOf(`${path}?order_by=${name}&direction=desc&limit=${limit}`)).toEqual(falling);
        }
        expect(await keysOf(`${path}?order_by=${name}`)).toEqual(direction === 'desc' ? falling : rising);
      }
      expect(await keysOf(path)).toEqual(await keysOf(`${path}?order_by=${names[0]}`));
      expect(names.toSorted()).toEqual(ordersOf(path));
    },
  );

  test.each(lists.filter(({ feedClock }) => feedClock === 'r'))(
    'order_by sorts by id, or by the served synced_at and then by id (shared parameters): $path',
    async ({ path }) => {
      const { items } = await all(path);
      expect(idsOf(items)).toEqual(idsOf(items).toSorted());
      const byTime = items.map(({ id, synced_at }) => `${synced_at} ${id}`).toSorted();
      const inTime = (await all(`${path}?order_by=synced_at`)).items;
      expect(inTime.map(({ id, synced_at }) => `${synced_at} ${id}`)).toEqual(byTime);
    },
  );
});

function ordersOf(path: string): string[] {
  if (/asset-lineage|scores/.test(path)) return ['id'];
  return path.endsWith('/executions') ? ['id', 'start_time'] : ['id', 'synced_at'];
}

describe('cursors', () => {
  test('their length does not reveal the row they name, which the reader may not be allowed to see', async () => {
    const ids = ['a', 'b'.repeat(40), `c${'ü'.repeat(50)}`, 'd'];
    const { get } = serve(({ db }) => insert(db, assets, ...ids.map((id) => asset(id))));
    const lengths = new Set<number>();
    for (let cursor = '', i = 0; i < 3; i += 1) {
      cursor = (await get(`e/assets?limit=1&cursor=${cursor}`)).body.next_cursor;
      lengths.add(cursor.length);
    }
    expect(lengths.size).toBe(1);
  });

  const two = () => serve(({ db }) => insert(db, assets, [asset('a'), asset('b')]));

  test('a cursor is valid for the same query with parameters in another order (pagination rule 3)', async () => {
    const { get } = two();
    const cursor = (await get('e/assets?limit=1&direction=desc')).body.next_cursor;
    expect((await get(`e/assets?direction=desc&cursor=${cursor}&limit=1`)).body.items).toMatchObject([{ id: 'a' }]);
  });

  test('cursors work in a mirror without a key, whose migration was interrupted', async () => {
    const { all, writing } = two();
    writing.connection.exec('update mirror set cursor_key = null');
    expect((await all('e/assets?limit=1')).pages).toBe(2);
  });

  test('a cursor remains valid after the server restarts', async () => {
    const { get, restarted } = two();
    const cursor = (await get('e/assets?limit=1')).body.next_cursor;
    const again = await restarted();
    expect((await again(`e/assets?limit=1&cursor=${cursor}`)).body.items).toMatchObject([{ id: 'b' }]);
  });
});
