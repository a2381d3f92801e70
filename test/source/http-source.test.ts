import { gzipSync } from 'node:zlib';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { endsRun } from '../../src/core/errors.ts';
import { createHttpSource } from '../../src/source/http-source.ts';
import { type Step, startApiServer } from '../support/api-server.ts';
import { ASSETS, failureOf, openSource, setUp, virtualTime } from './setup.ts';

const error500: Step = { status: 500, body: { error: { code: 'internal_error', message: 'as it is' } } };
const GZIP = { 'content-encoding': 'gzip' };
const TRY_LATER = 'Try again later; if it fails again, check the base URL and the network.';

describe('connections', () => {
  test('consecutive requests share connections', async () => {
    const { server, source } = await setUp([{}]);
    for (let i = 0; i < 20; i++) await source.page(ASSETS);
    expect(server.connections()).toBeLessThanOrEqual(4);
  });
});

describe('retries', () => {
  test.each<[string, Step]>([
    ['a reset connection', 'reset'],
    ['a truncated body', { truncate: { body: { items: ['long enough to be cut'] } } }],
    ['a truncated compressed body', { truncate: { headers: GZIP, body: gzipSync('{"items":[]}') } }],
    ['a 404 whose code is cut off', { truncate: { status: 404, headers: GZIP, body: gzipSync('{"error":{}}') } }],
  ])('%s is retried with growing delays (R24)', async (_, step) => {
    const { server, source, time } = await setUp([step, step, { body: { items: [1] } }]);
    expect((await source.page(ASSETS)).items).toEqual([1]);
    expect(server.requests).toHaveLength(3);
    expect(time.slept).toEqual([250, 500]);
  });

  test('a response that does not end within the timeout is retried (R24)', async () => {
    const { server, source } = await setUp(['hang', {}], { timeoutMs: 30 });
    await source.page(ASSETS);
    expect(server.requests).toHaveLength(2);
  });

  test('a body that trickles in without end is retried (R24)', async () => {
    const { server, source } = await setUp(['trickle', {}], { timeoutMs: 50 });
    await source.page(ASSETS);
    expect(server.requests).toHaveLength(2);
  });

  test('a request does not time out while this process is too busy to notice a response (R24)', async () => {
    let nowMs = 0;
    let answer = (): void => {};
    // Every timer fires so late that the service may have replied in the meantime.
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

  test('each page has its own count of attempts (R24)', async () => {
    const { server, source } = await setUp(['reset', 'reset', {}, 'reset', 'reset', {}]);
    await source.page(ASSETS);
    await source.page(ASSETS);
    expect(server.requests).toHaveLength(6);
  });

  test('a page that waits for a retry does not delay others (R24)', async () => {
    const time = virtualTime();
    const { server, source } = await setUp([error500, {}], {
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

describe('the last attempt', () => {
  test('a page that met only 5xx and timeouts may be halved (R24)', async () => {
    const { server, source } = await setUp([error500, 'hang', { status: 503, body: '<html>no envelope</html>' }], {
      timeoutMs: 30,
    });
    expect((await failureOf(source.page(ASSETS))).recovery).toBe('halve-page');
    expect(server.requests).toHaveLength(3);
  });

  test.each<[string, Step[]]>([
    ['resets', ['reset']],
    ['5xx and resets', [error500, error500, 'reset']],
  ])('%s at every attempt fail the stream (R24)', async (_, steps) => {
    const { server, source } = await setUp(steps);
    const failure = await failureOf(source.page(ASSETS));
    expect(failure.recovery).toBe('stream');
    expect(server.requests).toHaveLength(3);
  });

  test('the error has its cause, and says on one line what to do (R24)', async () => {
    const { source } = await setUp(['reset']);
    const failure = await failureOf(source.page(ASSETS));
    expect(failure.cause).toBeInstanceOf(Error);
    expect(failure.message).toMatch(/^GET \/public\/beta\/env-1\/assets: .*after 3 tries\. Try again later/);
    expect(failure.message).not.toContain('\n');
  });

  test('a server that does not listen fails the stream (R24)', async () => {
    const server = await startApiServer();
    await server.close();
    const failure = await failureOf(openSource(server.url).page(ASSETS));
    expect([failure.recovery, failure.message]).toEqual(['stream', expect.stringContaining('ECONNREFUSED')]);
  });
});

test('a 401 with a truncated body is not retried (R24)', async () => {
  const { server, source } = await setUp([{ truncate: { status: 401, body: 'a body of some length' } }]);
  expect((await failureOf(source.page(ASSETS))).recovery).toBe('token');
  expect(server.requests).toHaveLength(1);
});

test('the run ends if every request for the environments is reset', async () => {
  const { source } = await setUp(['reset']);
  const failure = await failureOf(source.environments());
  expect(failure.recovery).toBe('run');
  expect(failure.message).toMatch(/^Cannot list the environments: /);
  expect(failure.message.endsWith(` ${TRY_LATER}`)).toBe(true);
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

test('a closed source sends nothing', async () => {
  const { server, source } = await setUp([{}]);
  await source.close();
  const failure = await failureOf(source.page(ASSETS));
  expect([endsRun(failure), server.requests.length]).toEqual([true, 0]);
});
