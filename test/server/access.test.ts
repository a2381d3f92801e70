import { describe, expect, test } from 'vitest';
import { assets, columns } from '../../schema/assets.ts';
import { SCAN_WINDOW_ROWS } from '../../src/server/index-path.ts';
import { type CollectionListing, LISTINGS } from '../../src/server/listings.ts';
import { VIEW_SCOPES } from '../../src/streams/endpoint.ts';
import { entryNamed, PLAIN_FEEDS } from '../support/catalogue.ts';
import { fillEstate, isVisible, MINE } from './access-world.ts';
import { asset, bearer, column, idsOf, insert, insertMany, restricted, serve } from './fixture.ts';
import { expectRefusal } from './refusal.ts';

const KEYS = [
  restricted('all', {}),
  restricted('f', { environments: new Set(['f', 'not there']) }),
  restricted('nowhere', { environments: new Set() }),
  restricted('scopeless', { scopes: new Set() }),
  ...VIEW_SCOPES.map((scope) => restricted(scope, { scopes: new Set([scope]) })),
  restricted('ids', { assetIds: MINE }),
  restricted('paths', { paths: ['team/'] }),
  restricted('both', { assetIds: ['mine', 'gone mine', 'other', 'pathless', 'not there'], paths: ['team', 'nowhere'] }),
  restricted('nothing', { assetIds: [] }),
  restricted('pathless', { paths: [] }),
];

/** The restricted tokens and the assets they see. */
const RESTRICTED: Readonly<Record<string, readonly string[]>> = {
  ids: MINE,
  paths: MINE,
  both: ['mine', 'gone mine'],
  nothing: [],
  pathless: [],
};

const FEEDS = ['synced_since=2026-11-01T00:00:00Z', 'deleted_since=2026-11-01T00:00:00Z'];

/** The path of a list. For a collection below a test, that of the test on `mine`. */
const listPath = ({ entry }: CollectionListing, parent = 'mine:test') =>
  `e/${entry.path.map((segment) => segment.replace('{id}', encodeURIComponent(parent))).join('/')}`;

/** A query for rows of both visible and hidden assets, if the list has such a filter. */
const someOf = ({ filters }: CollectionListing): string[] => {
  const name = ['asset_ids', 'ids'].find((one) => one in filters);
  return name === undefined
    ? []
    : [['mine', 'mine odd', 'mine dash', 'other', 'other dash'].map(among(name)).join('&')];
};

const among = (name: string) => (id: string) => `${name}=${encodeURIComponent(id)}`;

const queriesOf = (listing: CollectionListing): string[] => ['', ...someOf(listing), ...optionsOf(listing)];

const optionsOf = ({ feedClock, disabled }: CollectionListing): string[] => [
  ...(feedClock === undefined ? [] : FEEDS),
  ...(disabled === undefined ? [] : ['disabled=true']),
];

/** The path of a single item. */
const onePath = (listing: CollectionListing, item: Record<string, unknown>, parent?: string) =>
  `${listPath(listing, parent)}/${encodeURIComponent(String(item[listing.one?.by.replace('r.', '') ?? '']))}`;

const ENDPOINTS = LISTINGS.flatMap((listing) => [
  { path: listPath(listing), scope: listing.entry.serve.scope },
  ...(listing.one === undefined ? [] : [{ path: `${listPath(listing)}/any`, scope: listing.entry.serve.scope }]),
]).concat({ path: 'e/asset-health-scores/aggregate', scope: 'assets' });

const served = serve(fillEstate, { keys: () => KEYS });
const { get, all } = served;

/** Unrestricted readers see these items. */
const everything = async (listing: CollectionListing, query: string, parent?: string) =>
  (await all(`${listPath(listing, parent)}?${query}`, bearer('all'))).items;

describe('the environments of a token (authentication rule 5)', () => {
  test('the list of environments returns only those of the token', async () => {
    expect(idsOf((await get('environments', bearer('all'))).body)).toEqual(['e', 'f']);
    expect(idsOf((await get('environments', bearer('f'))).body)).toEqual(['f']);
    expect((await get('environments', bearer('nowhere'))).body).toEqual([]);
  });

  test.each(ENDPOINTS)('a token of other environments gets 403: $path', async ({ path }) => {
    expectRefusal(await get(path, bearer('f')), 403, 'permission_denied');
    expect((await get(path.replace('e/', 'f/'), bearer('f'))).status).not.toBe(403);
  });

  test('403 does not reveal whether the environment exists', async () => {
    const [there, not] = [await get('e/assets', bearer('f')), await get('zz/assets', bearer('f'))];
    expect(not.status).toBe(403);
    expect(JSON.stringify(not.body).replace('zz', 'e')).toBe(JSON.stringify(there.body));
    expect((await get('not%20there/assets', bearer('f'))).status).toBe(404);
  });
});

