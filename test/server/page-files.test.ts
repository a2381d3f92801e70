import { join } from 'node:path';
import fastify, { type FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { addPageFiles } from '../../src/server/page-files.ts';

let server: FastifyInstance;
beforeAll(async () => {
  server = fastify();
  await addPageFiles(server, join(inject('compiled'), 'ui'));
});
afterAll(() => server.close());

const get = (url: string, headers = {}) => server.inject({ url, headers });
const scriptOf = (page: string): string => `/${/src="(ui\/[^"]*\.js)"/.exec(page)?.[1]}`;

const POLICY = {
  'content-security-policy': "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
};

describe('the files of the page', () => {
  test('the page is at the root address and is revalidated each time', async () => {
    const { statusCode, headers, body } = await get('/');
    expect([statusCode, headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
    expect(headers).toMatchObject({ ...POLICY, 'cache-control': 'no-cache', etag: expect.any(String) });
    expect(body).toContain('<div id="page">');
    expect((await get('/', { 'if-none-match': headers.etag })).statusCode).toBe(304);
  });

  test('its files are immutable', async () => {
    const { statusCode, headers } = await get(scriptOf((await get('/')).body));
    expect([statusCode, headers['content-type']]).toEqual([200, 'application/javascript; charset=utf-8']);
    expect(headers).toMatchObject({ ...POLICY, 'cache-control': 'public, max-age=31536000, immutable' });
  });

  test.each([
    ['br', 'br'],
    ['gzip', 'gzip'],
    ['identity', undefined],
  ])('they are sent compressed to clients that accept %s', async (encoding, sent) => {
    const script = scriptOf((await get('/')).body);
    for (const url of ['/', script]) {
      const { headers } = await get(url, { 'accept-encoding': encoding });
      expect(headers['content-encoding']).toBe(sent);
      expect(headers['vary'] ?? (sent === undefined ? 'accept-encoding' : '')).toMatch(/accept-encoding/i);
    }
  });

  test.each(['/ui/nothing.js', '/ui/', '/ui/..%2findex.html', '/ui/index.html'])(
    'there is nothing at %s',
    async (url) => {
      expect((await get(url)).statusCode).toBeGreaterThanOrEqual(400);
    },
  );
});
