import { gzipSync } from 'node:zlib';
import nock from 'nock';
import { describe, expect, test } from 'vitest';
import { EMPTY_PAGE, type Reply } from '../support/api-server.ts';
import { always, answerWith } from './nock-setup.ts';
import { ASSETS, errorReply, failureOf, TOKEN } from './setup.ts';

describe('retries', () => {
  test.each<[string, Reply]>([
    ['a 500', errorReply(500, 'internal_error')],
    ['a 502 in HTML', errorReply(502)],
    ['a body that is not JSON', { body: '{"items":[{"id":"x"' }],
    ['a body without envelope', { body: { data: [] } }],
    ['an empty body', { status: 204, body: '' }],
    ['a body that contradicts its content-encoding', { headers: { 'content-encoding': 'gzip' }, body: EMPTY_PAGE }],
    ['a body with an unknown content-encoding', { headers: { 'content-encoding': 'snappy' }, body: EMPTY_PAGE }],
  ])('%s is retried with growing delays (R24)', async (_, reply) => {
    const { requests, source, time } = answerWith([reply, reply, { body: { items: [1] } }]);
    expect((await source.page(ASSETS)).items).toEqual([1]);
    expect(requests).toHaveLength(3);
    expect(time.slept).toEqual([250, 500]);
  });

  test('a 503 is not retried before the time it asks for (R24)', async () => {
    const { source, time } = answerWith([{ status: 503, headers: { 'retry-after': '9' } }, {}]);
    await source.page(ASSETS);
    expect(time.slept).toEqual([9000]);
  });

  test('bad bodies at every attempt fail the stream (R24)', async () => {
    const { requests, source } = answerWith([always({ body: 'no' })]);
    const failure = await failureOf(source.page(ASSETS));
    expect(failure.recovery).toBe('stream');
    expect(requests).toHaveLength(3);
  });
});

describe('a page whose attempts are cut off by the end of the run', () => {
  const cutOff = async (replies: Reply[], maxRequests: number, failedTries?: number) => {
    const { source } = answerWith(replies, { maxRequests });
    const request = failedTries === undefined ? ASSETS : { ...ASSETS, failedTries };
    return failureOf(source.page(request));
  };

  test('the error counts the attempts that failed because of the page, over all runs (R24)', async () => {
    expect(await cutOff([errorReply(500)], 1)).toMatchObject({ recovery: 'budget', failedTries: 1 });
    expect(await cutOff([errorReply(500), errorReply(503)], 2)).toMatchObject({ recovery: 'budget', failedTries: 2 });
    expect(await cutOff([errorReply(500)], 1, 1)).toMatchObject({ recovery: 'budget', failedTries: 2 });
    expect(await cutOff([errorReply(500), { body: 'no list' }], 2, 0)).toMatchObject({ failedTries: 0 });
    expect(await cutOff([], 0, 1)).toMatchObject({ recovery: 'budget', failedTries: null });
  });

  test('the last attempt fails the page, whether or not the run ends with it (R24)', async () => {
    const failure = { recovery: 'halve-page', message: expect.stringContaining('after 3 tries') };
    expect(await cutOff([errorReply(500)], 1, 2)).toMatchObject(failure);
    expect(await cutOff([errorReply(500)], 9, 2)).toMatchObject(failure);
    expect(await cutOff([errorReply(500), errorReply(500), errorReply(500)], 3)).toMatchObject(failure);
  });
});

