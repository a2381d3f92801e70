import { gunzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { fillWorld } from '../page-data/world.ts';
import { bearer, serve } from './fixture.ts';

describe.each([0, 1])('with %i threads, the data of the page', (threads) => {
  const { server } = serve(fillWorld, { threads });
  const ask = async (path: string, headers: Record<string, string> = {}) =>
    (await server).inject({ url: `/page/${path}`, headers: { ...bearer('secret'), ...headers } });

  test('it is not sent again while the mirror is unchanged', async () => {
    for (const path of ['mirror', 'environments/e/failing', 'environments/e/trends?by=owner']) {
      const first = await ask(path);
      const held = { 'if-none-match': String(first.headers['etag']) };
      expect([first.statusCode, first.headers['cache-control']]).toEqual([200, 'private, no-cache']);
      expect([path, (await ask(path, held)).statusCode]).toEqual([path, 304]);
    }
  });

  test('it is compressed for clients that accept gzip', async () => {
    const packed = await ask('environments/e/failing', { 'accept-encoding': 'gzip' });
    expect(packed.headers['content-encoding']).toBe('gzip');
    const plain = await ask('environments/e/failing');
    expect(gunzipSync(packed.rawPayload).toString()).toBe(plain.body);
  });

  test('it needs a token, and an existing environment and asset', async () => {
    const statusOf = async (path: string, headers?: Record<string, string>) => (await ask(path, headers)).statusCode;
    expect(await statusOf('mirror', { authorization: 'Bearer other' })).toBe(401);
    expect(await statusOf('environments/none/failing')).toBe(404);
    const missing = await ask('environments/e/asset?id=nobody');
    expect([missing.statusCode, missing.json()]).toEqual([
      404,
      { error: { code: 'not_found', message: 'Asset nobody does not exist' } },
    ]);
    expect(await statusOf('environments/e/node?id=mgone')).toBe(404);
    expect(await statusOf('environments/e/nothing')).toBe(404);
  });

  test.each([
    'asset',
    'neighbours?id=m1',
    'neighbours?id=m1&direction=sideways',
    'trends?by=asset',
    'trends?days=91',
    'failing?limit=501',
    `search?q=${'x'.repeat(201)}`,
  ])('an invalid parameter is 422: %s', async (view) => {
    expect((await ask(`environments/e/${view}`)).statusCode).toBe(422);
  });
});

test('the OpenAPI document leaves out the page’s data', async () => {
  const { body } = await (await serve().server).inject('/openapi.json');
  expect(body).toContain('/public/beta/environments');
  expect(body).not.toContain('/page');
});
