import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { endsRun } from '../../src/core/errors.ts';
import { createHttpSource } from '../../src/source/http-source.ts';
import { EMPTY_PAGE, type Step, startApiServer } from '../support/api-server.ts';
import { ASSETS, failureOf, openSource, setUp, TOKEN, virtualTime } from './setup.ts';

const error = (status: number, code?: string, message = 'as it is'): Step => ({
  status,
  body: code === undefined ? '<html>no envelope</html>' : { error: { code, message } },
});

describe('a page', () => {
  test('is asked for once, with the token and the cursor, under /public/beta', async () => {
    const { server, source } = await setUp([{ body: { items: [{ id: 'ü' }], has_more: true, next_cursor: 'next' } }]);
    const page = await source.page({ ...ASSETS, cursor: 'c1' });
    expect(page).toEqual({ items: [{ id: 'ü' }], hasMore: true, nextCursor: 'next' });
    expect(server.requests).toHaveLength(1);
    expect(server.requests[0]).toMatchObject({
      method: 'GET',
      target: '/public/beta/env-1/assets?limit=2000&cursor=c1',
      headers: {
        authorization: `Bearer ${TOKEN}`,
        accept: 'application/json',
        'accept-encoding': 'gzip',
        'user-agent': 'obsync/test',
      },
    });
  });

  test('goes to the path of the base URL when it has one', async () => {
    const { server } = await setUp([{}]);
    await openSource(`${server.url}/gateway`).page(ASSETS);
    expect(server.requests[0]?.target).toMatch(/^\/gateway\/public\/beta\/env-1\/assets/);
  });

  test('pages one after the other use connections again', async () => {
    const { server, source } = await setUp([{}]);
    for (let i = 0; i < 20; i++) await source.page(ASSETS);
    expect(server.connections()).toBeLessThanOrEqual(4);
  });

  test('every request sent is counted and announced, retries and refusals too', async () => {
    const { source, events } = await setUp([error(500, 'x'), { status: 429, headers: { 'retry-after': '1' } }, {}]);
    let announced = 0;
    await source.page(ASSETS, () => announced++);
    expect([announced, source.requests()]).toEqual([3, 3]);
    const requests = events.filter((event) => event.type === 'request');
    expect(requests.map(({ path, status }) => [path, status])).toEqual([
      ['/public/beta/env-1/assets', 500],
      ['/public/beta/env-1/assets', 429],
      ['/public/beta/env-1/assets', 200],
    ]);
  });
});

describe('a page cut off from its further tries by the end of the run (R24)', () => {
  const cutOff = async (steps: Step[], maxRequests: number, failedTries?: number) => {
    const { source } = await setUp(steps, { maxRequests });
    const request = failedTries === undefined ? ASSETS : { ...ASSETS, failedTries };
    return failureOf(source.page(request));
  };

  test('tells how many of them failed, by the page alone, in all runs', async () => {
    expect(await cutOff([error(500), error(503)], 1)).toMatchObject({ recovery: 'budget', failedTries: 1 });
    expect(await cutOff([error(500), error(503)], 2)).toMatchObject({ recovery: 'budget', failedTries: 2 });
    expect(await cutOff([error(500)], 1, 1)).toMatchObject({ recovery: 'budget', failedTries: 2 });
    expect(await cutOff([error(500), { body: 'no list' }], 2, 0)).toMatchObject({ failedTries: 0 });
    expect(await cutOff([{}], 0, 1)).toMatchObject({ recovery: 'budget', failedTries: null });
  });

  test('fails with the last of them, whether the run ends with it or not', async () => {
    const failure = { recovery: 'shrink', message: expect.stringContaining('after 3 tries') };
    expect(await cutOff([error(500)], 1, 2)).toMatchObject(failure);
    expect(await cutOff([error(500)], 9, 2)).toMatchObject(failure);
    expect(await cutOff([error(500)], 3)).toMatchObject(failure);
  });
});

describe('the number of tables that match', () => {
  const AGGREGATE = { path: ['env-1', 'asset-health-scores', 'aggregate'], query: { db_names: ['d 1'] } };

  test('is the matched_count of the aggregate, asked for with the filters alone', async () => {
    const { server, source } = await setUp([{ body: { matched_count: 7, total: {}, dimensions: [] } }]);
    expect(await source.matchedCount(AGGREGATE)).toBe(7);
    expect(server.requests[0]?.target).toBe('/public/beta/env-1/asset-health-scores/aggregate?db_names=d%201');
  });

  test.each([{}, { matched_count: '7' }, { matched_count: -1 }, { matched_count: 0.5 }, []])(
    'is asked for again when the answer is %j',
    async (body) => {
      const { source } = await setUp([{ body }, { body: { matched_count: 0 } }]);
      expect(await source.matchedCount(AGGREGATE)).toBe(0);
    },
  );
});

