import fastify, { type InjectOptions } from 'fastify';
import { describe, expect, onTestFinished, test } from 'vitest';
import { openRateLimit, parseRateLimit } from '../../src/server/rate-limit.ts';
import { bearer, restricted, serve } from './fixture.ts';
import { expectRefusal } from './refusal.ts';
import { listening, open, received } from './sockets.ts';

const API = '/public/beta/';
const SINCE = '2026-11-01T00:00:00Z';
const nothing = () => {};

const limited = (token: string) => restricted(token, { environments: new Set(['e', 'f']), scopes: new Set(['tests']) });

type Request = InjectOptions & { readonly url: string };

/** A request for each kind of answer: its description, the status, and the request. */
const ANSWERS: readonly [what: string, status: number, request: Request][] = [
  ['a list', 200, { url: `${API}environments` }],
  ['a HEAD request', 200, { url: `${API}environments`, method: 'HEAD' }],
  ['the metrics', 403, { url: '/metrics' }],
  ['both feeds in one request', 400, { url: `${API}e/tests?synced_since=${SINCE}&deleted_since=${SINCE}` }],
  ['an invalid cursor', 400, { url: `${API}e/tests?cursor=x` }],
  ['a path that cannot be decoded', 400, { url: `${API}e/tests/%zz` }],
  ['an unknown token', 401, { url: `${API}environments`, headers: { authorization: 'Bearer unknown' } }],
  ['an unknown token at an unknown address', 401, { url: '/nothing', headers: { authorization: 'Bearer unknown' } }],
  ['a forbidden environment', 403, { url: `${API}g/tests` }],
  ['a missing scope', 403, { url: `${API}e/assets` }],
  ['an unknown address', 404, { url: '/nothing' }],
  ['a missing item', 404, { url: `${API}e/tests/none` }],
  ['a missing environment', 404, { url: `${API}f/tests` }],
  ['another method', 405, { url: `${API}e/tests`, method: 'DELETE' }],
  ['a body', 405, { url: `${API}e/tests`, method: 'POST', payload: {} }],
  ['a body that is not JSON', 405, json(`${API}e/tests`, 'application/json')],
  ['a body of an unknown type', 405, json(`${API}e/tests`, 'nonsense')],
  ['a body at an unknown address', 405, json('/nothing', 'application/json')],
  ['an invalid limit', 422, { url: `${API}e/tests?limit=0` }],
];

function json(url: string, type: string): Request {
  return { url, method: 'POST', payload: '{', headers: { 'content-type': type } };
}

const CODES: Readonly<Record<number, string>> = {
  400: 'invalid_',
  401: 'unauthenticated',
  403: 'permission_denied',
  404: 'not_found',
  405: 'method_not_allowed',
  422: 'invalid_request',
};

describe('--rate-limit', () => {
  test.each([
    ['120/1m', 120, 60_000],
    ['120/m', 120, 60_000],
    ['1/1s', 1, 1000],
    ['10/30s', 10, 30_000],
    ['5000/2h', 5000, 7_200_000],
    ['999999999/h', 999_999_999, 3_600_000],
  ])('%s means %i requests in %i ms', (text, limit, windowMs) => {
    expect(parseRateLimit(text)).toEqual({ limit, windowMs });
  });

  test('off means no limit', () => {
    expect(parseRateLimit('off')).toBeNull();
  });

  test.each([
    '',
    '120',
    '/1m',
    '0/1m',
    '120/0m',
    '-1/1m',
    '1.5/1m',
    '120/1d',
    '120/1',
    '120/ms',
    ' 120/1m',
    'OFF',
    '1e3/1m',
  ])('%j is rejected, and the message says what to write', (text) => {
    expect(() => parseRateLimit(text)).toThrow(/--rate-limit .*: write requests\/window, such as 120\/1m.* or off/);
  });
});

