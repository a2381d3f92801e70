import { type AddressInfo, connect } from 'node:net';
import { describe, expect, test } from 'vitest';
import { assets, columns, environments } from '../../schema/assets.ts';
import { assetHealthScoreDimensions, assetHealthScores } from '../../schema/health.ts';
import { testExecutions, tests } from '../../schema/tests.ts';
import { asset, column, idsOf, NOW, NOW_MS, run, serve, test_ } from './fixture.ts';

const nothing = () => {};

describe('shapes', () => {
  test('environments are an array, without those the source no longer lists', async () => {
    const { get } = serve(({ db }) => {
      db.insert(environments)
        .values({ id: 'f', name: 'F', cron: '0 * * * *', extra: '{"region":"eu"}', mirrored_at: NOW })
        .run();
      db.insert(environments).values({ id: 'g', name: 'G', missing_since: NOW, mirrored_at: NOW }).run();
    });
    const { body } = await get('environments');
    expect(body).toEqual([
      { id: 'e', name: 'Environment' },
      { id: 'f', name: 'F', cron: '0 * * * *', region: 'eu' },
    ]);
    expect((await get('g/assets')).status).toBe(404);
  });

  test('the generic list shows the common fields, the typed one all', async () => {
    const row = asset('a', { db_name: 'raw', owners: '["Team"]', tags: '[]', extra: '{"rank":7}' });
    const { get } = serve(({ db }) => db.insert(assets).values(row).run());
    const [generic] = (await get('e/assets')).body.items;
    const [typed] = (await get('e/assets/tables')).body.items;
    expect(generic).toMatchObject({ id: 'a', owners: ['Team'], tags: [], description: null });
    expect(Object.keys(generic)).not.toEqual(expect.arrayContaining(['db_name']));
    expect(generic).not.toHaveProperty('rank');
    expect(typed).toMatchObject({ id: 'a', db_name: 'raw', rank: 7 });
    for (const name of ['env_id', 'mirrored_at', 'deletion', 'extra']) expect(typed).not.toHaveProperty(name);
  });

  test('unknown fields come back among the known, which they replace only where those have no value', async () => {
    const row = asset('a', {
      kind: 'odd',
      description: null,
      extra: '{"description":42,"name":"stale","x":{"y":1},"__proto__":1}',
    });
    const { get } = serve(({ db }) => db.insert(assets).values(row).run());
    const [item] = (await get('e/assets')).body.items;
    expect(item).toMatchObject({ name: 'name of a', description: 42, x: { y: 1 } });
  });

  test('columns leave out what they do not have', async () => {
    const { get } = serve(({ db }) =>
      db
        .insert(columns)
        .values(column('c', { synced_at: null }))
        .run(),
    );
    expect((await get('e/columns')).body.items).toEqual([{ id: 'c', asset_id: 'a', name: 'c' }]);
  });

  test('tests show booleans and objects', async () => {
    const { get } = serve(({ db }) =>
      db
        .insert(tests)
        .values(test_('t', { config: '{"values":[1]}' }))
        .run(),
    );
    expect((await get('e/tests')).body.items).toMatchObject([{ disabled: false, config: { values: [1] } }]);
  });

  test('a score holds its total and its dimensions', async () => {
    const bucket = { env_id: 'e', asset_id: 'a', test_count: 3, bucket_at: NOW, mirrored_at: NOW };
    const { get } = serve(({ db }) => {
      db.insert(assetHealthScores)
        .values([
          { ...bucket, score: 1 / 3 },
          { ...bucket, asset_id: 'b', score: 1 },
        ])
        .run();
      db.insert(assetHealthScoreDimensions)
        .values([
          { ...bucket, dimension: 'validity', score: 0.5 },
          { ...bucket, dimension: 'accuracy', score: 0.1 + 0.2 },
        ])
        .run();
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

  test('environments are kept apart', async () => {
    const { all } = serve(({ db }) => {
      db.insert(environments).values({ id: 'f', name: 'F', mirrored_at: NOW }).run();
      db.insert(assets)
        .values([asset('a'), asset('b', { env_id: 'f' })])
        .run();
    });
    expect(idsOf((await all('f/assets')).items)).toEqual(['b']);
  });
});

describe('odd ids', () => {
  const odd = ['monitor/freshness/a b', 'ünï/✓ %41', 'a?b#c&d=e+f', 'it\'s "quoted"', '%2F', `${'long'.repeat(100)}`];

  test.each(odd)('an id stands for itself in a path, encoded: %s', async (id) => {
    const { get } = serve(({ db }) => {
      db.insert(environments)
        .values({ id: `env/${id}`, name: 'odd', mirrored_at: NOW })
        .run();
      db.insert(tests)
        .values(test_(id, { env_id: `env/${id}` }))
        .run();
      db.insert(testExecutions)
        .values({ ...run('1', { test_id: id }), env_id: `env/${id}` })
        .run();
    });
    const { status, body } = await get(`${encodeURIComponent(`env/${id}`)}/tests/${encodeURIComponent(id)}/executions`);
    expect([status, idsOf(body.items)]).toEqual([200, ['1']]);
  });

  test('an id stands for itself in a filter and a cursor', async () => {
    const { all } = serve(({ db }) =>
      db
        .insert(assets)
        .values(odd.map((id) => asset(id)))
        .run(),
    );
    expect(idsOf((await all('e/assets?limit=1')).items).sort()).toEqual([...odd].sort());
    for (const id of odd) expect(idsOf((await all(`e/assets?ids=${encodeURIComponent(id)}`)).items)).toEqual([id]);
  });
});

describe('errors', () => {
  test.each([
    ['limit=0', 422],
    ['limit=2001', 422],
    ['limit=ten', 422],
    ['limit=1.5', 422],
    ['limit=', 422],
    ['limit=1&limit=2', 422],
    ['order_by=name', 422],
    ['direction=up', 422],
    ['synced_since=yesterday', 422],
    ['deleted_since=2026-13-01T00:00:00Z', 422],
    ['nonsense=1', 422],
    ['disabled=true', 422],
    ['__proto__=1', 422],
    ['constructor=1', 422],
  ])('%s is answered with %i', async (query, expected) => {
    const { status, body } = await serve(nothing).get(`e/assets?${query}`);
    expect([status, body.error.code]).toEqual([expected, 'invalid_request']);
    expect(Object.keys(body)).toEqual(['error']);
    expect(typeof body.error.message).toBe('string');
  });

  test('disabled takes true or false alone', async () => {
    expect((await serve(nothing).get('e/tests?disabled=maybe')).status).toBe(422);
  });

  test('edges and scores take no order', async () => {
    const { get } = serve(nothing);
    expect((await get('e/asset-lineage?order_by=id')).status).toBe(422);
    expect((await get('e/asset-health-scores?direction=asc')).status).toBe(422);
  });

  test.each(['nowhere/assets', 'e/nothing', 'e/tests/none/executions', 'e', ''])(
    'what is not there is not_found: %s',
    async (path) => {
      const { status, body } = await serve(nothing).get(path);
      expect([status, body.error.code]).toEqual([404, 'not_found']);
    },
  );

  test('runs of a deleted test are not there, those of a disabled one are', async () => {
    const { get } = serve(({ db }) =>
      db
        .insert(tests)
        .values([test_('dead', { deleted_at: NOW }), test_('off', { disabled: 1 })])
        .run(),
    );
    expect((await get('e/tests/dead/executions')).status).toBe(404);
    expect((await get('e/tests/off/executions')).status).toBe(200);
  });

  test('a path that cannot be decoded is an invalid request', async () => {
    const { status, body, headers } = await serve(nothing).get('e/tests/%zz/executions');
    expect([status, body.error.code]).toEqual([400, 'invalid_request']);
    expect(headers.date).toBeDefined();
  });

  test('other methods than GET are not there', async () => {
    const { server } = serve(nothing);
    const answer = await server.inject({
      method: 'POST',
      url: '/public/beta/e/assets',
      payload: 'x',
      headers: { 'content-type': 'odd/odd' },
    });
    expect([answer.statusCode, answer.json().error.code]).toEqual([404, 'not_found']);
  });

  test('a crash is internal_error and tells nothing of itself', async () => {
    const crashes: unknown[] = [];
    const { get, writing } = serve(nothing, { onCrash: (error) => crashes.push(error) });
    writing.connection.exec('drop table assets');
    const { status, body } = await get('e/assets');
    expect([status, body]).toEqual([500, { error: { code: 'internal_error', message: 'Unexpected server error' } }]);
    expect(String(crashes[0])).toContain('no such table');
  });
});

describe('the door', () => {
  test.each([
    {},
    { authorization: 'Bearer wrong' },
    { authorization: 'secret' },
    { authorization: 'Basic secret' },
    { authorization: 'Bearer ' },
  ])('a request without the token is unauthenticated, wherever it goes: %o', async (headers) => {
    const { get } = serve(nothing, { token: 'secret' });
    for (const path of ['environments', 'e/assets', 'nowhere/assets', 'e/nothing']) {
      const { status, body } = await get(path, headers as Record<string, string>);
      expect([status, body.error.code]).toEqual([401, 'unauthenticated']);
    }
  });

  test('the token lets in, the scheme in any case', async () => {
    const { get } = serve(nothing, { token: 'secret' });
    expect((await get('environments', { authorization: 'Bearer secret' })).status).toBe(200);
    expect((await get('environments', { authorization: 'bearer secret' })).status).toBe(200);
  });

  test('every answer has the date of the clock given', async () => {
    const { get } = serve(nothing);
    for (const path of ['environments', 'e/nothing', 'e/assets?limit=0', 'e/tests/%zz/executions']) {
      expect((await get(path)).headers.date).toBe(new Date(NOW_MS).toUTCString());
    }
  });

  test('every answer tells the quota; what exceeds it is 429 until the window ends', async () => {
    let nowMs = NOW_MS;
    const { get } = serve(nothing, { rateLimit: { limit: 2, windowSeconds: 60 }, nowMs: () => nowMs });
    expect((await get('environments')).headers).toMatchObject({
      'ratelimit-limit': '2',
      'ratelimit-remaining': '1',
      'ratelimit-reset': '60',
    });
    nowMs += 20_500;
    expect((await get('e/nothing')).headers).toMatchObject({ 'ratelimit-remaining': '0', 'ratelimit-reset': '40' });
    const { status, body, headers } = await get('environments');
    expect([status, body.error.code, headers['retry-after'], headers['ratelimit-remaining']]).toEqual([
      429,
      'rate_limited',
      '40',
      '0',
    ]);
    nowMs += 39_500;
    expect((await get('environments')).status).toBe(200);
  });

  test('a request without the token costs nothing of the quota', async () => {
    const { get } = serve(nothing, { token: 'secret', rateLimit: { limit: 1, windowSeconds: 60 } });
    expect((await get('environments')).headers).toMatchObject({ 'ratelimit-remaining': '1' });
    expect((await get('environments', { authorization: 'Bearer secret' })).status).toBe(200);
    const stranger = await get('environments');
    expect([stranger.status, stranger.headers['retry-after']]).toEqual([401, undefined]);
    expect((await get('environments', { authorization: 'Bearer secret' })).status).toBe(429);
  });

  test('over a real connection: envelope, date, long queries, and an envelope for what is no HTTP', async () => {
    const { server } = serve(({ db }) =>
      db
        .insert(assets)
        .values(asset('a'.repeat(60)))
        .run(),
    );
    await server.listen({ host: '127.0.0.1', port: 0 });
    const { port } = server.server.address() as AddressInfo;
    const query = Array.from({ length: 1000 }, () => `ids=${'a'.repeat(60)}`).join('&');
    const answer = await fetch(`http://127.0.0.1:${port}/public/beta/e/assets?${query}`);
    expect(answer.headers.get('date')).toBe(new Date(NOW_MS).toUTCString());
    expect(answer.headers.get('content-type')).toContain('application/json');
    expect(await answer.json()).toMatchObject({ items: [{ id: 'a'.repeat(60) }], has_more: false });
    expect(await unreadable(port)).toEqual([
      400,
      { error: { code: 'invalid_request', message: 'The request cannot be read' } },
    ]);
  });
});

/** What a line that is no request is answered with. */
async function unreadable(port: number): Promise<[number, unknown]> {
  const socket = connect(port, '127.0.0.1');
  socket.end('good day\r\n\r\n');
  const answer = Buffer.concat(await socket.toArray()).toString();
  return [Number(answer.split(' ')[1]), JSON.parse(answer.split('\r\n\r\n')[1] ?? '')];
}
