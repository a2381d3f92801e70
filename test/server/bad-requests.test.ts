import { describe, expect, test } from 'vitest';
import { assets } from '../../schema/assets.ts';
import { asset, idsOf, insert, serve } from './fixture.ts';
import { expectRefusal, serveSmallWorld } from './refusal.ts';

const { get } = serveSmallWorld();

const many = (name: string, count: number) => Array.from({ length: count }, (_, i) => `${name}=v${i}`).join('&');
const BOTH = 'synced_since=2026-11-02T00:00:00Z&deleted_since=2026-11-02T00:00:00Z';
const SINCE = 'synced_since=2026-11-02T00:00:00Z';
const RUNS = 'e/tests/t/executions';
const CARD = 'e/asset-health-scores/aggregate';

describe('an invalid value', () => {
  test.each<[path: string, named: string]>([
    ['e/assets?limit=0', 'limit'],
    ['e/assets?limit=-1', 'limit'],
    ['e/assets/tables?limit=2001', 'limit'],
    ['e/columns?limit=1.5', 'limit'],
    ['e/tests?limit=ten', 'limit'],
    ['e/assets/bi?limit=', 'limit'],
    ['e/asset-health-scores?limit=1e9', 'limit'],
    ['e/column-lineage?limit=NaN', 'limit'],
    ['e/assets?limit=Infinity', 'limit'],
    ['e/assets?limit=1e999', 'limit'],
    ['e/assets?limit=0x10', 'limit'],
    ['e/assets?limit=1e2', 'limit'],
    ['e/assets?limit=%205', 'limit'],
    ['e/assets?limit=%2B5', 'limit'],
    ['e/assets?limit=5.0', 'limit'],
    ['e/assets?limit=99999999999999999999', 'limit'],
    ['e/asset-lineage?order_by=synced_at', 'order_by'],
    ['e/tests?disabled=yes', 'disabled'],
    ['e/assets?order_by=', 'order_by'],
    ['e/latest-test-executions?order_by=start_time', 'order_by'],
    [`${RUNS}?order_by=synced_at`, 'order_by'],
    ['e/assets?direction=ASC', 'direction'],
    ['e/assets?direction=asc&direction=desc', 'direction'],
    ['e/assets?synced_since=yesterday', 'synced_since'],
    ['e/assets?synced_since=', 'synced_since'],
    ['e/assets?synced_since=2026-11-20', 'synced_since'],
    ['e/assets?synced_since=1763640000', 'synced_since'],
    [`e/assets?${SINCE}&${SINCE}`, 'synced_since'],
    ['e/columns?deleted_since=2026-13-01T00:00:00Z', 'deleted_since'],
    ['e/tests?deleted_since=2026-02-29T00:00:00Z', 'deleted_since'],
    [`${RUNS}?start_time_from=2026-11-20T25:00:00Z`, 'start_time_from'],
    [`${RUNS}?start_time_to=now`, 'start_time_to'],
    ['e/tests?disabled=', 'disabled'],
    ['e/latest-test-executions?disabled=true&disabled=false', 'disabled'],
    [`e/assets?${many('ids', 1001)}`, 'ids'],
  ])('it is 422 invalid_request, and the message names the parameter: %s', async (path, named) => {
    expect(expectRefusal(await get(path), 422, 'invalid_request')).toContain(named);
  });

  test('a thousand values of one parameter are accepted (shared parameters)', async () => {
    for (const path of ['e/assets', 'e/asset-lineage'])
      expect((await get(`${path}?${many(path === 'e/assets' ? 'ids' : 'asset_ids', 1000)}`)).status).toBe(200);
  });
});