describe('tried again, with growing delays (R24)', () => {
  test.each<[string, Step]>([
    ['a 500', error(500, 'internal_error')],
    ['a 502 in HTML', error(502)],
    ['a reset connection', 'reset'],
    ['a body cut off', { truncate: { body: { items: ['long enough to be cut'] } } }],
    ['a body that is no JSON', { body: '{"items":[{"id":"x"' }],
    ['a body without envelope', { body: { data: [] } }],
    ['an empty body', { status: 204, body: '' }],
    ['a body that is not compressed as it says', { headers: { 'content-encoding': 'gzip' }, body: EMPTY_PAGE }],
    ['a body compressed in an unknown way', { headers: { 'content-encoding': 'snappy' }, body: EMPTY_PAGE }],
  ])('%s', async (_, step) => {
    const { server, source, time } = await setUp([step, step, { body: { items: [1] } }]);
    expect((await source.page(ASSETS)).items).toEqual([1]);
    expect(server.requests).toHaveLength(3);
    expect(time.slept).toEqual([250, 500]);
  });

  test('an answer that does not end in time', async () => {
    const { server, source } = await setUp(['hang', {}], { timeoutMs: 30 });
    await source.page(ASSETS);
    expect(server.requests).toHaveLength(2);
  });

  test('an answer whose body never stops coming, however little at a time', async () => {
    const { server, source } = await setUp(['trickle', {}], { timeoutMs: 50 });
    await source.page(ASSETS);
    expect(server.requests).toHaveLength(2);
  });

  test('but none that this process was too busy to hear', async () => {
    let nowMs = 0;
    let answer = (): void => {};
    // Each tick of the time-out comes later than it may: of none can be said that the service has not answered meanwhile.
    const now = vi.spyOn(performance, 'now').mockImplementation(() => {
      nowMs += 5000;
      if (nowMs > 500_000) answer();
      return nowMs;
    });
    onTestFinished(() => now.mockRestore());
    const answered = new Promise<Step>((resolve) => {
      answer = () => resolve({});
    });
    const { server, source } = await setUp([() => answered], { timeoutMs: 30 });
    await source.page(ASSETS);
    expect(server.requests).toHaveLength(1);
  });

  test('a 503 not before the time that it asks for', async () => {
    const { source, time } = await setUp([{ status: 503, headers: { 'retry-after': '9' } }, {}]);
    await source.page(ASSETS);
    expect(time.slept).toEqual([9000]);
  });

  test('the tries are counted for each page', async () => {
    const { server, source } = await setUp(['reset', 'reset', {}, 'reset', 'reset', {}]);
    await source.page(ASSETS);
    await source.page(ASSETS);
    expect(server.requests).toHaveLength(6);
  });

  test('one that waits for its next try keeps nobody else waiting', async () => {
    const time = virtualTime();
    const { server, source } = await setUp([error(500), {}], {
      concurrency: 1,
      clock: time.clock,
      sleep: (_, signal) => new Promise((_resolve, reject) => signal.addEventListener('abort', reject)),
    });
    const failing = source.page(ASSETS).catch(() => {});
    await server.received(1);
    await source.page(ASSETS);
    expect(server.requests).toHaveLength(2);
    await source.close();
    await failing;
  });
});

