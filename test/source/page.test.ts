import { describe, expect, test } from 'vitest';
import { NO_TIMES } from '../../src/core/time/server-times.ts';
import type { Reply } from '../support/api-server.ts';
import { answerWith, SERVICE_URL } from './nock-setup.ts';
import { ASSETS, failureOf, openSource, TOKEN } from './setup.ts';

describe('a request for a page', () => {
  test('one request under /public/beta has the token, the query and the cursor', async () => {
    const { requests, source } = answerWith([{ body: { items: [{ id: 'ü' }], has_more: true, next_cursor: 'next' } }]);
    const page = await source.page({ ...ASSETS, cursor: 'c1' });
    expect(page).toEqual({ items: [{ id: 'ü' }], hasMore: true, nextCursor: 'next' });
    expect(requests).toHaveLength(1);
    expect(requests[0]).toMatchObject({
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

  test('the path of the base URL precedes /public/beta', async () => {
    const { requests } = answerWith([{}]);
    await openSource(`${SERVICE_URL}/gateway`).page(ASSETS);
    expect(requests[0]?.target).toMatch(/^\/gateway\/public\/beta\/env-1\/assets/);
  });

  test('every request is counted and announced, including retries and 429s', async () => {
    const refused = { status: 429, headers: { 'retry-after': '1' } };
    const { source, events } = answerWith([{ status: 500 }, refused, {}]);
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

describe('matchedCount', () => {
  const AGGREGATE = { path: ['env-1', 'asset-health-scores', 'aggregate'], query: { db_names: ['d 1'] } };

  test('it is the matched_count of the aggregate, requested with the filters alone', async () => {
    const { requests, source } = answerWith([{ body: { matched_count: 7, total: {}, dimensions: [] } }]);
    expect(await source.matchedCount(AGGREGATE)).toBe(7);
    expect(requests[0]?.target).toBe('/public/beta/env-1/asset-health-scores/aggregate?db_names=d%201');
  });

  test.each([{}, { matched_count: '7' }, { matched_count: -1 }, { matched_count: 0.5 }, []])(
    'it is requested again if the body is %j (R24)',
    async (body) => {
      const { source } = answerWith([{ body }, { body: { matched_count: 0 } }]);
      expect(await source.matchedCount(AGGREGATE)).toBe(0);
    },
  );
});

describe('the server time', () => {
  const at = (date: string): Record<string, string> => ({ date });

  test.each<[string, Reply]>([
    ['a 502 of a gateway', { status: 502, headers: at('Fri, 20 Nov 2026 14:00:00 GMT'), body: '<html>' }],
    ['a 429', { status: 429, headers: { ...at('Fri, 20 Nov 2026 14:00:00 GMT'), 'retry-after': '1' } }],
    ['a 200 that is cut off', { headers: at('Fri, 20 Nov 2026 14:00:00 GMT'), body: '[{}' }],
    ['an empty 200', { headers: at('Fri, 20 Nov 2026 14:00:00 GMT'), body: '' }],
  ])('%s is no clock reading, because only successful responses are (R1)', async (_, step) => {
    const { source } = answerWith([step, { headers: at('Fri, 20 Nov 2026 04:10:00 GMT'), body: [] }]);
    await source.environments();
    const T = '2026-11-20T04:10:00.000000Z';
    expect(source.times()).toEqual({ serverTime: T, latestServerTime: T, newestReading: T });
  });

  test('it is unknown while every request is refused (R1)', async () => {
    const { source } = answerWith([{ status: 403, headers: at('Fri, 20 Nov 2026 04:10:00 GMT') }]);
    await failureOf(source.page(ASSETS));
    expect(source.times()).toEqual(NO_TIMES);
  });

  test('T is the earliest Date of all successful responses, and the newest one is kept too (R1, R3)', async () => {
    const { source } = answerWith([
      { headers: at('nonsense') },
      { headers: at('Sat, 21 Nov 2026 00:00:00 GMT') },
      { headers: at('Fri, 20 Nov 2026 04:10:00 GMT') },
      { headers: at('Fri, 20 Nov 2026 23:00:00 GMT') },
    ]);
    const times = [];
    for (let i = 0; i < 4; i++) {
      await source.page(ASSETS);
      const { serverTime, newestReading } = source.times();
      times.push([serverTime, newestReading]);
    }
    const early = '2026-11-20T04:10:00.000000Z';
    const late = '2026-11-21T00:00:00.000000Z';
    expect(times).toEqual([
      [null, null],
      [late, late],
      [early, late],
      [early, late],
    ]);
  });

  test('the Age of a cached response is added to its Date (R1)', async () => {
    const { source } = answerWith([{ headers: { ...at('Fri, 20 Nov 2026 04:10:00 GMT'), age: '86400' }, body: [] }]);
    await source.environments();
    expect(source.times().serverTime).toBe('2026-11-21T04:10:00.000000Z');
  });
});