describe('an unknown parameter', () => {
  test.each([
    ['e/assets', 'nonsense=1', 'nonsense', 'use ids, source_types, tags, path, '],
    ['e/assets', '__proto__=1', '__proto__', 'use ids'],
    ['e/assets', 'constructor=1', 'constructor', 'use ids'],
    ['e/assets', 'ids[]=a&ids[]=b', 'ids[]', 'did you mean ids?'],
    ['e/assets', 'ids[0]=a', 'ids[0]', 'did you mean ids?'],
    ['e/assets', 'IDS=a', 'IDS', 'did you mean ids?'],
    ['e/assets', 'Limit=1', 'Limit', 'did you mean limit?'],
    ['e/assets', 'tag=pii', 'tag', 'did you mean tags?'],
    ['e/assets/tables', 'source_type[]=dbt', 'source_type[]', 'did you mean source_types?'],
    ['e/assets', 'db_names=nothing', 'db_names', 'use ids'],
    ['e/assets', 'disabled=true', 'disabled', 'use ids'],
    ['environments', 'limit=0', 'limit', 'none is accepted here'],
    ['e/assets/a', 'limit=ten', 'limit', 'none is accepted here'],
    [CARD, 'asset_ids=nothing', 'asset_ids', 'use ids'],
    ['e/asset-lineage', SINCE, 'synced_since', 'use asset_ids'],
    [RUNS, SINCE, 'synced_since', 'use sub_test_ids'],
  ])('it is 422, and the message names it and what is accepted: %s?%s', async (path, query, name, meant) => {
    const message = expectRefusal(await get(`${path}?${query}`), 422, 'invalid_request');
    expect(message).toMatch(/^Unknown parameter /);
    for (const said of [name, meant]) expect(message).toContain(said);
  });

  test('it is quoted in part, and its value is not, which may be a token', async () => {
    const message = expectRefusal(await get(`e/assets?limit=1&${'x'.repeat(1000)}=a-secret`), 422, 'invalid_request');
    expect(message).toContain(`${'x'.repeat(100)}: use`);
    expect(message).not.toContain('a-secret');
  });
});

test.each([
  ['limit=1&limit=2', 'limit is given more than once: give it once'],
  ['disabled=true&disabled=false', 'disabled is given more than once: give it once'],
  ['synced_since=2026-11-01T00:00:00+00:00', 'synced_since has a space where its time zone begins: send + as %2B'],
  ['synced_since=2026-11-01%2000:00:00+02', 'synced_since has a space where its time zone begins: send + as %2B'],
  ['synced_since=2026-11-01T00:00:00+later', 'synced_since must be an ISO 8601 date-time'],
])('the message says what is wrong with %s', async (query, message) => {
  expect(expectRefusal(await get(`e/tests?${query}`), 422, 'invalid_request')).toBe(message);
});

describe('the spellings of a boolean', () => {
  test.each([
    ['true', ['off']],
    ['True', ['off']],
    ['TRUE', ['off']],
    ['1', ['off']],
    ['false', ['t', 'u']],
    ['False', ['t', 'u']],
    ['0', ['t', 'u']],
  ])('disabled=%s is accepted', async (text, ids) => {
    expect(idsOf((await get(`e/tests?disabled=${text}`)).body.items)).toEqual(ids);
  });
});

test.each(['e/assets', 'e/asset-lineage', RUNS, 'e/asset-health-scores', `e/tests?${SINCE}`])(
  'an empty cursor returns the first page: %s',
  async (path) => {
    const join = path.includes('?') ? '&' : '?';
    const [first, same] = [await get(`${path}${join}limit=1`), await get(`${path}${join}limit=1&cursor=`)];
    expect(same).toMatchObject({ status: 200, body: first.body });
  },
);

test('a cursor is valid with another limit', async () => {
  const { next_cursor } = (await get('e/assets?limit=1')).body;
  expect(idsOf((await get(`e/assets?limit=2&cursor=${next_cursor}`)).body.items)).toEqual(['b', 'bi']);
  expect(idsOf((await get(`e/assets?cursor=${next_cursor}`)).body.items)).toEqual(['b', 'bi']);
});

describe('both feeds in one request', () => {
  test.each(['assets', 'assets/tables', 'assets/bi', 'columns', 'column-lineage', 'tests'])(
    'they are 400 invalid_request: %s',
    async (path) => {
      expectRefusal(await get(`e/${path}?${BOTH}`), 400, 'invalid_request');
    },
  );
});

describe('ids in the aggregate that are not table assets', () => {
  test.each([
    ['ids=nothing', 'Not table assets: nothing'],
    ['ids=a&ids=bi&ids=gone&ids=bi', 'Not table assets: bi, gone'],
    ['ids=%27%3B--&ids=a', "Not table assets: ';--"],
  ])('they are 400, and the message lists them: %s', async (query, said) => {
    expect(expectRefusal(await get(`${CARD}?${query}`), 400, 'invalid_request')).toBe(said);
  });
});

