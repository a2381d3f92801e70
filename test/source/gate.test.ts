import { describe, expect, test } from 'vitest';
import type { Reply, Step } from '../support/api-server.ts';
import { ASSETS, failureOf, setUp, virtualTime } from './setup.ts';

const quota = (remaining: number, reset: number): Reply => ({
  headers: { 'ratelimit-limit': '10', 'ratelimit-remaining': `${remaining}`, 'ratelimit-reset': `${reset}` },
});
const refusal = (after: string): Reply => ({ status: 429, headers: { 'retry-after': after } });
const error500: Step = { status: 500, body: { error: { code: 'internal_error', message: 'x' } } };

/** Steps that are all held back until `release` is called. */
function heldBack(step: Step = {}) {
  const gate = Promise.withResolvers<void>();
  return { step: () => gate.promise.then(() => step), release: gate.resolve };
}

/** A sleep that only an abort ends. */
const forever = (_: number, signal: AbortSignal) =>
  new Promise<never>((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });

const pages = (source: { page: (request: typeof ASSETS) => Promise<unknown> }, count: number) =>
  Promise.all(Array.from({ length: count }, () => source.page(ASSETS)));

/** Lets whatever could still be sent be sent: a request of our own, to the same server, comes after it. */
async function settle(url: string) {
  for (let i = 0; i < 3; i++) await (await fetch(`${url}/settle`)).arrayBuffer();
}

const sentTo = (server: { requests: readonly { target: string }[] }) =>
  server.requests.filter(({ target }) => target !== '/settle').length;

describe('requests in flight (R23)', () => {
  test('before the first answer there is one', async () => {
    const first = heldBack();
    const { server, source } = await setUp([(request) => (request.target === '/settle' ? {} : first.step())]);
    const all = pages(source, 3);
    await server.received(1);
    await settle(server.url);
    expect(sentTo(server)).toBe(1);
    first.release();
    await all;
  });

  test('without a known quota there are as many as the concurrency', async () => {
    const rest = heldBack();
    const { server, source } = await setUp([{}, rest.step], { concurrency: 3 });
    const all = pages(source, 8);
    await server.received(4);
    expect(source.requests()).toBe(4);
    rest.release();
    await all;
    expect(server.mostInFlight()).toBe(3);
  });

  test('there are never more than remain', async () => {
    const rest = heldBack();
    const { server, source } = await setUp([
      quota(2, 60),
      (request) => (request.target === '/settle' ? {} : rest.step().then(() => quota(2, 60))),
    ]);
    const all = pages(source, 5);
    await server.received(3);
    await settle(server.url);
    expect(sentTo(server)).toBe(3);
    rest.release();
    await all;
  });

  test('when nothing remains the account waits for the reset, then sends one alone', async () => {
    const probe = heldBack(quota(9, 60));
    const { server, source, time, events } = await setUp([
      quota(0, 40),
      (request) => (request.target === '/settle' ? {} : probe.step()),
    ]);
    const all = pages(source, 4);
    await server.received(2);
    await settle(server.url);
    expect(sentTo(server)).toBe(2);
    expect(time.slept).toEqual([40_000]);
    expect(events).toContainEqual({ type: 'wait', reason: 'quota', delayMs: 40_000 });
    probe.release();
    await all;
    expect(sentTo(server)).toBe(4);
  });

  test('nobody waits for a reset when there is nothing more to send', async () => {
    const { source, time } = await setUp([quota(0, 60)]);
    await source.page(ASSETS);
    expect(time.slept).toEqual([]);
  });
});

describe('what an earlier run left of the quota (R23)', () => {
  test('when it was nothing, the first request waits for the reset', async () => {
    const { server, source, time, events } = await setUp([quota(9, 60)]);
    source.resumeQuota?.({ remaining: 0, resetSeconds: 12.5 });
    await source.page(ASSETS);
    expect([server.requests.length, time.slept]).toEqual([1, [12_500]]);
    expect(events).toContainEqual({ type: 'wait', reason: 'quota', delayMs: 12_500 });
  });

  test('when it was something, no more than that is sent before an answer tells', async () => {
    const { source, time } = await setUp([{}, {}, quota(9, 60)]);
    source.resumeQuota?.({ remaining: 2, resetSeconds: 30 });
    for (let i = 0; i < 3; i++) await source.page(ASSETS);
    expect(time.slept).toEqual([30_000]);
  });

  test('ends no run, however long it says to wait: the machine’s clock may be wrong, and one answer tells (R1)', async () => {
    const { server, source, time } = await setUp([{}], { maxWaitMs: 10_000 });
    source.resumeQuota?.({ remaining: 0, resetSeconds: 3600 });
    await source.page(ASSETS);
    expect([server.requests.length, time.slept]).toEqual([1, []]);
  });
});

