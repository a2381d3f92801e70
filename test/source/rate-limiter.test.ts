import { describe, expect, test } from 'vitest';
import type { Step } from '../support/api-server.ts';
import { ASSETS, failureOf, pages, quota, refusal, setUp, virtualTime } from './setup.ts';

const error500: Step = { status: 500, body: { error: { code: 'internal_error', message: 'x' } } };

/** Responses that wait until `release` is called. */
function heldBack(step: Step = {}) {
  const gate = Promise.withResolvers<void>();
  return { step: () => gate.promise.then(() => step), release: gate.resolve };
}

/** A sleep that only ends by an abort. */
const forever = (_: number, signal: AbortSignal) =>
  new Promise<never>((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });

/** Waits until the source has sent all it may: our own requests to the same server arrive later. */
async function settle(url: string) {
  for (let i = 0; i < 3; i++) await (await fetch(`${url}/settle`)).arrayBuffer();
}

const sentTo = (server: { requests: readonly { target: string }[] }) =>
  server.requests.filter(({ target }) => target !== '/settle').length;

describe('requests in flight', () => {
  test('one request is in flight before the first response (R23)', async () => {
    const first = heldBack();
    const { server, source } = await setUp([(request) => (request.target === '/settle' ? {} : first.step())]);
    const all = pages(source, 3);
    await server.received(1);
    await settle(server.url);
    expect(sentTo(server)).toBe(1);
    first.release();
    await all;
  });

  test('as many requests as the concurrency are in flight while the quota is unknown (R23)', async () => {
    const rest = heldBack();
    const { server, source } = await setUp([{}, rest.step], { concurrency: 3 });
    const all = pages(source, 8);
    await server.received(4);
    expect(source.requests()).toBe(4);
    rest.release();
    await all;
    expect(server.maxInFlight()).toBe(3);
  });

  test('never more requests are in flight than the quota has left (R23)', async () => {
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

  test('when no quota is left, the account waits for the reset and then sends a single request (R23)', async () => {
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
});

test('a 429 pauses the account even if its body is truncated (R23)', async () => {
  const cut: Step = { truncate: { ...refusal('3'), body: 'a body of some length' } };
  const { source, time } = await setUp([cut, {}], { retries: 0 });
  await source.page(ASSETS);
  expect(time.slept).toEqual([3000]);
});

describe('a signal', () => {
  test('it ends every wait for a turn, a retry or the quota at once (R27)', async () => {
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

  test('a request in flight may finish after it (R27)', async () => {
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

  test('a request in flight is aborted three seconds after it (R27)', async () => {
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

  test('nothing is sent if it came before the start (R27)', async () => {
    const { server, source } = await setUp([{}], { signal: AbortSignal.abort() });
    expect((await failureOf(source.page(ASSETS))).recovery).toBe('signal');
    expect(server.requests).toHaveLength(0);
  });
});