describe('a permanent failure', () => {
  test.each<[string, Reply, string]>([
    ['400', errorReply(400, 'invalid_request'), 'restart-round'],
    ['400 of an unknown code', errorReply(400, 'new_code'), 'restart-round'],
    ['400 whose message speaks of an invalid_cursor', errorReply(400, 'other', 'invalid_cursor'), 'restart-round'],
    ['400 invalid_cursor', errorReply(400, 'invalid_cursor'), 'restart-read'],
    ['401', errorReply(401, 'unauthenticated'), 'token'],
    ['401 without envelope', errorReply(401), 'token'],
    ['403', errorReply(403, 'permission_denied'), 'forbidden'],
    ['403 without envelope', errorReply(403), 'forbidden'],
    ['404 with the envelope', errorReply(404, 'not_found'), 'not-live'],
    ['404 without it', errorReply(404), 'stream'],
    ['404 with another JSON', { status: 404, body: { detail: 'Not Found' } }, 'stream'],
    ['404 with a very long body', { status: 404, body: 'x'.repeat(100_000) }, 'stream'],
    ['422', errorReply(422, 'invalid_request'), 'restart-round'],
    ['422 invalid_cursor', errorReply(422, 'invalid_cursor'), 'restart-round'],
    ['410', errorReply(410), 'restart-round'],
    ['414: the request was too long', errorReply(414), 'halve-page'],
    ['431: the request was too long', errorReply(431), 'halve-page'],
  ])('%s is not retried (R24)', async (_, reply, recovery) => {
    const { requests, source } = answerWith([reply]);
    expect((await failureOf(source.page(ASSETS))).recovery).toBe(recovery);
    expect(requests).toHaveLength(1);
  });

  const gzip = { 'content-encoding': 'gzip' };
  test.each([
    [400, 'restart-round'],
    [401, 'token'],
    [403, 'forbidden'],
    [404, 'stream'],
    [422, 'restart-round'],
    [302, 'stream'],
  ] as const)('%i is not retried if its body cannot be decompressed (R24)', async (status, recovery) => {
    const whole = gzipSync('{"error":{"code":"not_found","message":"x"}}');
    for (const body of ['', '<html>', whole.subarray(0, 20)]) {
      const { requests, source } = answerWith([{ status, headers: gzip, body }]);
      expect((await failureOf(source.page(ASSETS))).recovery).toBe(recovery);
      expect(requests).toHaveLength(1);
    }
  });

  test.each<[string, Reply, number]>([
    ['429 is waited for', { status: 429, headers: { ...gzip, 'retry-after': '7' }, body: 'no' }, 7000],
    ['502 is retried', { status: 502, headers: gzip, body: 'no' }, 250],
  ])('a %s even if its body cannot be decompressed (R23, R24)', async (_, reply, delayMs) => {
    const { source, time } = answerWith([reply, {}], { retries: 1 });
    await source.page(ASSETS);
    expect(time.slept).toEqual([delayMs]);
  });

  test('a 403 names the path and what the token may lack', async () => {
    const { source } = answerWith([errorReply(403, 'permission_denied', 'needs the tests view scope')]);
    const { message } = await failureOf(source.page(ASSETS));
    expect(message).toContain('/public/beta/env-1/assets');
    expect(message).toContain('needs the tests view scope');
    expect(message).toContain('view scope.');
  });

  test('a redirect is not followed, and its message shows all but the query (R25)', async () => {
    const location = 'https://elsewhere.example.com/login?secret=1';
    let followed = 0;
    nock('https://elsewhere.example.com')
      .get(/^/)
      .optionally()
      .reply(() => [200, `${++followed}`]);
    const { source } = answerWith([{ status: 302, headers: { location } }]);
    const { recovery, message } = await failureOf(source.page(ASSETS));
    expect([recovery, followed]).toEqual(['stream', 0]);
    expect(message).toContain('302, a redirect to https://elsewhere.example.com/login,');
    expect(message).not.toContain('secret');
  });

  test.each([
    ['/login?secret=1', '/login'],
    ['//user:secret@sso.example.com:8443/a#secret', 'http://sso.example.com:8443/a'],
    ['mailto:a@b?body=secret', 'mailto:a@b'],
    ['app://user:secret@host/a', 'app://host/a'],
    ['http://[', '/'],
    [undefined, '/'],
  ])('a redirect to %s is shown as %s (R25)', async (location, shown) => {
    const { source } = answerWith([{ status: 302, headers: location === undefined ? {} : { location } }]);
    const { message } = await failureOf(source.page(ASSETS));
    expect(message).toContain(`302, a redirect to ${shown}, which`);
  });

  test('the service’s text is quoted on one line, truncated, and without the token (R25)', async () => {
    const long = `no\u001b[31m\r\n\u2028way ${TOKEN} ${'x'.repeat(500)}`;
    const { source } = answerWith([errorReply(403, TOKEN, long)]);
    const { message } = await failureOf(source.page(ASSETS));
    expect(message).toContain('no [31m way [token] xxx');
    expect(message).not.toContain(TOKEN);
    expect(message).not.toMatch(/\p{Cc}|\u2028/u);
    expect(message.length).toBeLessThan(450);
  });
});
