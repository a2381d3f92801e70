import { gunzipSync } from 'node:zlib';
import { beforeEach, describe, expect, test } from 'vitest';
import { assets, columns, environments } from '../../schema/assets.ts';
import { assetHealthScores } from '../../schema/health.ts';
import { mirror, syncCheckpoints, syncRuns } from '../../schema/sync.ts';
import type { TokenHash } from '../../src/server/access.ts';
import { CATALOGUE, STREAM_NAMES } from '../../src/streams/catalogue.ts';
import { asset, bearer, column, insert, NOW_MS, restricted, type Served, serve } from './fixture.ts';
import { exchange, listening } from './sockets.ts';

const at = (secondsAgo: number) => new Date(NOW_MS - secondsAgo * 1000).toISOString();
const ended = (status: 'done' | 'problems' | 'interrupted', secondsAgo: number) => ({
  cycle_id: 1,
  status,
  started_at: at(secondsAgo + 60),
  ended_at: at(secondsAgo),
});

async function scrape({ server }: Served): Promise<Readonly<Record<string, number>>> {
  const { body } = await (await server).inject({ url: '/metrics', headers: bearer('secret') });
  const samples = body.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return Object.fromEntries(
    samples.map((line) => {
      const value = line.slice(line.lastIndexOf(' ') + 1);
      return [line.slice(0, line.lastIndexOf(' ')), value === '+Inf' ? Number.POSITIVE_INFINITY : Number(value)];
    }),
  );
}

const health = async ({ server }: Served) => (await (await server).inject('/healthz')).json();