describe('the scopes of a token (authentication rule 5)', () => {
  test.each(ENDPOINTS)('a token needs exactly this scope, else 403: $path', async (endpoint) => {
    const { path, scope } = endpoint;
    const [other = ''] = VIEW_SCOPES.filter((one) => one !== scope);
    for (const name of ['scopeless', other]) expectRefusal(await get(path, bearer(name)), 403, 'permission_denied');
    expect([200, 404]).toContain((await get(path, bearer(scope))).status);
  });

  test('assets, columns, lineage, scores and the aggregate need "assets", tests and executions "tests"', () => {
    const others = PLAIN_FEEDS.map((name) => `e/${entryNamed(name).path.join('/')}`);
    const known = ENDPOINTS.filter(({ path }) => !others.some((other) => path.startsWith(other)));
    const needing = (scope: string) => known.filter((one) => one.scope === scope).map(({ path }) => path);
    expect(needing('tests').every((path) => path.includes('test'))).toBe(true);
    expect(needing('assets').some((path) => path.includes('test'))).toBe(false);
  });

  test('the environment list needs no scope', async () => {
    expect((await get('environments', bearer('scopeless'))).status).toBe(200);
  });
});

describe('the assets of a restricted token (authentication rule 6)', () => {
  const cases = LISTINGS.filter(({ parent }) => parent === undefined).flatMap((listing) =>
    queriesOf(listing).map((query) => ({ listing, query, path: `${listPath(listing)}?${query}` })),
  );

  test.each(cases)('lists leave out rows of hidden assets: $path', async ({ listing, query }) => {
    const items = await everything(listing, query);
    expect(items.some((item) => isVisible(listing, item, MINE))).toBe(true);
    expect(items.every((item) => isVisible(listing, item, MINE))).toBe(false);
    for (const [name, names] of Object.entries(RESTRICTED)) {
      const visible = items.filter((item) => isVisible(listing, item, names));
      for (const limit of [1, 2000]) {
        const shown = await all(`${listPath(listing)}?${query}&limit=${limit}`, bearer(name));
        expect([name, shown.items]).toEqual([name, visible]);
      }
    }
  });

  const ones = LISTINGS.filter(({ one, parent }) => one !== undefined && parent === undefined);

  test.each(ones)(
    'a get-one of a hidden item is the same 404 as for one that never existed: $describe',
    async (listing) => {
      const items = await everything(listing, '');
      const nonexistent = { id: 'zz', asset_id: 'zz', sub_test_unique_id: 'zz' };
      for (const [name, names] of Object.entries(RESTRICTED)) {
        const never = await get(onePath(listing, nonexistent), bearer(name));
        expect([never.status, never.body.error.code]).toEqual([404, 'not_found']);
        for (const item of items) {
          const { status, body } = await get(onePath(listing, item), bearer(name));
          if (isVisible(listing, item, names)) expect([status, body]).toEqual([200, item]);
          else {
            expect(status).toBe(404);
            const id = decodeURIComponent(onePath(listing, item).split('/').at(-1) ?? '');
            expect(body.error.message.replace(id, 'zz')).toBe(never.body.error.message);
          }
        }
      }
    },
  );

  const below = LISTINGS.filter(({ parent }) => parent !== undefined);

  test.each(below)('a hidden test and its rows answer 404: $describe', async (listing) => {
    for (const parent of ['mine:test', 'mine:off', 'other:test', 'assetless:test', 'unseen:test']) {
      const isMine = parent.startsWith('mine');
      const list = await get(listPath(listing, parent), bearer('ids'));
      const one = await get(onePath(listing, { id: `${parent}:1` }, parent), bearer('ids'));
      expect([parent, list.status, one.status]).toEqual([parent, isMine ? 200 : 404, isMine ? 200 : 404]);
      if (!isMine) {
        const never = await get(onePath(listing, { id: 'zz' }, 'zz'), bearer('ids'));
        expect([list.body, one.body].map((body) => body.error.message.replace(parent, 'zz'))).toEqual([
          never.body.error.message,
          never.body.error.message,
        ]);
      }
    }
    expect((await get(listPath(listing, 'assetless:test'), bearer('all'))).status).toBe(200);
  });

  test('a request for a hidden asset by id returns an empty list', async () => {
    const paths = [
      'assets?ids=other',
      'columns?asset_ids=other',
      'tests?asset_ids=other',
      'asset-lineage?asset_ids=other',
    ];
    const more = ['column-lineage?asset_ids=other', 'latest-test-executions?asset_ids=other'];
    for (const path of [...paths, ...more, 'asset-health-scores?asset_ids=other'])
      expect((await get(`e/${path}`, bearer('paths'))).body).toEqual({ items: [], has_more: false, next_cursor: null });
  });

  test('a hidden upstream column shows only its id', async () => {
    const { items } = await all('e/column-lineage?column_ids=mine:col', bearer('paths'));
    expect(items).toContainEqual({ upstream_column_id: 'other:col', downstream_column_id: 'mine:col' });
    expect((await get('e/columns/other%3Acol', bearer('paths'))).status).toBe(404);
  });

  test('the aggregate counts only visible table assets and rejects other ids', async () => {
    const card = 'e/asset-health-scores/aggregate';
    const counts = async (name: string) => {
      const { matched_count, total } = (await get(card, bearer(name))).body;
      return [matched_count, total.test_count];
    };
    expect(await counts('all')).toEqual([4, 4]);
    expect(await counts('ids')).toEqual([2, 2]);
    expect(await counts('paths')).toEqual([2, 2]);
    expect(await counts('both')).toEqual([1, 1]);
    expect(await counts('nothing')).toEqual([0, 0]);
    const { status, body } = await get(`${card}?ids=mine&ids=other&ids=zz`, bearer('ids'));
    expect([status, body.error.message]).toEqual([400, 'Not table assets: other, zz']);
  });
});

