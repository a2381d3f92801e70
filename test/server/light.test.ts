import { describe, expect, test } from 'vitest';
import { assets, columns } from '../../schema/assets.ts';
import { tests } from '../../schema/data-tests.ts';
import { rootToken } from '../../src/server/access.ts';
import { type EndpointAnswer, openAnswering } from '../../src/server/answers.ts';
import { openMirrorReads } from '../../src/server/mirror-reads.ts';
import { asset, column, insert, insertMany, NOW, serve, test_ } from './fixture.ts';

const { reader: ALL } = rootToken('all', 'secret');
const DEFAULTS = { limit: 3, order_by: 'id', direction: 'asc', disabled: false };
const options = { weights: new Map() };

/** Both ways to answer over a new file. */
function open(fill: Parameters<typeof serve>[0]) {
  const { mirror, writing } = serve(fill);
  const answering = openAnswering({ store: openMirrorReads(mirror, 'ab'.repeat(32)), ...options });
  const asking = (operationId: string, query: object, more: object = {}) => ({
    operationId,
    reader: ALL,
    params: { env_id: 'e', ...more },
    query: { ...DEFAULTS, ...query },
  });
  return {
    writing,
    light: (operationId: string, query: object = {}, more: object = {}) =>
      answering.answerLightly(asking(operationId, query, more)),
    any: (operationId: string, query: object = {}) => answering.answer(asking(operationId, query)),
    by: (reader: typeof ALL, operationId: string) => answering.answerLightly({ ...asking(operationId, {}), reader }),
  };
}

const bodyOf = (answer: EndpointAnswer | null) =>
  answer !== null && 'body' in answer ? JSON.parse(String(answer.body)) : answer;

const ODD = ['a "b" \\ c', 'ünï ✓ 😀', 'line\nbreak\ttab', '\u0001\u007f\u2028', '', '{"not":"json"}', '%41 &amp; <b>'];

describe('a page that is read by the key alone is answered at once, as a thread would answer it', () => {
  const { light, any } = open(({ db }) => {
    const tags = ['["a", "b"]', '[]', '[1.50, null, {"x":"ü"}]', '[12345678901234567890]'];
    insert(db, assets, [
      ...ODD.map((text, i) => asset(`t${i}${text}`, { description: text, tags: tags[i % tags.length] ?? null })),
      asset('bi', { kind: 'bi', owners: '["o"]', url: 'https://bi.test' }),
      asset('gone', { deleted_at: NOW }),
      { ...asset('typed later'), data_platform: null },
    ]);
    insert(db, columns, [
      ...ODD.map((text, i) => column(`c${i}${text}`, { name: text, data_type: i % 2 === 0 ? text : null })),
      column('gone', { deleted_at: NOW }),
    ]);
    insert(db, tests, [
      ...ODD.map((text, i) => test_(`t${i}`, { asset_id: text, config: `{"n":null,"t":${JSON.stringify(text)}}` })),
      test_('off', { disabled: 1 }),
      test_('bare', { severity: 'x', config: null, tags: null }),
    ]);
  });

  test.each(
    ['listAssets', 'listTableAssets', 'listBiAssets', 'listColumns', 'listTests'].flatMap((operationId) =>
      [{}, { direction: 'desc' }, { disabled: true }, { limit: 500 }].map((query) => [operationId, query] as const),
    ),
  )('%s %j', async (operationId, query) => {
    let cursor: string | null = '';
    do {
      const [one, other]: [unknown, unknown] = [
        bodyOf(light(operationId, { ...query, cursor })),
        bodyOf(any(operationId, { ...query, cursor })),
      ];
      expect(one).toEqual(other);
      expect(one).toHaveProperty('items');
      cursor = (one as { next_cursor: string | null }).next_cursor;
    } while (cursor !== null);
  });

  test('an invalid cursor and an unknown environment are refused at once', () => {
    expect(light('listColumns', { cursor: 'x' })).toMatchObject({ refusal: { code: 'invalid_cursor' } });
    expect(light('listColumns', {}, { env_id: 'f' })).toMatchObject({ refusal: { code: 'not_found' } });
    expect(light('getColumn', {}, { column_id: 'none' })).toMatchObject({ refusal: { code: 'not_found' } });
  });

  test.each<[string, string, object]>([
    ['a filter', 'listColumns', { data_types: ['NONE'] }],
    ['a filter by ids', 'listColumns', { ids: ['c1'] }],
    ['an order by time', 'listColumns', { order_by: 'synced_at' }],
    ['a feed with something new', 'listColumns', { synced_since: '2026-10-01T00:00:00Z' }],
    ['rows that hang on others', 'listAssetLineageEdges', {}],
    ['rows that hang on others, as scores do', 'listAssetHealthScores', {}],
    ['the aggregate', 'aggregateAssetHealthScores', {}],
    ['the measurements', 'measure', {}],
  ])('%s may take long and is left to a thread', (_, operationId, query) => {
    expect(light(operationId, query)).toBeNull();
  });
});

