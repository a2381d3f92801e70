import { describe, expect, test } from 'vitest';
import type { QuotaKeeper } from '../../src/core/ports/quota-keeper.ts';
import { UNKNOWN_QUOTA } from '../../src/core/quota/quota-state.ts';
import { PRIORITY, RateLimiter } from '../../src/source/rate-limiter.ts';
import type { RequestOutcome } from '../../src/source/send.ts';
import { ServiceHealth } from '../../src/source/service-health.ts';

/** Virtual time, which passes only while all processes wait. */
function simulatedTime() {
  let nowMs = 0;
  const due: { readonly atMs: number; readonly act: () => void }[] = [];
  const sleep = (delayMs: number, signal?: AbortSignal): Promise<void> =>
    new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      signal?.addEventListener('abort', () => reject(signal.reason), { once: true });
      due.push({ atMs: nowMs + delayMs, act: resolve });
    });
  const runUntil = async (end: Promise<unknown>): Promise<void> => {
    let hasEnded = false;
    void end.then(() => {
      hasEnded = true;
    });
    for (;;) {
      // Everything that can happen at this time.
      await new Promise((resolve) => setImmediate(resolve));
      if (hasEnded) return;
      const next = due.reduce((a, b) => (b.atMs < a.atMs ? b : a));
      due.splice(due.indexOf(next), 1);
      nowMs = Math.max(nowMs, next.atMs);
      next.act();
    }
  };
  return { nowMs: () => nowMs, sleep, runUntil };
}

/** Random numbers in [0, 1), the same in every run. */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32;
    return state / 2 ** 32;
  };
}

type Time = ReturnType<typeof simulatedTime>;

/** A service whose windows begin with a request, or at multiples of their length. */
function service({ nowMs }: Time, { limit, windowMs, isOnGrid }: Quota) {
  const openedMs: number[] = [];
  let [endMs, used, refused] = [0, 0, 0];
  return {
    openedMs,
    refused: () => refused,
    answer(): RequestOutcome['answer'] {
      if (nowMs() >= endMs) {
        const startMs = isOnGrid ? nowMs() - (nowMs() % windowMs) : nowMs();
        openedMs.push(startMs);
        [endMs, used] = [startMs + windowMs, 0];
      }
      used += 1;
      if (used > limit) refused += 1;
      const headers = {
        'ratelimit-remaining': String(Math.max(0, limit - used)),
        'ratelimit-reset': String(Math.ceil((endMs - nowMs()) / 1000)),
      };
      return { status: used > limit ? 429 : 200, headers, body: Buffer.from('{}') };
    },
  };
}

interface Quota {
  readonly limit: number;
  readonly windowMs: number;
  readonly isOnGrid: boolean;
}

/**
 * Lets several processes share a quota, each with this many requests. @returns the fraction of the quota that they used
 */
async function shareUsed(quota: Quota, seed: number): Promise<{ share: number; refused: number }> {
  const time = simulatedTime();
  const random = randomFrom(seed);
  const between = (least: number, most: number): number => least + random() * (most - least);
  let state = UNKNOWN_QUOTA;
  let last: Promise<unknown> = Promise.resolve();
  // Like a database row: one change at a time, and a delay before its clock reading arrives.
  const quotaKeeper: QuotaKeeper = {
    change(quotaChange) {
      const changed = last.then(async () => {
        await time.sleep(between(0.5, 2));
        const atMs = time.nowMs();
        await time.sleep(random() < 0.02 ? 80 : between(0.5, 2));
        const { state: after, result } = quotaChange(state, atMs);
        state = after;
        return result;
      });
      last = changed;
      return changed;
    },
    close: async () => {},
  };
  const { answer, openedMs, refused } = service(time, quota);
  const send = async (): Promise<RequestOutcome> => {
    await time.sleep(between(2, 30));
    const answered = answer();
    await time.sleep(between(2, 30));
    return { answer: answered, fault: null, heardMs: time.nowMs() };
  };
  const sync = async (): Promise<void> => {
    const limiter = new RateLimiter(
      {
        ...{ concurrency: 4, maxWaitMs: 900_000, maxRequests: null, timeoutMs: 60_000, random, quotaKeeper },
        clock: { nowMs: time.nowMs, utcMs: time.nowMs },
        sleep: time.sleep,
      },
      new ServiceHealth(),
    );
    const own = (WINDOWS * quota.limit) / PROCESSES;
    const request = { send, judge: () => null };
    await Promise.all(Array.from({ length: own }, () => limiter.send(request, PRIORITY.fresh)));
    await limiter.close();
  };
  await time.runUntil(Promise.all(Array.from({ length: PROCESSES }, sync)));
  const [first = 0] = openedMs;
  const lastMs = openedMs.at(-1) ?? 0;
  return { share: ((WINDOWS - 1) * quota.windowMs) / (lastMs - first), refused: refused() };
}

const PROCESSES = 6;
const WINDOWS = 11;

describe('six processes that share the quota of an account (R23)', () => {
  test.each<Quota>([
    { limit: 60, windowMs: 6000, isOnGrid: false },
    { limit: 60, windowMs: 6000, isOnGrid: true },
    { limit: 600, windowMs: 60_000, isOnGrid: false },
    { limit: 1200, windowMs: 60_000, isOnGrid: true },
  ])(
    'they use at least 98 % of it without a 429: $limit requests in $windowMs ms, on a grid: $isOnGrid',
    async (quota) => {
      for (const seed of [1, 2, 3]) {
        const { share, refused } = await shareUsed(quota, seed);
        expect(refused).toBe(0);
        expect(share).toBeGreaterThanOrEqual(0.98);
      }
    },
  );

  test('they receive no 429 even if a window is not a whole number of seconds', async () => {
    for (const seed of [1, 2, 3])
      expect(await shareUsed({ limit: 60, windowMs: 6370, isOnGrid: false }, seed)).toMatchObject({ refused: 0 });
  });
});
