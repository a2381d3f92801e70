import { pino } from 'pino';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { assets, columns, environments } from '../../schema/assets.ts';
import { testExecutions, tests } from '../../schema/data-tests.ts';
import { assetHealthScoreDimensions, assetHealthScores } from '../../schema/health.ts';
import { rootToken } from '../../src/server/access.ts';
import { asset, bearer, column, idsOf, insert, NOW, NOW_MS, run, serve, test_ } from './fixture.ts';
import { exchange, listening } from './sockets.ts';

const nothing = () => {};
const ADMITTED = bearer('secret');
const KEYS = [rootToken('all', 'secret'), rootToken('other', 'other')];

describe('the shape of items', () => {
  test('environments are a plain array of those that the source still lists (endpoint 1)', async () => {
    const { get } = serve(({ db }) => {
      insert(db, environments, { id: 'f', name: 'F', cron: '0 * * * *', extra: '{"region":"eu"}', mirrored_at: NOW });
      insert(db, environments, { id: 'g', name: 'G', missing_since: NOW, mirrored_at: NOW });
    });
    const { body } = await get('environments');
    expect(body).toEqual([
      { id: 'e', name: 'Environment' },
      { id: 'f', name: 'F', cron: '0 * * * *', region: 'eu' },
    ]);
    expect((await get('g/assets')).status).toBe(404);
  });

  test('a count beyond 2^53 is returned as it was sent, even in an optional field (R19)', async () => {
    const { server } = serve(({ db }) => {
      insert(db, tests, test_('t'));
      insert(db, testExecutions, {
        ...run('x', { sub_test_unique_id: 't' }),
        extra: '{"failure_count":9007199254740993}',
      });
    });
    const url = '/public/beta/e/tests/t/executions';
    const { statusCode, body } = await (await server).inject({ url, headers: ADMITTED });
    expect([statusCode, body]).toEqual([200, expect.stringContaining('"failure_count":9007199254740993')]);
  });

  test('the generic list has common and unknown fields, the typed list also those of its kind (field notes)', async () => {
    const row = asset('a', { db_name: 'raw', owners: '["Team"]', tags: '[]', extra: '{"rank":7,"table_name":8}' });
    const { get } = serve(({ db }) => insert(db, assets, row));
    const [generic] = (await get('e/assets')).body.items;
    const [typed] = (await get('e/assets/tables')).body.items;
    expect(generic).toMatchObject({ id: 'a', owners: ['Team'], tags: [], description: null });
    expect(generic).toMatchObject({ rank: 7 });
    for (const name of ['db_name', 'table_name']) expect(generic).not.toHaveProperty(name);
    expect(typed).toMatchObject({ id: 'a', db_name: 'raw', rank: 7 });
    for (const name of ['env_id', 'mirrored_at', 'deletion', 'extra']) expect(typed).not.toHaveProperty(name);
  });

  test('unknown fields are merged into the item, and never replace known fields (resources)', async () => {
    const row = asset('a', {
      kind: 'odd',
      description: null,
      extra: '{"description":42,"name":"stale","x":{"y":1},"__proto__":1}',
    });
    const { get } = serve(({ db }) => insert(db, assets, row));
    const [item] = (await get('e/assets')).body.items;
    expect(item).toMatchObject({ name: 'name of a', description: null, x: { y: 1 } });
  });

  test('numbers beyond 2^53 are returned as they were sent (resources)', async () => {
    const HUGE = '12345678901234567890';
    const bucket = { env_id: 'e', asset_id: 'a', test_count: Number(HUGE), bucket_at: NOW, mirrored_at: NOW, score: 1 };
    const { server } = serve(({ db }) => {
      insert(db, assets, asset('a', { extra: `{"more":{"rows":${HUGE}}}` }));
      insert(db, tests, test_('t', { config: `{"limit":[${HUGE}]}` }));
      insert(db, assetHealthScores, { ...bucket, extra: `{"total":{"test_count":${HUGE}}}` });
    });
    const textOf = async (path: string): Promise<string> =>
      (await (await server).inject({ url: `/public/beta/e/${path}`, headers: ADMITTED })).body;
    expect(await textOf('assets/tables')).toContain(`"more":{"rows":${HUGE}}`);
    expect(await textOf('tests')).toContain(`"config":{"limit":[${HUGE}]}`);
    expect(await textOf('asset-health-scores')).toContain(`"test_count":${HUGE},`);
  });

  test('a column leaves out fields without a value (resources)', async () => {
    const { get } = serve(({ db }) => insert(db, columns, column('c', { synced_at: null })));
    const synced_at = '2026-11-01T00:00:00.000000Z';
    expect((await get('e/columns')).body.items).toEqual([{ id: 'c', asset_id: 'a', name: 'c', synced_at }]);
  });

  test('a score has its total and its dimensions (endpoint 9)', async () => {
    const bucket = { env_id: 'e', asset_id: 'a', test_count: 3, bucket_at: NOW, mirrored_at: NOW };
    const { get } = serve(({ db }) => {
      insert(db, assets, [asset('a'), asset('b')]);
      insert(db, assetHealthScores, [
        { ...bucket, score: 1 / 3 },
        { ...bucket, asset_id: 'b', score: 1 },
      ]);
      insert(db, assetHealthScoreDimensions, [
        { ...bucket, dimension: 'validity', score: 0.5 },
        { ...bucket, dimension: 'accuracy', score: 0.1 + 0.2 },
      ]);
    });
    const shown = { test_count: 3, bucket_at: NOW };
    expect((await get('e/asset-health-scores')).body.items).toEqual([
      {
        asset_id: 'a',
        total: { score: 1 / 3, ...shown },
        dimensions: [
          { dimension: 'accuracy', score: 0.1 + 0.2, ...shown },
          { dimension: 'validity', score: 0.5, ...shown },
        ],
      },
      { asset_id: 'b', total: { score: 1, ...shown }, dimensions: [] },
    ]);
    expect((await get('e/asset-health-scores?asset_ids=b')).body.items).toHaveLength(1);
  });

  test('rows with the same id in two environments are not mixed up', async () => {
    const { all } = serve(({ db }) => {
      insert(db, environments, { id: 'f', name: 'F', mirrored_at: NOW });
      insert(db, assets, [asset('a'), asset('b', { env_id: 'f' })]);
    });
    expect(idsOf((await all('f/assets')).items)).toEqual(['b']);
  });
});

