import { describe, expect, test } from 'vitest';
import { assets, columnLineage, columns } from '../../schema/assets.ts';
import { tests } from '../../schema/data-tests.ts';
import { tableNamed } from '../../src/destination/sql/tables.ts';
import { LISTINGS } from '../../src/server/listings.ts';
import { entryNamed, FEED_TABLES, PLAIN_FEEDS } from '../support/catalogue.ts';
import { asset, column, columnEdge, idsOf, insert, insertSample, serve, test_ } from './fixture.ts';

const gone = (deleted_at: string) => ({ deleted_at, deletion: 'tombstone' as const });
const BI = { bi_platform: 'looker', bi_type: 'look' };
const day = (of: string) => `2026-${of}T00:00:00.000000Z`;

describe('the feeds of a list', () => {
  const { all } = serve(({ db }) => {
    const rows = [
      asset('before', { synced_at: day('11-01') }),
      asset('at', { synced_at: day('11-02') }),
      asset('after', { synced_at: day('11-03') }),
      asset('gone before', { ...gone(day('11-01')), synced_at: day('11-03') }),
      asset('gone at', gone(day('11-02'))),
      asset('gone after', { ...gone(day('11-03')), deletion: 'absent' }),
    ];
    insert(db, assets, rows);
  });

  test('synced_since is inclusive and returns only live rows, by time (feed rule 1)', async () => {
    const { items } = await all('e/assets?synced_since=2026-11-02T00:00:00Z');
    expect(idsOf(items)).toEqual(['at', 'after']);
    expect(items.some((item) => 'deleted_at' in item)).toBe(false);
  });

  test('deleted_since is inclusive and returns only deleted rows, by time of deletion (feed rule 1)', async () => {
    const { items } = await all('e/assets?deleted_since=2026-11-02T00:00:00Z&limit=1');
    expect(items.map(({ id, deleted_at }) => [id, deleted_at])).toEqual([
      ['gone at', day('11-02')],
      ['gone after', day('11-03')],
    ]);
  });

  test('without a feed the list is the full current snapshot, without deleted rows or deleted_at (feed rule 3)', async () => {
    const { items } = await all('e/assets');
    expect(idsOf(items)).toEqual(['after', 'at', 'before']);
    expect(items.some((item) => 'deleted_at' in item)).toBe(false);
  });

  test('bounds are compared as instants, whatever their time zone and precision (field notes)', async () => {
    const same = ['2026-11-02T00:00:00', '2026-11-02T01:00:00%2B01:00', '2026-11-01T23:59:59.999999900Z'];
    for (const since of same)
      expect(idsOf((await all(`e/assets?synced_since=${since}`)).items)).toEqual(['at', 'after']);
    expect(idsOf((await all('e/assets?synced_since=2026-11-02T00:00:00.000001Z')).items)).toEqual(['after']);
  });

  test('a feed ignores order_by (field notes)', async () => {
    const { items } = await all('e/assets?synced_since=2026-11-01T00:00:00Z&order_by=id&limit=1');
    expect(idsOf(items)).toEqual(['before', 'at', 'after']);
  });

  test.each(['', '&limit=1', '&limit=2'])(
    'direction=desc reverses a feed, down to its bound%s (endpoint 2)',
    async (more) => {
      const { items } = await all(`e/assets?synced_since=2026-11-02T00:00:00Z&direction=desc${more}`);
      expect(idsOf(items)).toEqual(['after', 'at']);
    },
  );

  test('filters apply in feeds', async () => {
    expect(idsOf((await all('e/assets?deleted_since=2026-11-01T00:00:00Z&ids=gone%20at&ids=at')).items)).toEqual([
      'gone at',
    ]);
  });
});

/** Exactly 90 days before the mirror's clock, and a microsecond earlier. */
const OLDEST = '2026-08-22T12:00:00.000000Z';
const OLDER = '2026-08-22T11:59:59.999999Z';