describe('cursors of restricted tokens', () => {
  test('no cursor reveals the id of a row', async () => {
    let cursor = '';
    do {
      const { body } = await get(`e/columns?limit=1${cursor && `&cursor=${cursor}`}`, bearer('ids'));
      cursor = body.next_cursor ?? '';
      for (const encoding of ['base64url', 'hex', 'latin1'] as const)
        expect(Buffer.from(cursor, encoding).toString('latin1')).not.toMatch(/mine:|other:|:col/);
    } while (cursor !== '');
  });

  test('a token with another token’s cursor still sees only its own rows', async () => {
    const { body } = await get('e/columns?limit=1&direction=desc', bearer('all'));
    const { items } = await all(`e/columns?limit=1&direction=desc`, bearer('ids'));
    const next = await get(`e/columns?limit=1&direction=desc&cursor=${body.next_cursor}`, bearer('ids'));
    expect(body.items[0].id).toBe('pathless:col');
    expect(next.body.items).toEqual(items.slice(0, 1));
  });
});

describe('paging through few visible rows among many', () => {
  const MANY = SCAN_WINDOW_ROWS + 5000;
  const number = (i: number) => `n${String(i).padStart(6, '0')}`;
  const visible = [0, 1, SCAN_WINDOW_ROWS - 1, SCAN_WINDOW_ROWS, SCAN_WINDOW_ROWS + 1, MANY - 1].map(number);
  const { get: getMany, all: allMany } = serve(
    (file) => {
      const { db } = file;
      insertMany(file, 'columns', MANY, { id: "printf('n%06d', i - 1)", asset_id: "'hidden'", name: "'c'" });
      const seen = file.connection.prepare("update columns set asset_id = 'seen' where env_id = 'e' and id = ?");
      for (const id of visible) seen.run(id);
      insert(db, assets, [asset('seen', { path: 'team/x' }), asset('hidden', { path: 'teams' })]);
      insert(db, columns, column('elsewhere', { env_id: 'f', asset_id: 'seen' }));
    },
    {
      keys: () => [
        restricted('by-path', { paths: ['team'] }),
        restricted('by-id', { assetIds: ['seen'] }),
        restricted('by-very-many-ids', { assetIds: ['seen', ...Array.from({ length: 2000 }, (_, i) => `a${i}`)] }),
      ],
    },
  );

  test.each(['', '&direction=desc', '&order_by=synced_at', '&synced_since=2026-11-01T00:00:00Z'])(
    'paging ends despite short and empty pages, and returns each visible row once: limit=2%s (pagination rule 2)',
    async (query) => {
      for (const name of ['by-path', 'by-id', 'by-very-many-ids']) {
        const { items } = await allMany(`e/columns?limit=2${query}`, bearer(name));
        expect(idsOf(items)).toEqual(query.includes('desc') ? visible.toReversed() : visible);
      }
    },
  );

  test('a page without rows in its window reports more, with a cursor that reveals no row (pagination rule 2)', async () => {
    const first = await getMany('e/columns?limit=2000', bearer('by-very-many-ids'));
    expect([idsOf(first.body.items), first.body.has_more]).toEqual([visible.slice(0, 3), true]);
    const second = await getMany(`e/columns?limit=2000&cursor=${first.body.next_cursor}`, bearer('by-very-many-ids'));
    expect([idsOf(second.body.items), second.body.has_more]).toEqual([visible.slice(3), false]);
    const empty = await getMany('e/columns?limit=1&data_types=none', bearer('by-very-many-ids'));
    expect(empty.body).toMatchObject({ items: [], has_more: true });
    const { next_cursor } = empty.body;
    expect(Buffer.from(next_cursor, 'base64url').toString('latin1')).not.toContain(number(SCAN_WINDOW_ROWS - 1));
    expect((await allMany('e/columns?limit=1&data_types=none', bearer('by-very-many-ids'))).items).toEqual([]);
  });
});
