import { describe, expect, it } from 'vitest';
import { learned, type Quota, secondsOfWaiting } from '../../src/core/quota.ts';

const QUOTA: Quota = { limit: 100, remaining: 40, resetSeconds: 12, windowSeconds: 60 };

describe('waiting for quota (R23)', () => {
  it.each([
    [0, 0],
    [40, 0],
    [41, 12],
    [140, 12],
    [141, 72],
    [1040, 12 + 9 * 60],
  ])('%i requests wait %i seconds', (requests, seconds) => {
    expect(secondsOfWaiting(requests, QUOTA)).toBe(seconds);
  });

  it('is not known without a quota, or beyond what is left of one whose limit was not told', () => {
    expect(secondsOfWaiting(1, null)).toBeNull();
    expect(secondsOfWaiting(41, { ...QUOTA, limit: null })).toBeNull();
    expect(secondsOfWaiting(41, { ...QUOTA, limit: 0 })).toBeNull();
    expect(secondsOfWaiting(40, { ...QUOTA, limit: null })).toBe(0);
  });

  it('takes a window to be as long as the longest wait seen under the same limit', () => {
    const told = { ...QUOTA, windowSeconds: 12 };
    expect(learned({ limit: 100, windowSeconds: 60 }, told)).toEqual(QUOTA);
    expect(learned({ limit: 50, windowSeconds: 60 }, told)).toEqual(told);
    expect(learned(null, told)).toEqual(told);
    expect(learned({ limit: 100, windowSeconds: 60 }, { ...told, limit: null })).toEqual(QUOTA);
  });
});