describe('the quota headers of an answer', () => {
  const { server } = serve(nothing, { rateLimit: { limit: 500, windowMs: 60_000 }, keys: () => [limited('secret')] });

  test.each(ANSWERS)('they are sent with %s, status %i', async (_, status, { headers, ...request }) => {
    const authorized = { authorization: 'Bearer secret', ...headers };
    const ask = async () => (await server).inject({ ...request, headers: authorized });
    const before = await ask();
    const answer = await ask();
    expect(answer.statusCode).toBe(status);
    if (status >= 400) expect(answer.json().error.code).toContain(CODES[status]);
    const { 'ratelimit-limit': limit, 'ratelimit-remaining': remaining, 'ratelimit-reset': reset } = answer.headers;
    expect([limit, Number(before.headers['ratelimit-remaining']) - Number(remaining)]).toEqual(['500', 1]);
    expect(reset).toMatch(/^[1-9]\d?$/);
    expect(answer.headers).not.toHaveProperty('retry-after');
    expect(answer.headers.date).toBe('Fri, 20 Nov 2026 12:00:00 GMT');
  });

  const ask = async (url: string) => (await server).inject({ url, headers: bearer('secret') });
  const left = async () => Number((await ask(`${API}environments`)).headers['ratelimit-remaining']);

  test.each(['/healthz', '/', '/openapi.json', '/docs'])('%s has none, because it costs no quota', async (url) => {
    const before = await left();
    const { statusCode, headers } = await ask(url);
    expect(statusCode).toBe(200);
    expect(headers).not.toHaveProperty('ratelimit-limit');
    expect(await left()).toBe(before - 1);
  });
});

describe('a request beyond the quota', () => {
  const asking = ANSWERS.filter(([, status]) => status !== 401);
  const keys = asking.map(([what]) => limited(encodeURIComponent(what)));
  const { server } = serve(nothing, { rateLimit: { limit: 1, windowMs: 60_000 }, keys: () => keys });

  test.each(asking)('it is 429: %s', async (what, status, { headers, ...request }) => {
    const authorized = { ...headers, authorization: `Bearer ${encodeURIComponent(what)}` };
    const ask = async () => (await server).inject({ ...request, headers: authorized });
    expect((await ask()).statusCode).toBe(status);
    const answer = await ask();
    const reset = String(answer.headers['ratelimit-reset']);
    expect(answer.headers).toMatchObject({
      'ratelimit-limit': '1',
      'ratelimit-remaining': '0',
      'ratelimit-reset': expect.stringMatching(/^[1-9]\d?$/),
      'retry-after': reset,
    });
    expect(answer.statusCode).toBe(429);
    if (request.method === 'HEAD') return;
    const message = expectRefusal({ status: answer.statusCode, body: answer.json() }, 429, 'rate_limited');
    expect(message).toContain(`${reset} s`);
  });
});

test('each token has its own quota', async () => {
  const keys = [limited('one'), limited('other')];
  const { get } = serve(nothing, { rateLimit: { limit: 1, windowMs: 60_000 }, keys: () => keys });
  const ask = async (token: string) => (await get('environments', bearer(token))).status;
  expect([await ask('one'), await ask('one'), await ask('other'), await ask('other')]).toEqual([200, 429, 200, 429]);
});

test('clients without a valid token share the quota of their address, whatever tokens they try', async () => {
  const { server } = serve(nothing, { rateLimit: { limit: 2, windowMs: 60_000 } });
  const ask = async (token: string, remoteAddress: string) => {
    const request = { url: `${API}environments`, remoteAddress, headers: bearer(token) };
    return (await (await server).inject(request)).statusCode;
  };
  expect([await ask('a', '10.0.0.1'), await ask('b', '10.0.0.1'), await ask('c', '10.0.0.1')]).toEqual([401, 401, 429]);
  expect(await ask('c', '10.0.0.2')).toBe(401);
  expect(await ask('secret', '10.0.0.1')).toBe(200);
});