describe('/metrics', () => {
  const served = serve(({ db }) => {
    insert(db, assets, [asset('a'), asset('b')]);
    insert(db, assetHealthScores, {
      env_id: 'e',
      asset_id: 'a',
      score: 1,
      test_count: 1,
      bucket_at: at(0),
      mirrored_at: at(0),
    });
    db.update(mirror).set({ quota_limit: 100, quota_remaining: 90 }).run();
  });
  const ask = async (url: string, method: 'GET' | 'HEAD' | 'OPTIONS' | 'POST' = 'GET', token = 'secret') =>
    (await served.server).inject({ url, method, headers: bearer(token) });

  test('it needs a token, unlike /healthz', async () => {
    const { statusCode, body } = await ask('/metrics', 'GET', 'unknown');
    expect([statusCode, JSON.parse(body).error.code]).toEqual([401, 'unauthenticated']);
    expect((await (await served.server).inject('/metrics')).statusCode).toBe(401);
    expect((await (await served.server).inject('/healthz')).statusCode).toBe(200);
  });

  test.each<[string, Partial<TokenHash['reader']>, number]>([
    ['limited to environments', { environments: new Set(['e']) }, 403],
    ['limited to assets', { assetIds: [] }, 403],
    ['limited to paths', { paths: ['p'] }, 403],
    ['without any scope', { scopes: new Set() }, 200],
  ])('a token restricted to environments or assets is refused, whatever its scopes: %s', async (_, limits, status) => {
    const { server } = serve(() => {}, { keys: () => [restricted('limited', limits)] });
    const answer = await (await server).inject({ url: '/metrics', headers: bearer('limited') });
    expect(answer.statusCode).toBe(status);
  });

  test('it is Prometheus text, and every sample has a help and a type', async () => {
    await ask('/public/beta/environments');
    const { headers, body } = await ask('/metrics');
    expect(headers['content-type']).toMatch(/^text\/plain; version=0\.0\.4/);
    const described = new Set(
      [...body.matchAll(/^# TYPE (\S+) (?:histogram|summary|gauge|counter)$/gm)].map(([, name]) => name),
    );
    for (const name of described) expect(body).toMatch(new RegExp(`^# HELP ${name} \\S`, 'm'));
    const named = [...body.matchAll(/^([a-z_]+)(?:\{[^\n]*\})? \S+$/gm)].map(([, name]) => name ?? '');
    for (const name of described) expect(body).toMatch(new RegExp(`^${name}[_{ ]`, 'm'));
    for (const name of named) expect(described).toContain(name.replace(/_(?:bucket|sum|count)$/, ''));
    expect(named.length).toBeGreaterThan(10);
  });

  test.each([
    ['a list', '/public/beta/e/assets?limit=1', 'GET', '/public/beta/:env_id/assets', 200],
    [
      'an item by its route, not by its id',
      '/public/beta/e/assets/a',
      'GET',
      '/public/beta/:env_id/assets/:asset_id',
      200,
    ],
    ['a missing item', '/public/beta/e/assets/none', 'GET', '/public/beta/:env_id/assets/:asset_id', 404],
    ['an invalid request', '/public/beta/e/assets?limit=0', 'GET', '/public/beta/:env_id/assets', 422],
    ['unknown addresses under one name', '/public/beta/e/nothing', 'GET', 'unknown', 404],
    ['other methods under the same name', '/public/beta/e/assets', 'POST', 'unknown', 405],
    ['the method OPTIONS too', '/public/beta/e/assets', 'OPTIONS', 'unknown', 405],
    ['HEAD by its route', '/public/beta/e/assets/a', 'HEAD', '/public/beta/:env_id/assets/:asset_id', 200],
  ] as const)('it counts and times %s', async (_, url, method, route, status) => {
    const labels = `method="${method}",route="${route}",status_code="${status}"`;
    const count = `http_request_duration_seconds_count{${labels}}`;
    const before = await scrape(served);
    await ask(url, method);
    const after = await scrape(served);
    expect(after[count]).toBe((before[count] ?? 0) + 1);
    expect(after[`http_request_duration_seconds_bucket{le="+Inf",${labels}}`]).toBe(after[count]);
    expect(after[`http_request_duration_seconds_sum{${labels}}`]).toBeGreaterThan(
      before[`http_request_duration_seconds_sum{${labels}}`] ?? 0,
    );
  });

  test('it is compressed for a client that accepts gzip, as Prometheus does', async () => {
    const ask = async (encoding: string) =>
      (await served.server).inject({ url: '/metrics', headers: { ...bearer('secret'), 'accept-encoding': encoding } });
    const [plain, packed] = [await ask('identity'), await ask('gzip')];
    expect(plain.headers).not.toHaveProperty('content-encoding');
    expect(packed.headers).toMatchObject({ 'content-encoding': 'gzip', 'content-type': plain.headers['content-type'] });
    expect(gunzipSync(packed.rawPayload).toString()).toContain('# TYPE obsync_mirror_rows gauge');
    expect(packed.rawPayload.length).toBeLessThan(plain.rawPayload.length / 2);
  });

  test('it also counts requests without a token', async () => {
    const count =
      'http_request_duration_seconds_count{method="GET",route="/public/beta/environments",status_code="401"}';
    const before = (await scrape(served))[count] ?? 0;
    await ask('/public/beta/environments', 'GET', 'unknown');
    expect((await scrape(served))[count]).toBe(before + 1);
  });

  test('it counts requests that cannot be read, by status', async () => {
    const { server } = serve();
    const own = { ...served, server };
    const counts = async () => {
      const samples = await scrape(own);
      return [400, 408, 431].map((status) => samples[`obsync_unreadable_requests_total{status_code="${status}"}`]);
    };
    expect(await counts()).toEqual([0, 0, 0]);
    await exchange(await listening(server), 'BAD\r\n\r\n');
    expect(await counts()).toEqual([1, 0, 0]);
  });

  test('it contains no id or token that any client sent', async () => {
    await ask('/public/beta/e/assets/an-id?token=secret');
    await ask('/an-address?token=secret');
    expect((await ask('/metrics')).body).not.toMatch(/an-id|an-address|secret/);
  });
});

test('live rows are counted per stream over all environments, and recounted after each change', async () => {
  const served = serve(({ db }) => {
    const bi = { kind: 'bi', bi_platform: 'looker', bi_type: 'look' };
    insert(db, assets, [asset('a'), asset('a', { env_id: 'f' }), asset('b', bi), asset('c', { deleted_at: at(0) })]);
    insert(db, columns, column('c'));
  });
  const rows = async () => {
    const counted = Object.entries(await scrape(served)).filter(([name]) => name.startsWith('obsync_mirror_rows'));
    return Object.fromEntries(counted.map(([name, value]) => [/stream="(.*)"/.exec(name)?.[1], value]));
  };
  const none = Object.fromEntries(STREAM_NAMES.map((name) => [name, 0]));
  const first = { ...none, assets: 3, table_assets: 2, bi_assets: 1, columns: 1 };
  expect(await rows()).toEqual(first);
  insert(served.writing.db, columns, [column('d'), column('e')]);
  served.writing.connection
    .prepare('update mirror_environments set mirrored_at = ?')
    .run('2026-11-20T12:00:01.000000Z');
  expect(await rows()).toEqual({ ...first, columns: 3 });
});

describe('the reported age of the last sync', () => {
  const served = serve();
  beforeEach(() => void served.writing.db.delete(syncRuns).run());
  const note = (...runs: (typeof syncRuns.$inferInsert)[]) => insert(served.writing.db, syncRuns, runs);

  test('without a sync it is null in /healthz and +Inf in /metrics, where NaN would escape every alert', async () => {
    expect(await health(served)).toEqual({ status: 'up', last_sync_age_seconds: null });
    expect((await scrape(served))['obsync_mirror_age_seconds']).toBe(Number.POSITIVE_INFINITY);
  });

  test('it is the age of the last sync that ended without problems', async () => {
    note(ended('done', 7200), ended('done', 90), ended('problems', 30), ended('interrupted', 10));
    expect(await health(served)).toEqual({ status: 'up', last_sync_age_seconds: 90 });
    expect((await scrape(served))['obsync_mirror_age_seconds']).toBe(90);
  });

  test('a repair does not reset it, because it brings nothing up to date', async () => {
    note(ended('done', 90), { ...ended('done', 30), command: 'verify' });
    expect(await health(served)).toEqual({ status: 'up', last_sync_age_seconds: 90 });
  });

  test('it is never negative, even if a clock was set back', async () => {
    note(ended('done', -60));
    expect(await health(served)).toEqual({ status: 'up', last_sync_age_seconds: 0 });
  });
});

describe('the reported ages of environments and streams', () => {
  const USUAL = CATALOGUE.filter(({ optional }) => !optional).map(({ name }) => name);
  const checkpoint = (stream: string, secondsAgo: number | null, more: object = {}) => ({
    env_id: 'e',
    stream,
    watermark: secondsAgo === null ? null : at(secondsAgo),
    unavailable: 0,
    ...more,
  });

  test.each<[string, ReturnType<typeof checkpoint>[], number | null]>([
    ['a mirror that was never read', [], null],
    [
      'a mirror with a stream that was never read to its end',
      [checkpoint('assets', 60), checkpoint('tests', null)],
      null,
    ],
    ['a mirror with a stream of two hours', USUAL.map((name) => checkpoint(name, name === 'tests' ? 7200 : 60)), 7200],
  ])('/healthz?max_age answers 503 for %s, unless that is young enough', async (_, checkpoints, oldest) => {
    const { server, writing } = serve();
    if (checkpoints.length > 0) insert(writing.db, syncCheckpoints, checkpoints);
    const ask = async (maxAge: string) => (await server).inject(`/healthz?max_age=${maxAge}`);
    const [stale, young] = [await ask('1h'), await ask('121m')];
    expect(stale.statusCode).toBe(503);
    expect(stale.json()).toEqual({ status: 'stale', last_sync_age_seconds: null, oldest_age_seconds: oldest });
    expect(young.statusCode).toBe(oldest === null ? 503 : 200);
    expect((await ask('1')).json()).toMatchObject({ error: { message: expect.stringContaining('such as 90s, 15m') } });
    expect((await ask('1')).statusCode).toBe(422);
  });

  test.each<[string, ReturnType<typeof checkpoint>[], number]>([
    ['never read at all', [], Number.POSITIVE_INFINITY],
    ['with a stream that was never read', [checkpoint('assets', 60)], Number.POSITIVE_INFINITY],
    ['read whole', USUAL.map((name) => checkpoint(name, name === 'tests' ? 7200 : 60)), 7200],
    [
      'with a stream that the source does not have yet',
      USUAL.map((name) => (name === 'tests' ? checkpoint(name, null, { unavailable: 1 }) : checkpoint(name, 60))),
      60,
    ],
    [
      'with histories that only some runs read',
      [...USUAL, 'test_executions'].map((name) => checkpoint(name, name === 'test_executions' ? 9000 : 60)),
      60,
    ],
  ])('it is that of the stalest stream of every run: one %s', async (_, checkpoints, seconds) => {
    const served = serve(({ db }) => {
      insert(db, environments, [
        { id: 'new', name: 'N', mirrored_at: at(0) },
        { id: 'gone', name: 'G', missing_since: at(0), mirrored_at: at(0) },
      ]);
      if (checkpoints.length > 0) insert(db, syncCheckpoints, checkpoints);
    });
    const samples = Object.entries(await scrape(served));
    expect(Object.fromEntries(samples.filter(([name]) => name.startsWith('obsync_environment_age')))).toEqual({
      'obsync_environment_age_seconds{environment="e"}': seconds,
      'obsync_environment_age_seconds{environment="new"}': Number.POSITIVE_INFINITY,
    });
  });

  test('a stream has its own age: +Inf if no read of it has ended, none if the source does not have it yet or no run has begun to read it', async () => {
    const served = serve(({ db }) => {
      insert(db, environments, { id: 'new', name: 'N', mirrored_at: at(0) });
      insert(db, syncCheckpoints, [
        checkpoint('assets', 60),
        checkpoint('columns', null),
        checkpoint('tests', null, { unavailable: 1 }),
        checkpoint('asset_lineage', 7200, { unavailable: 1 }),
        checkpoint('test_executions', 90),
      ]);
    });
    const age = (environment: string, stream: string, seconds = Number.POSITIVE_INFINITY): [string, number] => [
      `obsync_stream_age_seconds{environment="${environment}",stream="${stream}"}`,
      seconds,
    ];
    const ages = Object.entries(await scrape(served)).filter(([name]) => name.startsWith('obsync_stream_age'));
    expect(Object.fromEntries(ages)).toEqual(
      Object.fromEntries([
        ...[age('e', 'columns'), age('e', 'assets', 60), age('e', 'asset_lineage', 7200)],
        age('e', 'test_executions', 90),
      ]),
    );
  });

  test('if no run has begun to read anything, every stream is +Inf', async () => {
    const served = serve(({ db }) => {
      db.delete(syncCheckpoints).run();
    });
    const ages = Object.entries(await scrape(served)).filter(([name]) => name.startsWith('obsync_stream_age'));
    expect(ages).toHaveLength(USUAL.length);
    expect(new Set(ages.map(([, seconds]) => seconds))).toEqual(new Set([Number.POSITIVE_INFINITY]));
  });
});
