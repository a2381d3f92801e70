import { describe, expect, test } from 'vitest';
import { bearer } from './fixture.ts';
import { expectRefusal, serveSmallWorld } from './refusal.ts';
import { exchange, listening } from './sockets.ts';

const { server, get } = serveSmallWorld();
const RUNS = 'e/tests/t/executions';
const CARD = 'e/asset-health-scores/aggregate';

describe('an object that does not exist', () => {
  test.each([
    'nowhere/assets',
    'nowhere/assets/a',
    `nowhere/${CARD.slice(2)}`,
    'unlisted/assets',
    'E/assets',
    'e/assets/tables/bi',
    'e/assets/bi/a',
    'e/tests/nothing/executions',
    'e/tests/gone/executions',
    'e/tests/gone/executions/gone1',
    `${RUNS}/u1`,
    'e/latest-test-executions/gone1',
    'e/asset-health-scores/a',
    'e/asset-lineage/a',
    'e/column-lineage/a',
    'e/nothing',
    'e/tests/t/nothing',
    'e/assets/tables/a/b',
    'e',
    '',
    'environments/e',
    '../../etc/passwd',
  ])('an address of nothing is 404 not_found: %s', async (path) => {
    expectRefusal(await get(path), 404, 'not_found');
  });
});

describe('a missing permission, checked before anything else', () => {
  test.each<[what: string, headers: Record<string, string>]>([
    ['no header', {}],
    ['a wrong token', { authorization: 'Bearer wrong' }],
    ['an empty token', { authorization: 'Bearer ' }],
    ['no scheme', { authorization: 'secret' }],
    ['Basic', { authorization: `Basic ${Buffer.from('secret:').toString('base64')}` }],
    ['Basic with the token itself', { authorization: 'Basic secret' }],
    ['two tokens', { authorization: 'Bearer secret, Bearer secret' }],
    ['the token in another header', { 'x-api-key': 'secret' }],
  ])('a missing or wrong token is 401 unauthenticated: %s', async (_, headers) => {
    for (const path of [
      'environments',
      'e/assets',
      'e/assets?limit=0',
      'nowhere/assets',
      'e/nothing',
      'e/tests/%zz',
      CARD,
    ])
      expectRefusal(await get(path, headers), 401, 'unauthenticated');
  });

  test('a token in the query is 401 unauthenticated', async () => {
    expectRefusal(await get('environments?access_token=secret', {}), 401, 'unauthenticated');
  });

  const LIMITED = { authorization: 'Bearer limited' };

  test.each(['f/tests?limit=0', 'nowhere/tests', 'e/assets/nothing', `${CARD}?ids=nothing`])(
    'a token of another environment or without the scope is 403 permission_denied: %s',
    async (path) => {
      expectRefusal(await get(path, LIMITED), 403, 'permission_denied');
    },
  );
});

describe('a malformed request', () => {
  test.each(['e/tests/%zz/executions', 'e/assets/%', '%E0%A4%A/assets', 'e/assets/%C3%28'])(
    'malformed percent encoding in a path is 400 invalid_request: %s',
    async (path) => {
      expectRefusal(await get(path), 400, 'invalid_request');
    },
  );

  test.each(['ids=%zz', 'tags=caf%E9', 'limit=1&tags=%', '%C3%28=x', 'ids=%ff%fe'])(
    'a query that is not percent-encoded UTF-8 is 400 invalid_request, because it would match nothing: %s',
    async (query) => {
      expectRefusal(await get(`e/assets?${query}`), 400, 'invalid_request');
    },
  );

  test.each(['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const)('%s is 405 method_not_allowed', async (method) => {
    for (const path of ['environments', 'e/assets', 'e/assets/a', CARD]) {
      const answer = await (await server).inject({ method, url: `/public/beta/${path}`, headers: bearer('secret') });
      expectRefusal({ status: answer.statusCode, body: answer.json() }, 405, 'method_not_allowed');
    }
  });

  test.each(['application/json', 'text/plain', 'odd/odd', ''])(
    'a method that is not allowed is 405 whatever its body: "%s"',
    async (type) => {
      const headers = { ...bearer('secret'), ...(type === '' ? {} : { 'content-type': type }) };
      const request = { method: 'POST', url: '/public/beta/e/assets', payload: '{', headers } as const;
      const answer = await (await server).inject(request);
      expectRefusal({ status: answer.statusCode, body: answer.json() }, 405, 'method_not_allowed');
    },
  );

  test.each([
    'good day\r\n\r\n',
    'GET /public/beta/environments HTTP/9.9\r\nHost: x\r\n\r\n',
    'GET /public/beta/e nv HTTP/1.1\r\nHost: x\r\n\r\n',
    'GET / HTTP/1.1\r\nHost: x\r\nBad Header: y\r\n\r\n',
  ])('bytes that are not HTTP are 400 with the envelope: %j', async (text) => {
    const [head, body] = await exchange(await listening(server), text);
    expectRefusal({ status: Number(head.split(' ')[1]), body: JSON.parse(body) }, 400, 'invalid_request');
    expect(head.toLowerCase()).toContain('content-type: application/json');
  });
});