describe('a value that another program has written is answered alike in both ways', () => {
  const { light, any } = open(({ connection, db }) => {
    insert(db, tests, [
      test_('null', { config: 'null', tags: ' null ' }),
      test_('none', { config: null }),
      test_('number', { config: '7', tags: '{}' }),
      test_('text', { config: 'no json', tags: '[' }),
    ]);
    insert(db, assets, [asset('a'), asset('b')]);
    insert(db, columns, [column('c'), column('d')]);
    connection.exec("update assets set description = x'00ff41' where id = 'a'");
    connection.exec("update columns set name = x'616263' where id = 'd'");
  });

  test.each(['listTests', 'listAssets', 'listColumns'])('%s', async (operationId) => {
    const whole = bodyOf(any(operationId));
    expect(whole).toHaveProperty('items');
    const atOnce = light(operationId);
    expect(atOnce === null ? whole : bodyOf(atOnce)).toEqual(whole);
  });

  test.each([
    ['listTests', 'getTest', 'test_id', 'null'],
    ['listAssets', 'getAsset', 'asset_id', 'a'],
    ['listColumns', 'getColumn', 'column_id', 'd'],
  ])('%s shows an item as %s does', async (list, get, name, id) => {
    const { items } = bodyOf(any(list));
    expect(bodyOf(light(get, {}, { [name]: id }))).toEqual(items.find((item: { id: string }) => item.id === id));
  });
});

describe('a request that would block the server is left to a thread', () => {
  const { light, any, by } = open((file) => {
    const { db } = file;
    insertMany(file, 'columns', 4000, { id: "'c' || i", asset_id: "'a'", name: "'n'", deleted_at: `'${NOW}'` });
    insert(db, columns, column('d'));
    insert(db, tests, [test_('long', { config: JSON.stringify({ x: 'x'.repeat(400_000) }) }), test_('more')]);
    insert(db, assets, asset('more', { extra: '{"x":1}' }));
  });

  test('a list goes to a thread if more rows than a window do not show', async () => {
    expect(light('listColumns')).toBeNull();
    expect(bodyOf(any('listColumns'))).toMatchObject({ items: [{ id: 'd' }], has_more: false });
    expect(light('listColumns', { direction: 'desc', limit: 1 })).toBeNull();
  });

  test('items that are long, alone or together, go to a thread', () => {
    expect(bodyOf(light('listTests', { limit: 1 }))).toMatchObject({ items: [{ id: 'long' }] });
    expect(light('listTests', { limit: 3 })).toBeNull();
    expect(light('getTest', {}, { test_id: 'long' })).toBeNull();
    expect(light('getTest', {}, { test_id: 'more' })).not.toBeNull();
  });

  test('items with members that no field holds go to a thread', () => {
    expect(light('listAssets')).toBeNull();
  });

  test('a reader who does not see everything is answered by a thread', () => {
    expect(by({ ...ALL, name: 'part', paths: ['p'] }, 'listColumns')).toBeNull();
  });
});
