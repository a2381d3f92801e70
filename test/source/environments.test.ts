import nock from 'nock';
import { describe, expect, test } from 'vitest';
import type { Reply } from '../support/api-server.ts';
import { always, answerWith, SERVICE_URL } from './nock-setup.ts';
import { errorReply, failureOf } from './setup.ts';

const page = (id: string, next: string | null): Reply => ({
  body: { items: [{ id }], has_more: next !== null, next_cursor: next },
});
const refused = errorReply(400, 'invalid_cursor');

describe('the list of environments', () => {
  test.each([[[{ id: 'e' }]], [{ items: [{ id: 'e' }] }]])(
    'it is read from an array or from an envelope: %j',
    async (body) => {
      const { requests, source } = answerWith([{ body }]);
      expect(await source.environments()).toEqual([{ id: 'e' }]);
      expect(requests[0]?.target).toBe('/public/beta/environments');
    },
  );

  test('it is requested again if the body is cut off (R24)', async () => {
    const { requests, source } = answerWith([{ body: '[{"id":"e' }, { body: [] }]);
    expect(await source.environments()).toEqual([]);
    expect(requests).toHaveLength(2);
  });

  test.each<[string, Reply]>([
    ['a page of HTML', { headers: { 'content-type': 'text/html' }, body: 'Welcome' }],
    ['HTML without its type', { body: '<html>log in</html>' }],
    ['JSON of something else', { body: { ok: true } }],
    ['a redirect to a login', { status: 302, headers: { location: 'https://login.example.com/?back=1' } }],
  ])('%s instead of it fails at once, names the host and says what to check', async (_, reply) => {
    const { requests, source } = answerWith([reply]);
    const { recovery, message } = await failureOf(source.environments());
    expect([recovery, requests.length]).toEqual(['run', 1]);
    expect(message).toContain('api.example.com answered');
    expect(message.endsWith('check the base URL, and whether a gateway or proxy asks for a login.')).toBe(true);
  });

  test.each<[string, Reply[], string]>([
    ['403', [errorReply(403, 'permission_denied')], 'The token may lack access to the environment or the view scope.'],
    ['404', [errorReply(404, 'not_found')], 'Check the base URL.'],
    ['404 without envelope', [errorReply(404)], 'Check the base URL.'],
    ['400 invalid_cursor', [errorReply(400, 'invalid_cursor')], 'Check the base URL.'],
    [
      '500 at every attempt',
      [errorReply(500), errorReply(500), errorReply(500)],
      'Try again later; if it fails again, check the base URL and the network.',
    ],
  ])('it ends the run if it cannot be read: %s', async (_, replies, advice) => {
    const { source } = answerWith(replies);
    const failure = await failureOf(source.environments());
    expect(failure.recovery).toBe('run');
    expect(failure.message).toMatch(/^Cannot list the environments: /);
    expect(failure.message.endsWith(` ${advice}`)).toBe(true);
  });

  test('a host that cannot be found fails at once, named; a name server that is busy is asked again', async () => {
    const failWith = (code: string) =>
      nock(SERVICE_URL)
        .get(/^/)
        .replyWithError(Object.assign(new Error('dns'), { code }));
    failWith('ENOTFOUND');
    const { source, time } = answerWith([]);
    const { message } = await failureOf(source.environments());
    expect(message).toContain('the address of api.example.com cannot be found (ENOTFOUND). Check the base URL');
    expect(time.slept).toEqual([]);
    nock(SERVICE_URL)
      .get(/^/)
      .replyWithError(Object.assign(new Error('dns'), { code: 'ENOTFOUND', hostname: 'proxy.example.com' }));
    const proxies = { httpProxy: '', httpsProxy: 'http://proxy.example.com:3128/', noProxy: '*' };
    const { message: ofProxy } = await failureOf(answerWith([], { proxies }).source.environments());
    expect(ofProxy).toContain(
      'the address of the proxy proxy.example.com:3128 cannot be found (ENOTFOUND). Check HTTPS',
    );
    failWith('EAI_AGAIN');
    expect(await answerWith([{ body: [] }]).source.environments()).toEqual([]);
  });

  test('a refused token is reported as such', async () => {
    const { source } = answerWith([errorReply(401, 'unauthenticated')]);
    expect((await failureOf(source.environments())).recovery).toBe('token');
  });
});

describe('a list of environments in pages', () => {
  test('every page is read, so no environment of a later page counts as missing (R8)', async () => {
    const { requests, source } = answerWith([page('e1', 'x/1'), page('e2', 'x/2'), page('e3', null)]);
    expect(await source.environments()).toEqual([{ id: 'e1' }, { id: 'e2' }, { id: 'e3' }]);
    expect(requests.map(({ target }) => target)).toEqual([
      '/public/beta/environments',
      '/public/beta/environments?cursor=x%2F1',
      '/public/beta/environments?cursor=x%2F2',
    ]);
  });

  test('a page of HTML in place of a later page is retried, because the service has answered before (R24)', async () => {
    const { source } = answerWith([page('e1', 'x'), { body: '<html>' }, page('e2', null)]);
    expect(await source.environments()).toEqual([{ id: 'e1' }, { id: 'e2' }]);
  });

  test.each<[string, Reply[]]>([
    ['repeats a cursor', [page('e1', 'x'), page('e2', 'x')]],
    ['answers has_more without a cursor', [{ body: { items: [], has_more: true } }]],
  ])('a page that %s ends the run (R8)', async (what, replies) => {
    const { source } = answerWith(replies);
    const failure = await failureOf(source.environments());
    expect(failure.recovery).toBe('run');
    expect(failure.message).toContain(what);
  });

  test('it starts over after invalid_cursor, at most three times (R7)', async () => {
    const again = [page('e1', 'x'), refused, page('e2', 'x'), page('e3', null)];
    const { source } = answerWith(again);
    expect(await source.environments()).toEqual([{ id: 'e2' }, { id: 'e3' }]);
    const never = answerWith([always(({ target }) => (target.includes('cursor') ? refused : page('e1', 'x')))]);
    expect((await failureOf(never.source.environments())).recovery).toBe('run');
    expect(never.requests).toHaveLength(8);
  });
});