describe('a cursor that does not belong to the request (pagination rule 3)', () => {
  const ISSUED = 'e/assets?limit=1&ids=a&ids=b&source_types=dbt';

  test.each([
    ['another filter value', 'e/assets?limit=1&ids=a&source_types=dbt'],
    ['another filter', 'e/assets?limit=1&ids=a&ids=b'],
    ['the same values in another order', 'e/assets?limit=1&ids=b&ids=a&source_types=dbt'],
    ['another direction', 'e/assets?limit=1&ids=a&ids=b&source_types=dbt&direction=desc'],
    ['another order', 'e/assets?limit=1&ids=a&ids=b&source_types=dbt&order_by=synced_at'],
    ['a feed', `e/assets?limit=1&ids=a&ids=b&source_types=dbt&${SINCE}`],
    ['another endpoint', 'e/assets/tables?limit=1&ids=a&ids=b&source_types=dbt'],
    ['another collection', 'e/tests?limit=1&ids=a&ids=b&source_types=dbt'],
    ['another environment', 'f/assets?limit=1&ids=a&ids=b&source_types=dbt'],
  ])('a cursor used with %s is 400 invalid_cursor', async (_, path) => {
    const { next_cursor } = (await get(ISSUED)).body;
    expect((await get(`${ISSUED}&cursor=${next_cursor}`)).body.items).toMatchObject([{ id: 'b' }]);
    expectRefusal(await get(`${path}&cursor=${next_cursor}`), 400, 'invalid_cursor');
  });

  test('a cursor used for the executions of another test is 400 invalid_cursor', async () => {
    const { next_cursor } = (await get(`${RUNS}?limit=1`)).body;
    expectRefusal(await get(`e/tests/u/executions?limit=1&cursor=${next_cursor}`), 400, 'invalid_cursor');
  });

  test('a cursor used for a feed since another time, or the other feed, is 400 invalid_cursor', async () => {
    const { next_cursor } = (await get('e/columns?limit=1&synced_since=2026-11-01T00:00:00Z')).body;
    for (const query of ['synced_since=2026-11-01T00:00:01Z', 'deleted_since=2026-11-01T00:00:00Z'])
      expectRefusal(await get(`e/columns?limit=1&${query}&cursor=${next_cursor}`), 400, 'invalid_cursor');
  });

  test.each([
    ['words', () => 'nonsense'],
    ['short', () => 'AAAA'],
    ['a NUL', () => '%00'],
    ['long', () => 'a'.repeat(300)],
    ['SQL', () => encodeURIComponent("' or 1=1 --")],
    ['a position in plain sight', () => Buffer.from('["a"]').toString('base64url')],
    ['cut short', (cursor: string) => cursor.slice(0, -1)],
    ['longer', (cursor: string) => `${cursor}A`],
    ['padded', (cursor: string) => `${cursor}%3D`],
    ['in lower case', (cursor: string) => cursor.toLowerCase()],
    ['with its first character changed', (cursor: string) => `${cursor.startsWith('A') ? 'B' : 'A'}${cursor.slice(1)}`],
    [
      'with its last character changed',
      (cursor: string) => `${cursor.slice(0, -1)}${cursor.endsWith('A') ? 'Q' : 'A'}`,
    ],
  ])('a garbled cursor is 400 invalid_cursor: %s', async (_, garble) => {
    const { next_cursor } = (await get('e/assets?limit=1')).body;
    expectRefusal(await get(`e/assets?limit=1&cursor=${garble(next_cursor)}`), 400, 'invalid_cursor');
  });

  test('a cursor of another mirror is 400 invalid_cursor', async () => {
    const other = serve(({ db }) => {
      insert(db, assets, [asset('a'), asset('b')]);
    });
    const { next_cursor } = (await other.get('e/assets?limit=1')).body;
    expectRefusal(await get(`e/assets?limit=1&cursor=${next_cursor}`), 400, 'invalid_cursor');
  });
});