describe('ids with dots, slashes, spaces and any Unicode (field notes)', () => {
  const odd = [
    'db.schema.table',
    'a;b:c@d',
    'monitor/freshness/a b',
    'ünï/✓ %41',
    'a?b#c&d=e+f',
    'it\'s "quoted"',
    '%2F',
    `${'long'.repeat(100)}`,
  ];

  const { get, all } = serve(({ db }) => {
    for (const id of odd) {
      const env_id = `env/${id}`;
      insert(db, environments, { id: env_id, name: 'odd', mirrored_at: NOW });
      insert(db, tests, test_(id, { env_id }));
      insert(db, testExecutions, { ...run(`run of ${id}`, { test_id: id }), env_id });
    }
    insert(db, assets, ...odd.map((id) => asset(id)));
  });

  test.each(odd)('a percent-encoded id in a path is found: %s', async (id) => {
    const path = `${encodeURIComponent(`env/${id}`)}/tests/${encodeURIComponent(id)}/executions`;
    const { status, body } = await get(path);
    expect([status, idsOf(body.items)]).toEqual([200, [`run of ${id}`]]);
    expect((await get(`${path}/${encodeURIComponent(`run of ${id}`)}`)).body.test_id).toBe(id);
    expect((await get(`e/assets/tables/${encodeURIComponent(id)}`)).body.id).toBe(id);
  });

  test('an id in a filter or a cursor is found', async () => {
    expect(idsOf((await all('e/assets?limit=1')).items).sort()).toEqual([...odd].sort());
    for (const id of odd) expect(idsOf((await all(`e/assets?ids=${encodeURIComponent(id)}`)).items)).toEqual([id]);
  });
});

