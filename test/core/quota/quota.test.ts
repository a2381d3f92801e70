import { describe, expect, test } from 'vitest';
import { type AccountQuota, mergeQuota, remainingWindow, secondsOfWaiting } from '../../../src/core/quota/quota.ts';

const QUOTA: AccountQuota = { limit: 100, remaining: 40, resetSeconds: 12, windowSeconds: 60 };

describe('secondsOfWaiting and mergeQuota (R23)', () => {
  test.each([
    [0, 0],
    [40, 0],
    [41, 12],
    [140, 12],
    [141, 72],
    [1040, 12 + 9 * 60],
  ])('%i requests wait %i seconds', (requests, seconds) => {
    expect(secondsOfWaiting(requests, QUOTA)).toBe(seconds);
  });

  test('the wait is unknown without a quota, or beyond the remaining requests if the limit is unknown', () => {
    expect(secondsOfWaiting(1, null)).toBeNull();
    expect(secondsOfWaiting(41, { ...QUOTA, limit: null })).toBeNull();
    expect(secondsOfWaiting(41, { ...QUOTA, limit: 0 })).toBeNull();
    expect(secondsOfWaiting(40, { ...QUOTA, limit: null })).toBe(0);
  });

  test('the longest wait seen under the same limit is used as the window length', () => {
    const announced = { ...QUOTA, windowSeconds: 12 };
    expect(mergeQuota({ limit: 100, windowSeconds: 60 }, announced)).toEqual(QUOTA);
    expect(mergeQuota({ limit: 50, windowSeconds: 60 }, announced)).toEqual(announced);
    expect(mergeQuota(null, announced)).toEqual(announced);
    expect(mergeQuota({ limit: 100, windowSeconds: 60 }, { ...announced, limit: null })).toEqual(QUOTA);
  });
});

describe('remainingWindow (R23)', () => {
  const kept = { remaining: 0, resetSeconds: 40, notedAt: '2026-11-20T04:10:00.000000Z' };

  test.each([
    ['2026-11-20T04:10:00.000000Z', 40],
    ['2026-11-20T04:10:15.500000Z', 24.5],
  ])('the remainder of a window is valid until the window ends: at %s for %d seconds more', (now, resetSeconds) => {
    expect(remainingWindow([kept], now)).toEqual({ remaining: 0, resetSeconds });
  });

  test('a remainder holds for no longer than its window, whatever the local clock says', () => {
    expect(remainingWindow([kept], '2026-11-20T04:10:40.000000Z')).toBeNull();
    expect(remainingWindow([kept], '2027-11-20T04:10:00.000000Z')).toBeNull();
    expect(remainingWindow([kept], '2026-11-20T04:09:59.000000Z')).toBeNull();
  });

  test('the remainder that was recorded last holds', () => {
    const later = { remaining: 3, resetSeconds: 30, notedAt: '2026-11-20T04:10:10.000000Z' };
    expect(remainingWindow([later, kept, null], '2026-11-20T04:10:20.000000Z')).toEqual({
      remaining: 3,
      resetSeconds: 20,
    });
    expect(remainingWindow([null], '2026-11-20T04:10:20.000000Z')).toBeNull();
  });
});