describe('after the last try (R24)', () => {
  test('a page that met only 5xx and time-outs may be asked for in halves', async () => {
    const { server, source } = await setUp([error(500, 'x'), 'hang', error(503)], { timeoutMs: 30 });
    expect((await failureOf(source.page(ASSETS))).recovery).toBe('shrink');
    expect(server.requests).toHaveLength(3);
  });

  test.each<[string, Step[]]>([
    ['resets', ['reset']],
    ['bad bodies', [{ body: 'no' }]],
    ['a mixture', [error(500), error(500), 'reset']],
  ])('%s fail the stream', async (_, steps) => {
    const { server, source } = await setUp(steps);
    const failure = await failureOf(source.page(ASSETS));
    expect(failure.recovery).toBe('stream');
    expect(server.requests).toHaveLength(3);
  });

  test('the failure keeps its cause and says what to do on one line', async () => {
    const { source } = await setUp(['reset']);
    const failure = await failureOf(source.page(ASSETS));
    expect(failure.cause).toBeInstanceOf(Error);
    expect(failure.message).toMatch(/^GET \/public\/beta\/env-1\/assets: .*after 3 tries\. Try again later/);
    expect(failure.message).not.toContain('\n');
  });

  test('a server that is not there fails the stream', async () => {
    const server = await startApiServer();
    await server.close();
    const failure = await failureOf(openSource(server.url).page(ASSETS));
    expect([failure.recovery, failure.message]).toEqual(['stream', expect.stringContaining('ECONNREFUSED')]);
  });
});

describe('never tried again (R24)', () => {
  test.each<[string, Step, string]>([
    ['400', error(400, 'invalid_request'), 'reread'],
    ['400 of an unknown code', error(400, 'new_code'), 'reread'],
    ['400 whose message speaks of an invalid_cursor', error(400, 'other', 'invalid_cursor'), 'reread'],
    ['400 invalid_cursor', error(400, 'invalid_cursor'), 'restart'],
    ['401', error(401, 'unauthenticated'), 'token'],
    ['401 without envelope', error(401), 'token'],
    ['401 whose body is cut off', { truncate: { status: 401, body: 'a body of some length' } }, 'token'],
    ['403', error(403, 'permission_denied'), 'deny'],
    ['403 without envelope', error(403), 'deny'],
    ['404 with the envelope', error(404, 'not_found'), 'absent'],
    ['404 without it', error(404), 'stream'],
    ['404 with another JSON', { status: 404, body: { detail: 'Not Found' } }, 'stream'],
    ['404 with a body beyond measure', { status: 404, body: 'x'.repeat(100_000) }, 'stream'],
    ['422', error(422, 'invalid_request'), 'reread'],
    ['422 invalid_cursor', error(422, 'invalid_cursor'), 'reread'],
    ['410', error(410), 'reread'],
    ['414: the request was too long', error(414), 'shrink'],
    ['431: the request was too long', error(431), 'shrink'],
  ])('%s', async (_, step, recovery) => {
    const { server, source } = await setUp([step]);
    expect((await failureOf(source.page(ASSETS))).recovery).toBe(recovery);
    expect(server.requests).toHaveLength(1);
  });

  test('a 403 names the path and what the token may lack', async () => {
    const { source } = await setUp([error(403, 'permission_denied', 'needs the tests view scope')]);
    const { message } = await failureOf(source.page(ASSETS));
    expect(message).toContain('/public/beta/env-1/assets');
    expect(message).toContain('needs the tests view scope');
    expect(message).toContain('view scope.');
  });

  test('a redirect is not followed, and shown by its path alone', async () => {
    const elsewhere = await startApiServer({});
    const location = `${elsewhere.url}/login?secret=1`;
    const { source } = await setUp([{ status: 302, headers: { location } }]);
    const { recovery, message } = await failureOf(source.page(ASSETS));
    await elsewhere.close();
    expect([recovery, elsewhere.requests.length]).toEqual(['stream', 0]);
    expect(message).toContain('302, a redirect to /login,');
    expect(message).not.toMatch(/127\.0\.0\.1|secret/);
  });

  test('what the service says is quoted on one line, cut, and without the token (R25)', async () => {
    const long = `no\u001b[31m\r\n\u2028way ${TOKEN} ${'x'.repeat(500)}`;
    const { source } = await setUp([error(403, TOKEN, long)]);
    const { message } = await failureOf(source.page(ASSETS));
    expect(message).toContain('no [31m way [token] xxx');
    expect(message).not.toContain(TOKEN);
    expect(message).not.toMatch(/\p{Cc}|\u2028/u);
    expect(message.length).toBeLessThan(450);
  });
});