test.each<[what: string, one: string, other: string, status: number]>([
  ['of one /64 network share a quota', '2001:db8:1:2::1', '2001:db8:1:2:ffff::9', 429],
  ['of two /64 networks have their own quotas', '2001:db8:1:2::1', '2001:db8:1:3::1', 401],
  ['that map IPv4 addresses have their own quotas', '::ffff:10.0.0.1', '::ffff:10.0.0.2', 401],
  ['and IPv4 share a quota if one maps the other', '::ffff:10.0.0.1', '10.0.0.1', 429],
])('IPv6 addresses %s', async (_, one, other, status) => {
  const { server } = serve(nothing, { rateLimit: { limit: 1, windowMs: 60_000 } });
  const ask = async (remoteAddress: string) =>
    (await (await server).inject({ url: `${API}environments`, remoteAddress })).statusCode;
  expect([await ask(one), await ask(other)]).toEqual([401, status]);
});

test('requests from any number of addresses do not reset a token’s quota', async () => {
  const { server, get } = serve(nothing, { rateLimit: { limit: 1, windowMs: 600_000 } });
  expect([(await get('environments')).status, (await get('environments')).status]).toEqual([200, 429]);
  for (let i = 0; i < 5200; i += 1)
    await (await server).inject({ url: '/nothing', remoteAddress: `10.0.${i >> 8}.${i & 255}` });
  expect((await get('environments')).status).toBe(429);
});

test('requests sent in one packet are answered up to the quota', async () => {
  const { server } = serve(nothing, { rateLimit: { limit: 5, windowMs: 600_000 } });
  const socket = open(await listening(server));
  const head = `GET ${API}environments HTTP/1.1\r\nhost: x\r\nauthorization: Bearer secret\r\n`;
  socket.write([...Array<string>(9).fill(head), `${head}connection: close\r\n`].map((each) => `${each}\r\n`).join(''));
  const answers = await received(socket);
  expect(answers.match(/HTTP\/1\.1 \d+/g)?.map((line) => line.slice(9))).toEqual([
    ...Array<string>(5).fill('200'),
    ...Array<string>(5).fill('429'),
  ]);
});

test('an address without quota left still gets the page and the OpenAPI document', async () => {
  const { server } = serve(nothing, { rateLimit: { limit: 1, windowMs: 60_000 } });
  const ask = async (url: string) => (await server).inject({ url, remoteAddress: '10.0.0.1' });
  const statusOf = async (url: string) => (await ask(url)).statusCode;
  expect([await statusOf('/page/mirror'), await statusOf('/page/mirror')]).toEqual([401, 429]);
  const files = ['/', '/docs'].map(async (url) => {
    const links = (await ask(url)).body.matchAll(/(?:src|href)="((?:ui|docs)\/[^"]*)"/g);
    return [url, ...[...links].map(([, link]) => `/${link}`)];
  });
  const urls = ['/openapi.json', ...(await Promise.all(files)).flat()];
  expect(urls.length).toBeGreaterThan(8);
  for (const url of [...urls, ...urls]) expect([url, await statusOf(url)]).toEqual([url, 200]);
});

test('without a limit, nothing is counted and no quota headers are sent', async () => {
  const { get } = serve(nothing, { rateLimit: null });
  expect((await get('environments')).headers).not.toHaveProperty('ratelimit-limit');
});

test.each([
  [99.9, 1],
  [100, 2],
  [1050, 11],
])('a request whose answer took %s ms to read counts as %i requests', async (cpuMs, counted) => {
  const server = fastify();
  onTestFinished(() => server.close());
  server.decorateRequest('reader', null);
  const quota = await openRateLimit(server, { limit: 100, windowMs: 60_000 });
  server.get('/', async (request, reply) => {
    await quota.count(request, reply);
    await quota.charge(request, cpuMs);
    return null;
  });
  const remaining = async () => Number((await server.inject('/')).headers['ratelimit-remaining']);
  expect((await remaining()) - (await remaining())).toBe(counted);
});