describe('a 429 (R23)', () => {
  test('is no failed try while everything is refused, however often it comes', async () => {
    const { source, time } = await setUp([refusal('2'), refusal('2'), refusal('2'), {}], { retries: 0 });
    await source.page(ASSETS);
    expect(time.slept).toEqual([2000, 2000, 2000]);
  });

  test('pauses the whole account', async () => {
    const { server, source, time, events } = await setUp([{}, refusal('5'), {}], { concurrency: 1 });
    await pages(source, 4);
    expect(server.requests).toHaveLength(5);
    expect(time.slept).toEqual([5000]);
    expect(events).toContainEqual({ type: 'wait', reason: 'rate-limited', delayMs: 5000 });
  });

  test('counts even when its body is cut off', async () => {
    const cut: Step = { truncate: { ...refusal('3'), body: 'a body of some length' } };
    const { source, time } = await setUp([cut, {}], { retries: 0 });
    await source.page(ASSETS);
    expect(time.slept).toEqual([3000]);
  });

  test('is followed, after the pause, by a page that was not refused', async () => {
    const { server, source } = await setUp([refusal('1'), {}], { concurrency: 1 });
    await Promise.all([source.page({ ...ASSETS, path: ['a'] }), source.page({ ...ASSETS, path: ['b'] })]);
    expect(server.requests.map(({ target }) => target.slice(13, 14))).toEqual(['a', 'b', 'a']);
  });
});

describe('the longest wait (R23)', () => {
  test.each<[string, Reply]>([
    ['a Retry-After', refusal('1200')],
    ['a reset of the quota', quota(0, 1200)],
  ])('%s beyond it ends the run and says when to come back', async (_, step) => {
    const { server, source, time } = await setUp([step], { maxWaitMs: 900_000 });
    const failure = await failureOf(pages(source, 2));
    expect(failure.recovery).toBe('quota');
    expect(failure.message).toContain('2026-11-20T04:30:00Z, in 20 minutes');
    expect([server.requests.length, time.slept]).toEqual([1, []]);
  });

  test('nothing but 429 for so long ends the run, too', async () => {
    const { server, source, time } = await setUp([refusal('2')], { maxWaitMs: 5000 });
    expect((await failureOf(source.page(ASSETS))).recovery).toBe('quota');
    expect(time.slept).toEqual([2000, 2000, 2000]);
    expect(server.requests).toHaveLength(4);
  });

  test('everyone who waits is told, and nothing more is sent', async () => {
    const { server, source } = await setUp([refusal('1200')]);
    const failures = await Promise.all([failureOf(source.page(ASSETS)), failureOf(source.page(ASSETS))]);
    expect(failures.map(({ recovery }) => recovery)).toEqual(['quota', 'quota']);
    expect((await failureOf(source.page(ASSETS))).recovery).toBe('quota');
    expect(server.requests).toHaveLength(1);
  });
});

describe('the request budget', () => {
  test('stops before the request after the last', async () => {
    const { server, source } = await setUp([{}], { maxRequests: 3 });
    await pages(source, 3);
    expect((await failureOf(source.page(ASSETS))).recovery).toBe('budget');
    expect(server.requests).toHaveLength(3);
  });

  test.each<[string, Step]>([
    ['a retry', error500],
    ['a 429', refusal('1')],
  ])('%s counts like any other', async (_, step) => {
    const { server, source } = await setUp([step], { maxRequests: 2, retries: 9 });
    expect((await failureOf(source.page(ASSETS))).recovery).toBe('budget');
    expect([server.requests.length, source.requests()]).toEqual([2, 2]);
  });

  test('what is in flight when it is spent still comes', async () => {
    const { server, source } = await setUp([{}], { maxRequests: 3 });
    const outcomes = await Promise.allSettled(Array.from({ length: 5 }, () => source.page(ASSETS)));
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(3);
    expect(server.requests).toHaveLength(3);
  });

  test('of none sends nothing', async () => {
    const { server, source } = await setUp([{}], { maxRequests: 0 });
    expect((await failureOf(source.page(ASSETS))).recovery).toBe('budget');
    expect(server.requests).toHaveLength(0);
  });
});

describe('a signal (R27)', () => {
  test('ends at once what waits for its turn, for a retry or for the quota', async () => {
    for (const step of [error500, refusal('60'), quota(0, 60)]) {
      const stop = new AbortController();
      const { server, source, events } = await setUp([step], { signal: stop.signal, sleep: forever });
      const calls = [source.page(ASSETS), source.page(ASSETS)].map((call) => call.catch((error: unknown) => error));
      await expect.poll(() => events.some(({ type }) => type === 'wait')).toBe(true);
      stop.abort();
      expect(await calls[1]).toMatchObject({ recovery: 'signal' });
      expect(server.requests.length).toBeLessThan(3);
    }
  });

  test('lets a request in flight finish', async () => {
    const stop = new AbortController();
    const answer = heldBack({ body: { items: [1] } });
    const { server, source } = await setUp([answer.step], { signal: stop.signal, sleep: forever });
    const inFlight = source.page(ASSETS);
    const queued = failureOf(source.page(ASSETS));
    await server.received(1);
    stop.abort();
    expect((await queued).recovery).toBe('signal');
    answer.release();
    expect((await inFlight).items).toEqual([1]);
    expect(server.requests).toHaveLength(1);
  });

  test('gives up a request in flight after three seconds', async () => {
    const stop = new AbortController();
    const time = virtualTime();
    const { server, source } = await setUp(['hang'], { signal: stop.signal, sleep: time.sleep, retries: 0 });
    const inFlight = failureOf(source.page(ASSETS));
    await server.received(1);
    expect(time.slept).toEqual([]);
    stop.abort();
    expect((await inFlight).recovery).toBe('signal');
    expect(time.slept).toEqual([3000]);
  });

  test('that came before the start lets nothing start', async () => {
    const { server, source } = await setUp([{}], { signal: AbortSignal.abort() });
    expect((await failureOf(source.page(ASSETS))).recovery).toBe('signal');
    expect(server.requests).toHaveLength(0);
  });
});
