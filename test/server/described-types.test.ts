import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, test } from 'vitest';
import { environments } from '../../schema/assets.ts';
import { tests } from '../../schema/data-tests.ts';
import { decodePage } from '../../src/core/decode/decode.ts';
import { parseExactly } from '../../src/core/json.ts';
import { AS_SENT } from '../../src/core/read-api.ts';
import { ENVIRONMENT_FIELDS } from '../../src/core/schedule/environments.ts';
import { parseInstant } from '../../src/core/time/instant.ts';
import { tableNamed } from '../../src/destination/sql/tables.ts';
import type { CollectionName } from '../../src/streams/catalogue.ts';
import { entryNamed } from '../support/catalogue.ts';
import { SAMPLES } from '../support/samples.ts';
import { bearer, insert, NOW, serve, test_ } from './fixture.ts';

const ODD = [
  '5, 1.5, -9223372036854775809, 12345678901234567890, true, "text", [], ["x", 1], {"a": [{"b": 1}]}',
  '"2026-03-24", "2026-02-30T00:00:00Z", "2026-03-24T10:00:00.5+02:00"',
].join(', ');
const ODD_VALUES = parseExactly(`[${ODD}]`) as readonly unknown[];

const LISTS = {
  assets: 'e/assets?',
  table_assets: 'e/assets/tables?',
  bi_assets: 'e/assets/bi?',
  columns: 'e/columns?',
  tests: 'e/tests?',
  latest_test_executions: 'e/latest-test-executions?',
  test_executions: 'e/tests/t/executions?order_by=id&direction=asc&',
} as const satisfies Partial<Record<CollectionName, string>>;
const NAMES = Object.keys(LISTS) as (keyof typeof LISTS)[];

/** Items of a collection: each of its optional fields with each odd value. */
function oddItems(name: CollectionName): Record<string, unknown>[] {
  const optional = Object.entries(entryNamed(name).fields).filter(([, { required }]) => !required);
  return optional.flatMap(([field]) =>
    ODD_VALUES.map((value, i) => {
      const id = `${name} ${field} ${String(i).padStart(2, '0')}`;
      const sample = SAMPLES[name](id, 't');
      return { ...sample, ...('sub_type' in sample ? { sub_test_unique_id: id } : {}), [field]: value };
    }),
  );
}

const rowsOf = (name: CollectionName, items: readonly unknown[]) =>
  decodePage(entryNamed(name), items).rows.map(({ row }) => row);

const { server } = serve(({ db }) => {
  insert(db, environments, {
    id: 'f',
    name: 'F',
    extra: '{"cron":7,"last_synced_at":"2026-03-24"}',
    mirrored_at: NOW,
  });
  insert(db, tests, test_('t'));
  for (const name of NAMES)
    for (const row of rowsOf(name, oddItems(name)))
      insert(db, tableNamed(entryNamed(name).table), { ...row, env_id: 'e', mirrored_at: NOW });
});

async function ask(path: string): Promise<string> {
  return (await (await server).inject({ url: path, headers: bearer('secret') })).body;
}

/** How an answer differs from the schema of its operation. */
async function differences(path: string, answer: unknown): Promise<unknown> {
  const ajv = new Ajv2020({
    strict: false,
    allErrors: true,
    formats: {
      'date-time': (text) => /T.*(?:Z|[+-]\d\d:\d\d)$/.test(text) && parseInstant(text) !== null,
      int64: { type: 'number', validate: (number) => Math.abs(number) < 2 ** 63 },
      double: true,
    },
  });
  ajv.addSchema(JSON.parse(await ask('/openapi.json')), 'openapi');
  const place = ['paths', path, 'get', 'responses', '200', 'content', 'application/json', 'schema'];
  const pointer = place.map((name) => encodeURIComponent(name.replaceAll('/', '~1'))).join('/');
  const matches = ajv.compile({ $ref: `openapi#/${pointer}` });
  return matches(answer) ? null : matches.errors;
}

const isTime = (name: string): boolean => name === 'synced_at';
const timeless = (row: object) => Object.fromEntries(Object.entries(row).filter(([name]) => !isTime(name)));

/** All items of a list, as text, because a parser would round some of their numbers. */
const listed = (name: keyof typeof LISTS) => ask(`/public/beta/${LISTS[name]}limit=2000`);

describe.each(NAMES)('%s with values of a wrong type', (name) => {
  test('every answer fits its description (R20)', async () => {
    const { items } = JSON.parse(await listed(name));
    expect(items.length).toBeGreaterThanOrEqual(oddItems(name).length);
    const path = LISTS[name].replace(/\?.*/, '').replace('e/', '{env_id}/').replace('/t/', '/{test_id}/');
    expect(await differences(`/public/beta/${path}`, { items })).toBeNull();
  });

  test('a copy of the mirror gets each value as the service sent it (R19, R20)', async () => {
    const { items } = parseExactly(await listed(name)) as { items: Record<string, unknown>[] };
    const own = items.filter(({ id }) => String(id).startsWith(`${name} `) && !String(id).includes('synced_at'));
    const sent = oddItems(name).filter(({ id }) => !String(id).includes('synced_at'));
    const byId = (a: object, b: object) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1);
    expect(own.some((item) => AS_SENT in item)).toBe(true);
    expect(rowsOf(name, own).map(timeless).sort(byId)).toEqual(rowsOf(name, sent).map(timeless).sort(byId));
  });
});

test('an environment’s values of a wrong type are left out and shown as sent (R20)', async () => {
  const items = JSON.parse(await ask('/public/beta/environments'));
  expect(items).toContainEqual({
    id: 'f',
    name: 'F',
    [AS_SENT]: { cron: 7, last_synced_at: '2026-03-24' },
  });
  expect(await differences('/public/beta/environments', items)).toBeNull();
  const stream = { method: 'snapshot', key: ['id'], fields: ENVIRONMENT_FIELDS } as const;
  expect(decodePage(stream, items).rows.map(({ row }) => row['extra'])).toEqual([
    null,
    '{"cron":7,"last_synced_at":"2026-03-24"}',
  ]);
});

test.each([
  ['description', 42, null],
  ['created_at', '2026-03-24', null],
  ['owners', 'Team', []],
  ['tags', { a: 1 }, []],
])('%s: %j is served as %j, and as it was sent in a member of its own (R20)', async (field, value, shown) => {
  const { get } = serve(({ db }) => {
    const [row] = rowsOf('assets', [{ ...SAMPLES.assets('a', ''), [field]: value }]);
    insert(db, tableNamed('assets'), { ...row, env_id: 'e', mirrored_at: NOW });
  });
  for (const path of ['e/assets/a', 'e/assets']) {
    const { body } = await get(path);
    const item = path.endsWith('a') ? body : body.items[0];
    expect(item).toMatchObject({ [field]: shown, [AS_SENT]: { [field]: value } });
  }
});

test('unknown members keep their values, whatever their names (R19)', async () => {
  const extra = '{"__proto__":{"a":1},"constructor":"x","toString":[1]}';
  const world = serve(({ db }) => {
    const [row] = rowsOf('assets', [SAMPLES.assets('a', '')]);
    insert(db, tableNamed('assets'), { ...row, extra, env_id: 'e', mirrored_at: NOW });
  });
  const { body } = await (await world.server).inject({ url: '/public/beta/e/assets/a', headers: bearer('secret') });
  expect(body).toContain(extra.slice(1, -1));
  expect(body).not.toContain(AS_SENT);
});