describe('the feeds of all lists', () => {
  const { all } = serve((writing) => {
    const { db } = writing;
    const times = { oldest: OLDEST, older: OLDER, late: day('11-19') };
    const rows = Object.entries(times).flatMap(([name, mirrored_at]) => [
      { id: name, mirrored_at },
      { id: `gone ${name}`, mirrored_at, deleted_at: day('01-01'), deletion: 'tombstone' as const },
    ]);
    // All were synced and deleted long before they reached the mirror.
    const stale = (row: (typeof rows)[number]) => ({ ...row, synced_at: day('01-01') });
    const unheard = { env_id: 'e', id: 'unheard of', ...gone(day('11-19')), mirrored_at: day('11-19') };
    insert(db, assets, ...rows.map((row) => asset(row.id, { ...stale(row), ...BI })));
    insert(
      db,
      assets,
      ...rows.map((row) => ({ ...asset(`bi ${row.id}`, { ...stale(row), ...BI, id: `bi ${row.id}` }), kind: 'bi' })),
    );
    insert(db, columns, ...rows.map((row) => column(row.id, stale(row))));
    insert(db, tests, ...rows.map((row) => test_(row.id, stale(row))));
    for (const kind of PLAIN_FEEDS) for (const row of rows) insertSample(writing, kind, row.id, stale(row));
    for (const table of FEED_TABLES.map(tableNamed)) insert(db, table, unheard);
    insert(db, columnLineage, ...rows.map(({ id }) => columnEdge('up', id)));
  });
  const lists = LISTINGS.filter(({ feedClock }) => feedClock !== undefined).map(({ entry }) => entry.path.join('/'));
  const namesOf = (items: Record<string, unknown>[]) =>
    items.map(({ id, downstream_column_id }) => String(id ?? downstream_column_id).replace(/^bi /, ''));
  const found = async (path: string) => [...new Set(namesOf((await all(path)).items))];

  test('assets of all kinds, columns, their lineage and tests have feeds (feed rules)', () => {
    const known = ['assets', 'assets/tables', 'assets/bi', 'columns', 'tests', 'column-lineage'];
    const others = PLAIN_FEEDS.map((name) => entryNamed(name).path.join('/'));
    expect(lists.toSorted()).toEqual([...known, ...others].sort());
  });

  test.each(lists)(
    'a bound older than 90 days is moved to 90 days ago, to the microsecond (feed rule 2): %s',
    async (path) => {
      for (const since of ['2020-01-01T00:00:00Z', '0001-01-01T00:00:00Z', OLDER, OLDEST]) {
        expect(await found(`e/${path}?synced_since=${since}`)).toEqual(['oldest', 'late']);
        expect(await found(`e/${path}?deleted_since=${since}`)).toEqual(['gone oldest', 'gone late']);
        expect(await found(`e/${path}?synced_since=${since}&limit=1`)).toEqual(['oldest', 'late']);
      }
      expect(await found(`e/${path}?synced_since=2026-08-22T12:00:00.000001Z`)).toEqual(['late']);
      expect(await found(`e/${path}?deleted_since=2026-08-22T12:00:00.000001Z`)).toEqual(['gone late']);
      expect(await found(`e/${path}?synced_since=2027-01-01T00:00:00Z`)).toEqual([]);
    },
  );

  test.each(lists.filter((path) => path !== 'column-lineage'))(
    'synced_at and deleted_at are served as the time at which the mirror wrote the row: %s',
    async (path) => {
      const live = (await all(`e/${path}?synced_since=${day('11-01')}`)).items;
      expect(live.map(({ synced_at }) => synced_at)).toEqual(live.map(() => day('11-19')));
      const dead = (await all(`e/${path}?deleted_since=${day('11-01')}`)).items;
      expect(dead.map(({ deleted_at }) => deleted_at)).toEqual(dead.map(() => day('11-19')));
      expect([live.length, dead.length].every((count) => count > 0)).toBe(true);
    },
  );

  test.each(['synced_since', 'deleted_since'])('typed feeds return only their own kind: %s', async (feed) => {
    const idsIn = async (path: string) => idsOf((await all(`e/assets/${path}?${feed}=${day('11-01')}`)).items);
    const name = feed === 'synced_since' ? 'late' : 'gone late';
    expect([await idsIn('tables'), await idsIn('bi')]).toEqual([[name], [`bi ${name}`]]);
  });

  test.each(lists)('a row never seen alive lacks required fields and is in no feed: %s', async (path) => {
    for (const feed of ['synced_since', 'deleted_since'])
      expect(await found(`e/${path}?${feed}=${day('11-01')}`)).not.toContain('unheard of');
  });
});

describe('the feeds of tests', () => {
  test('a feed returns enabled and disabled tests whatever the parameter disabled says (field notes)', async () => {
    const { all } = serve(({ db }) => insert(db, tests, [test_('on'), test_('off', { disabled: 1 })]));
    for (const query of ['', '&disabled=true', '&disabled=false']) {
      expect(idsOf((await all(`e/tests?synced_since=2026-11-01T00:00:00Z${query}`)).items)).toEqual(['off', 'on']);
    }
  });
});

describe('the feeds of column lineage', () => {
  const served = () =>
    serve(({ db }) => {
      const rows = [
        column('old', { synced_at: day('11-01') }),
        column('new', { synced_at: day('11-05'), asset_id: 'b' }),
        column('dead', gone(day('11-05'))),
      ];
      insert(db, columns, rows);
      insert(db, columnLineage, [
        columnEdge('new', 'old'),
        columnEdge('unseen', 'new'),
        columnEdge('old', 'new'),
        columnEdge('old', 'dead'),
      ]);
    });

  test('the upserts feed has the times of the downstream columns (field notes)', async () => {
    const { items } = await served().all('e/column-lineage?synced_since=2026-11-02T00:00:00Z&limit=1');
    expect(items).toEqual([
      { upstream_column_id: 'old', downstream_column_id: 'new' },
      { upstream_column_id: 'unseen', downstream_column_id: 'new' },
    ]);
  });

  test('the tombstones feed has the times of the downstream columns (field notes)', async () => {
    const { items } = await served().all('e/column-lineage?deleted_since=2026-11-02T00:00:00Z');
    expect(items).toEqual([{ upstream_column_id: 'old', downstream_column_id: 'dead' }]);
  });
});
