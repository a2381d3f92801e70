import { describe, expect, test } from 'vitest';
import { assetLineage, assets, columnLineage, columns } from '../../schema/assets.ts';
import { latestTestExecutions, testExecutions, tests } from '../../schema/data-tests.ts';
import { assetHealthScores } from '../../schema/health.ts';
import { rootToken } from '../../src/server/access.ts';
import { SCAN_WINDOW_ROWS } from '../../src/server/index-path.ts';
import { entryNamed, PLAIN_FEEDS } from '../support/catalogue.ts';
import {
  asset,
  assetEdge,
  bearer,
  column,
  columnEdge,
  insert,
  insertMany,
  insertSample,
  NOW,
  restricted,
  run,
  serve,
  test_,
} from './fixture.ts';

const at = (day: number) => `2026-11-${String(day).padStart(2, '0')}T00:00:00.000000Z`;
const upTo = (count: number) => Array.from({ length: count }, (_, i) => i);
const stamped = { env_id: 'e', mirrored_at: NOW };
const SEEN = ['a1', 'a2', 'a9'];
const KEYS = [
  rootToken('all', 'secret'),
  restricted('few', { assetIds: SEEN }),
  restricted('many', { assetIds: [...SEEN, ...upTo(1000).map((i) => `unknown ${i}`)] }),
];

/** Ten rows of each kind, spread over assets of which a token sees three. Pairs of rows have equal times. */
const { all } = serve(
  (writing) => {
    const { db } = writing;
    const ten = upTo(10);
    const deleted = (i: number) => (i % 4 === 1 ? { deleted_at: at(1 + (i >> 1)) } : {});
    insert(
      db,
      assets,
      ...ten.map((i) => asset(`a${i}`, { mirrored_at: at(1 + (i >> 1)), ...(i === 9 ? deleted(i) : {}) })),
    );
    const owned = (i: number) => ({ asset_id: `a${i % 4}`, mirrored_at: at(1 + (i >> 1)), ...deleted(i) });
    insert(db, columns, ...ten.map((i) => column(`c${i}`, owned(i))));
    insert(db, tests, ...ten.map((i) => test_(`t${i}`, { ...owned(i), disabled: i % 3 === 2 ? 1 : 0 })));
    for (const kind of PLAIN_FEEDS) for (const i of ten) insertSample(writing, kind, `${kind}${i}`, owned(i));
    insert(db, assetLineage, ...ten.flatMap((i) => [i + 1, i].map((n) => assetEdge(`a${i}`, `a${n % 10}`))));
    insert(db, columnLineage, ...ten.flatMap((i) => ['c', 'x'].map((up) => columnEdge(up + i, `c${(i * 3) % 10}`))));
    insert(
      db,
      latestTestExecutions,
      ...ten.map((i) => ({
        ...run(`e${i}`, { test_id: `t${i}`, status: i % 2 === 0 ? 'PASS' : 'FAIL' }),
        synced_at: i % 3 === 0 ? null : at(1 + (i >> 1)),
      })),
    );
    insert(
      db,
      testExecutions,
      ...ten.map((i) => run(`e${i}`, { test_id: 't0', start_time: at(1 + (i >> 1)), sub_test_unique_id: 's' })),
    );
    insert(
      db,
      assetHealthScores,
      ...ten.map((i) => ({ ...stamped, asset_id: `a${i}`, score: 1, test_count: 1, bucket_at: NOW })),
    );
  },
  { keys: () => KEYS },
);

const LISTS = [
  'assets',
  'assets?ids=a1&ids=a3',
  'assets/tables?schema_names=s',
  'columns',
  'columns?asset_ids=a1&asset_ids=a3',
  'tests',
  'tests?disabled=true',
  'asset-lineage',
  'asset-lineage?asset_ids=a1&asset_ids=a2',
  'column-lineage',
  'column-lineage?asset_ids=a1&asset_ids=a2',
  'column-lineage?column_ids=c0&column_ids=c3',
  'latest-test-executions',
  'latest-test-executions?asset_ids=a1&asset_ids=a2',
  'latest-test-executions?test_types=unique',
  'latest-test-executions?disabled=true',
  'asset-health-scores',
  ...PLAIN_FEEDS.map((kind) => entryNamed(kind).path.join('/')),
];
const FEEDLESS = /lineage\b(?<!column-lineage)|executions|scores|disabled/;
/** The others have only one order. */
const isSorted = (list: string) => !/asset-lineage|scores/.test(list);
const and = (list: string, query: string) => `e/${list}${list.includes('?') ? '&' : '?'}${query}`;

