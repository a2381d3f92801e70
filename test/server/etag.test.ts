import { gunzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { columns, environments } from '../../schema/assets.ts';
import { rootToken } from '../../src/server/access.ts';
import { acceptsGzip } from '../../src/server/etag.ts';
import { bearer, column, insert, NOW, restricted, serve } from './fixture.ts';

const MANY = Array.from({ length: 200 }, (_, n) => column(`c${n}`));
const fill: Parameters<typeof serve>[0] = ({ db }) => insert(db, columns, MANY);
const keys = () => KEYS;
const KEYS = [rootToken('all', 'secret'), restricted('other', { paths: ['models'] })];

/** An answer as sent over the wire. */
async function asked({ server }: ReturnType<typeof serve>, path: string, headers: Record<string, string> = {}) {
  const url = `/public/beta/${path}`;
  const answer = await (await server).inject({ method: 'GET', url, headers: { ...bearer('secret'), ...headers } });
  return { status: answer.statusCode, headers: answer.headers, raw: answer.rawPayload };
}

const tagOf = ({ headers }: { headers: Record<string, unknown> }): string => String(headers['etag']);

describe.each([0, 1])('with %i threads, an answer that the client already has', (threads) => {
  const options = { threads, keys };
  const unchanged = serve(fill, options);

  test.each([
    'environments',
    'e/columns',
    'e/columns/c1',
    'e/columns?synced_since=2026-11-20T12:00:00Z',
    'e/tests?limit=1',
  ])('it is not sent again: %s', async (path) => {
    const first = await asked(unchanged, path);
    expect(first).toMatchObject({
      status: 200,
      headers: { 'cache-control': 'private, no-cache', vary: 'accept-encoding, authorization' },
    });
    const again = await asked(unchanged, path, { 'if-none-match': `"other", ${tagOf(first)}` });
    expect(again).toMatchObject({ status: 304, headers: { etag: tagOf(first), 'obsync-mirrored-at': NOW } });
    expect(again.raw).toHaveLength(0);
  });

  test.each(['environments', 'e/columns', 'e/columns/c1', 'e/tests?limit=1'])(
    'it is not sent to a client that has any answer (`*`), because there is one: %s',
    async (path) => {
      const any = await asked(unchanged, path, { 'if-none-match': '*', 'accept-encoding': 'gzip' });
      expect(any).toMatchObject({ status: 304, headers: { etag: expect.stringMatching(/^W/) } });
      expect(any.raw).toHaveLength(0);
      expect(any.headers).not.toHaveProperty('content-encoding');
    },
  );

  test('HEAD gets the same, and no length, which would be that of the whole answer (RFC 9110, 8.6)', async () => {
    const ask = async (headers: Record<string, string>) =>
      (await unchanged.server).inject({
        method: 'HEAD',
        url: '/public/beta/e/columns',
        headers: { ...bearer('secret'), ...headers },
      });
    const first = await ask({});
    expect([first.statusCode, Number(first.headers['content-length']) > 1000]).toEqual([200, true]);
    const again = await ask({ 'if-none-match': tagOf(first) });
    expect([again.statusCode, again.headers['content-length']]).toEqual([304, undefined]);
    expect(tagOf(again)).toBe(tagOf(first));
  });

  test('it is sent again once a sync has written anything, even if the mirror’s clock has not moved', async () => {
    const served = serve(fill, options);
    const tag = tagOf(await asked(served, 'environments'));
    served.writing.db.update(environments).set({ missing_since: NOW }).run();
    const after = await asked(served, 'environments', { 'if-none-match': tag });
    expect({ status: after.status, body: after.raw.toString() }).toEqual({ status: 200, body: '[]' });
  });

  test('it has no tag if a sync wrote between the request and its read, because a tag identifies one answer', async () => {
    let atRequest = () => {};
    const withWriting = (): typeof KEYS => {
      atRequest();
      return KEYS;
    };
    const served = serve(fill, { ...options, keys: withWriting });
    const tag = tagOf(await asked(served, 'environments'));
    atRequest = () => void served.writing.db.update(environments).set({ missing_since: NOW }).run();
    const during = await asked(served, 'environments');
    expect({ status: during.status, body: during.raw.toString() }).toEqual({ status: 200, body: '[]' });
    expect(during.headers).not.toHaveProperty('etag');
    atRequest = () => {};
    const after = await asked(served, 'environments', { 'if-none-match': tag });
    expect(after).toMatchObject({ status: 200, headers: { etag: expect.any(String) } });
    expect(tagOf(after)).not.toBe(tag);
  });

  test('its tag differs for another token, path or query', async () => {
    const tag = tagOf(await asked(unchanged, 'e/columns'));
    for (const [path, token] of [
      ['e/columns', 'other'],
      ['e/columns?limit=500', 'secret'],
      ['e/assets', 'secret'],
    ] as const)
      expect(await asked(unchanged, path, { ...bearer(token), 'if-none-match': tag })).toMatchObject({ status: 200 });
  });

  test('its tag does not hide an unknown token, an invalid request or a missing object', async () => {
    const held = { 'if-none-match': tagOf(await asked(unchanged, 'e/columns')) };
    expect(await asked(unchanged, 'e/columns', { ...held, authorization: 'Bearer none' })).toMatchObject({
      status: 401,
    });
    expect(await asked(unchanged, 'e/columns?limit=x', held)).toMatchObject({ status: 422 });
    for (const path of ['f/columns', 'e/columns/none', 'e/tests/none/executions']) {
      const missing = await asked(unchanged, path, { 'if-none-match': '*' });
      expect(missing).toMatchObject({ status: 404 });
      expect(missing.headers).not.toHaveProperty('etag');
    }
  });

  test('it counts against the rate limit even if it is not sent', async () => {
    const served = serve(fill, { ...options, rateLimit: { limit: 2, windowMs: 3_600_000 } });
    const held = { 'if-none-match': tagOf(await asked(served, 'e/columns')) };
    expect(await asked(served, 'e/columns', held)).toMatchObject({ status: 304 });
    expect(await asked(served, 'e/columns', held)).toMatchObject({ status: 429 });
  });

  test('it has the same tag when compressed', async () => {
    const plain = await asked(unchanged, 'e/columns');
    const packed = await asked(unchanged, 'e/columns', { 'accept-encoding': 'br, gzip;q=0.5' });
    expect(packed.headers).toMatchObject({ 'content-encoding': 'gzip', etag: tagOf(plain) });
    expect(packed.raw.length).toBeLessThan(plain.raw.length / 5);
    expect(gunzipSync(packed.raw)).toEqual(plain.raw);
    expect(plain.headers).not.toHaveProperty('content-encoding');
    const small = await asked(unchanged, 'e/columns/c1', { 'accept-encoding': 'gzip' });
    expect(small.headers).not.toHaveProperty('content-encoding');
  });
});

test.each<[string | undefined, boolean]>([
  [undefined, false],
  ['', false],
  ['gzip', true],
  ['GZIP', true],
  ['deflate, gzip;q=1.0', true],
  ['*', true],
  ['gzip;q=0', false],
  ['gzip;q=0, *', false],
  ['*;q=0', false],
  ['br', false],
])('whether an answer is compressed for Accept-Encoding %s: %s', (header, expected) => {
  expect(acceptsGzip(header)).toBe(expected);
});
