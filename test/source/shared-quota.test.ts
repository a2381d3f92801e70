import { describe, expect, test } from 'vitest';
import { memoryKeeper } from '../../src/source/memory-keeper.ts';
import { ASSETS, failureOf, setUp, virtualTime } from './setup.ts';

/** Two sources that share a quota like two processes. The first one's request is never answered. */
async function two(maxWaitMs = 900_000) {
  const time = virtualTime();
  const quotaKeeper = memoryKeeper(time.clock.nowMs);
  const shared = { clock: time.clock, sleep: time.sleep, quotaKeeper, maxWaitMs, retries: 0 };
  const one = await setUp(['hang'], shared);
  const other = await setUp([{}], shared);
  one.source.page(ASSETS).catch(() => null);
  await one.server.received(1);
  return { other, sleptMs: () => time.slept.reduce((sum, each) => sum + each, 0) };
}

describe('requests in flight in another process', () => {
  test('the next request waits until they have ended (R23)', async () => {
    const { clock } = virtualTime();
    const quotaKeeper = memoryKeeper(clock.nowMs);
    const answer = Promise.withResolvers<void>();
    const one = await setUp([() => answer.promise.then(() => ({}))], { clock, quotaKeeper });
    const first = one.source.page(ASSETS);
    await one.server.received(1);
    const sentWhileWaiting: number[] = [];
    const sleep = async () => {
      sentWhileWaiting.push(other.server.requests.length);
      answer.resolve();
      await first;
    };
    const other = await setUp([{}], { clock, quotaKeeper, sleep });
    await other.source.page(ASSETS);
    expect(sentWhileWaiting[0]).toBe(0);
    expect(other.server.requests).toHaveLength(1);
  });

  test('a silent one counts as in flight until its timeout and a margin have passed (R23)', async () => {
    const { other, sleptMs } = await two();
    await other.source.page(ASSETS);
    expect(other.events[0]).toMatchObject({ type: 'wait', reason: 'quota' });
    expect(sleptMs()).toBeGreaterThanOrEqual(35_000);
    expect(sleptMs()).toBeLessThan(36_000);
  });

  test('a run waits for them no longer than for a reset, and says when to try again (R23)', async () => {
    const { other } = await two(10_000);
    expect(await failureOf(other.source.page(ASSETS))).toMatchObject({
      recovery: 'quota',
      message: expect.stringContaining('run again at 2026-11-20T04:10:35Z'),
    });
    expect(other.server.requests).toHaveLength(0);
  });

  test('closing the source ends the wait at once (R27)', async () => {
    const { other } = await two();
    const page = failureOf(other.source.page(ASSETS));
    await other.source.close();
    expect((await page).message).toContain('closed');
  });
});