/** Every way to page through a list. */
const waysThrough = (list: string): string[] => {
  const sorted = isSorted(list) ? ['order_by=synced_at', 'order_by=synced_at&direction=desc'] : [];
  const feeds = FEEDLESS.test(list) ? [] : [`synced_since=${at(2)}`, `deleted_since=${at(2)}`];
  const falling = feeds.map((feed) => `${feed}&direction=desc`);
  return ['limit=500', 'direction=desc', ...sorted, ...feeds, ...falling].map((query) => and(list, query));
};

describe('a list read through each access path', () => {
  test.each(LISTS.flatMap(waysThrough))(
    'pages show each row once, in the order of the whole list, however many assets a token lists: %s',
    async (path) => {
      const [one, few] = [path.includes('limit=500') ? path.replace('500', '1') : `${path}&limit=1`, bearer('few')];
      for (const token of [bearer('secret'), few]) {
        const whole = await all(path, token);
        expect((await all(one, token)).items).toEqual(whole.items);
        expect(whole.pages).toBe(1);
      }
      expect((await all(path, bearer('many'))).items).toEqual((await all(path, few)).items);
    },
  );

  test.each(LISTS)('both directions return the same rows: %s', async (list) => {
    for (const order of isSorted(list) ? ['id', 'synced_at'] : ['id']) {
      const { items } = await all(and(list, `order_by=${order}`));
      expect((await all(and(list, `order_by=${order}&direction=desc`))).items).toEqual(items.toReversed());
      expect(items).not.toEqual([]);
    }
  });

  test.each(LISTS.filter((list) => !FEEDLESS.test(list)))(
    'both directions of a feed return the same rows: %s',
    async (list) => {
      const { items } = await all(and(list, `synced_since=${at(2)}`));
      expect((await all(and(list, `synced_since=${at(2)}&direction=desc`))).items).toEqual(items.toReversed());
      expect(items).not.toEqual([]);
    },
  );

  test('an edge between two filtered assets is returned once', async () => {
    const { items } = await all('e/asset-lineage?asset_ids=a1&asset_ids=a2&limit=1');
    expect(items.map(({ upstream_asset_id: up, downstream_asset_id: down }) => `${up} ${down}`)).toEqual([
      'a0 a1',
      'a1 a1',
      'a1 a2',
      'a2 a2',
      'a2 a3',
    ]);
  });

  test.each(['asc', 'desc'])('both bounds of a window apply to every page: %s', async (direction) => {
    const window = `start_time_from=${at(2)}&start_time_to=${at(4)}`;
    for (const order of ['start_time', 'id']) {
      const { items } = await all(`e/tests/t0/executions?limit=1&${window}&order_by=${order}&direction=${direction}`);
      const ids = ['e2', 'e3', 'e4', 'e5', 'e6', 'e7'];
      expect(items.map(({ id }) => id)).toEqual(direction === 'asc' ? ids : ids.toReversed());
    }
  });
});

describe('column lineage by time if few of many columns have edges', () => {
  const { get, all: everything } = serve((file) => {
    const many = { id: "printf('c%06d', i)", asset_id: "'a'", name: "'n'", mirrored_at: `'${at(10)}'` };
    insertMany(file, 'columns', SCAN_WINDOW_ROWS + 1, many);
    const last = `c${String(SCAN_WINDOW_ROWS + 1).padStart(6, '0')}`;
    insert(file.db, columnLineage, columnEdge('x', 'c000001'), columnEdge('y', 'c000001'), columnEdge('z', last));
  });

  test.each([
    ['order_by=synced_at', 'x y z'],
    ['order_by=synced_at&direction=desc', 'z y x'],
    [`synced_since=${at(10)}`, 'x y z'],
  ])(
    'no page reads more columns than a scan window, and all pages return every edge once: %s',
    async (query, shown) => {
      const { items, pages } = await everything(`e/column-lineage?${query}`);
      expect(items.map((edge) => edge['upstream_column_id']).join(' ')).toBe(shown);
      expect(pages).toBe(2);
      const first = await get(`e/column-lineage?${query}&limit=1`);
      expect(first.body).toMatchObject({ has_more: true });
    },
  );
});