describe('an internal error', () => {
  test('an internal failure is 500 internal_error and reveals no details', async () => {
    const lines: string[] = [];
    const { get, writing } = serve(nothing, { log: pino({ level: 'error' }, { write: (line) => lines.push(line) }) });
    writing.connection.exec('drop table assets');
    const { status, body } = await get('e/assets');
    expect([status, body]).toEqual([500, { error: { code: 'internal_error', message: 'Unexpected server error' } }]);
    expect(lines.map((line) => JSON.parse(line).err.message)).toEqual(['no such table: assets']);
  });
});

describe('every request', () => {
  test('it needs the token, with the scheme in any case, and the answer has the mirror’s time (authentication rule 1)', async () => {
    const { get } = serve(nothing);
    expect((await get('environments')).status).toBe(200);
    expect((await get('environments', { authorization: 'bearer secret' })).status).toBe(200);
    expect((await get('environments', {})).headers.date).toBe(new Date(NOW_MS).toUTCString());
    for (const path of ['environments', 'e/nothing', 'e/assets?limit=0', 'e/tests/%zz/executions']) {
      expect((await get(path)).headers.date).toBe(new Date(NOW_MS).toUTCString());
    }
  });

  test('the answer has the quota of the token, and beyond the quota it is 429 until the window ends (limits)', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: NOW_MS });
    onTestFinished(() => void vi.useRealTimers());
    const { get } = serve(nothing, { rateLimit: { limit: 2, windowMs: 60_000 }, keys: () => KEYS });
    expect((await get('environments')).headers).toMatchObject({
      'ratelimit-limit': '2',
      'ratelimit-remaining': '1',
      'ratelimit-reset': '60',
    });
    vi.setSystemTime(NOW_MS + 20_500);
    expect((await get('e/nothing')).headers).toMatchObject({ 'ratelimit-remaining': '0', 'ratelimit-reset': '40' });
    const { status, body, headers } = await get('environments');
    expect([status, body.error.code, headers['retry-after'], headers['ratelimit-remaining']]).toEqual([
      429,
      'rate_limited',
      '40',
      '0',
    ]);
    expect((await get('environments', bearer('other'))).status).toBe(200);
    vi.setSystemTime(NOW_MS + 60_000);
    expect((await get('environments')).status).toBe(200);
  });

  test('requests without a token do not count against the token’s quota', async () => {
    const { get } = serve(nothing, { rateLimit: { limit: 1, windowMs: 60_000 } });
    const anonymous = await get('environments', {});
    expect([anonymous.status, anonymous.headers['ratelimit-remaining']]).toEqual([401, '0']);
    expect((await get('environments', {})).status).toBe(429);
    expect((await get('environments')).status).toBe(200);
    expect((await get('environments')).status).toBe(429);
  });

  test('over a socket, errors have the envelope and the date, even if the request is too long or not HTTP', async () => {
    const { server } = serve(({ db }) => insert(db, assets, asset('a'.repeat(60))));
    const port = await listening(server);
    const query = Array.from({ length: 500 }, () => `ids=${'a'.repeat(60)}`).join('&');
    const answer = await fetch(`http://127.0.0.1:${port}/public/beta/e/assets?${query}`, { headers: ADMITTED });
    expect(answer.headers.get('date')).toBe(new Date(NOW_MS).toUTCString());
    expect(answer.headers.get('content-type')).toContain('application/json');
    expect(await answer.json()).toMatchObject({ items: [{ id: 'a'.repeat(60) }], has_more: false });
    const [head, body] = await exchange(port, 'good day\r\n\r\n');
    expect(head).toMatch(/^HTTP\/1\.1 400 /);
    expect(JSON.parse(body)).toEqual({ error: { code: 'invalid_request', message: 'The request cannot be read' } });
  });
});