describe('the environments', () => {
  test.each([[[{ id: 'e' }]], [{ items: [{ id: 'e' }] }]])('come as an array or as an envelope: %j', async (body) => {
    const { server, source } = await setUp([{ body }]);
    expect(await source.environments()).toEqual([{ id: 'e' }]);
    expect(server.requests[0]?.target).toBe('/public/beta/environments');
  });

  test('a body that is neither is tried again', async () => {
    const { server, source } = await setUp([{ body: { id: 'e' } }, { body: [] }]);
    expect(await source.environments()).toEqual([]);
    expect(server.requests).toHaveLength(2);
  });

  test.each<[string, Step, string]>([
    ['403', error(403, 'permission_denied'), 'The token may lack access to the environment or the view scope.'],
    ['404', error(404, 'not_found'), 'Check the base URL.'],
    ['404 without envelope', error(404), 'Check the base URL.'],
    ['400 invalid_cursor', error(400, 'invalid_cursor'), 'Check the base URL.'],
    ['500 at every try', error(500), 'Try again later; if it stays, check the base URL and the network.'],
    ['a reset at every try', 'reset', 'Try again later; if it stays, check the base URL and the network.'],
  ])('without them there is no run: %s', async (_, step, advice) => {
    const { source } = await setUp([step]);
    const failure = await failureOf(source.environments());
    expect(failure.recovery).toBe('run');
    expect(failure.message).toMatch(/^Cannot list the environments: /);
    expect(failure.message.endsWith(` ${advice}`)).toBe(true);
  });

  test('a refused token stays one', async () => {
    const { source } = await setUp([error(401, 'unauthenticated')]);
    expect((await failureOf(source.environments())).recovery).toBe('token');
  });
});

describe('the time of the server (R1)', () => {
  const at = (date: string): Record<string, string> => ({ date });

  test.each<[string, Step]>([
    ['a 502 of a gateway', { status: 502, headers: at('Fri, 20 Nov 2026 14:00:00 GMT'), body: '<html>' }],
    ['a 429', { status: 429, headers: { ...at('Fri, 20 Nov 2026 14:00:00 GMT'), 'retry-after': '1' } }],
    ['a 200 that is no list', { headers: at('Fri, 20 Nov 2026 14:00:00 GMT'), body: { welcome: true } }],
    ['a 200 that is no JSON', { headers: at('Fri, 20 Nov 2026 14:00:00 GMT'), body: '<html>log in</html>' }],
  ])('is that of the first answer accepted, which %s is not', async (_, step) => {
    const { source } = await setUp([step, { headers: at('Fri, 20 Nov 2026 04:10:00 GMT'), body: [] }]);
    await source.environments();
    expect(source.serverTime()).toBe('2026-11-20T04:10:00.000000Z');
    expect(source.latestServerTime()).toBe('2026-11-20T04:10:00.000000Z');
  });

  test('is unknown as long as everything asked for is refused', async () => {
    const { source } = await setUp([{ status: 403, headers: at('Fri, 20 Nov 2026 04:10:00 GMT') }]);
    await failureOf(source.page(ASSETS));
    expect([source.serverTime(), source.latestServerTime()]).toEqual([null, null]);
  });

  test('stays that of the first, while the latest goes on (R3)', async () => {
    const { source } = await setUp([
      { headers: at('nonsense') },
      { headers: at('Fri, 20 Nov 2026 04:10:00 GMT') },
      { headers: at('Sat, 21 Nov 2026 00:00:00 GMT') },
      { headers: at('Fri, 20 Nov 2026 23:00:00 GMT') },
    ]);
    const times = [];
    for (let i = 0; i < 4; i++) {
      await source.page(ASSETS);
      times.push([source.serverTime(), source.latestServerTime()]);
    }
    const first = '2026-11-20T04:10:00.000000Z';
    const latest = '2026-11-21T00:00:00.000000Z';
    expect(times).toEqual([
      [null, null],
      [first, first],
      [first, latest],
      [first, latest],
    ]);
  });
});

test('a token that no header can carry is bad usage', () => {
  const signal = new AbortController().signal;
  const rest = { ...virtualTime(), userAgent: 'x', concurrency: 1, retries: 0, timeoutMs: 1, maxWaitMs: 1, lists: [] };
  for (const token of ['', 'two words', 'line\nbreak', 'tökén']) {
    const open = () =>
      createHttpSource({ ...rest, token, baseUrl: 'http://127.0.0.1:1', maxRequests: null, signal, random: () => 0 });
    expect(open).toThrow(expect.objectContaining({ recovery: 'usage' }));
    expect(open).not.toThrow(/two words|line/);
  }
});

test('a closed source sends nothing more', async () => {
  const { server, source } = await setUp([{}]);
  await source.close();
  const failure = await failureOf(source.page(ASSETS));
  expect([endsRun(failure), server.requests.length]).toEqual([true, 0]);
});
