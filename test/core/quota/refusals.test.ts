import { describe, expect, test } from 'vitest';
import { addRefusal, isFailedTry, NO_REFUSALS, needsProbe } from '../../../src/core/quota/refusals.ts';

const once = addRefusal(NO_REFUSALS, 1000, 500);
const twice = addRefusal(once, 3000, 500);

describe('isFailedTry (R9, R23)', () => {
  test('the first refusal is never a failed attempt, whatever succeeded before it', () => {
    expect(isFailedTry(NO_REFUSALS, null)).toBe(false);
    expect(isFailedTry(NO_REFUSALS, 500)).toBe(false);
  });

  test('a refusal is no failed attempt if no other request has succeeded since the previous one', () => {
    expect(isFailedTry(once, null)).toBe(false);
    expect(isFailedTry(once, 999)).toBe(false);
  });

  test('a request that was already in flight at the previous refusal doesn’t count', () => {
    expect(isFailedTry(once, 1000)).toBe(false);
  });

  test('a refusal is a failed attempt if another request was sent and succeeded since the previous one', () => {
    expect(isFailedTry(once, 1001)).toBe(true);
  });

  test('each further failed attempt needs another request that succeeds', () => {
    const singledOut = addRefusal(once, 3000, 2000);
    expect(isFailedTry(singledOut, 2000)).toBe(false);
    expect(isFailedTry(singledOut, 4000)).toBe(true);
  });
});

describe('needsProbe (R9)', () => {
  test('no probe follows the first refusal, because usually the whole account is refused', () => {
    expect(needsProbe(NO_REFUSALS, null)).toBe(false);
    expect(needsProbe(once, 500)).toBe(false);
  });

  test('after the second refusal in a row, probes are sent until one succeeds', () => {
    expect(needsProbe(twice, 500)).toBe(true);
    expect(needsProbe(twice, 4000)).toBe(false);
  });

  test('each further refusal is probed again, even if requests succeeded before', () => {
    const singledOut = addRefusal(once, 3000, 2000);
    expect(needsProbe(singledOut, 2000)).toBe(true);
    expect(needsProbe(singledOut, 4000)).toBe(false);
  });
});
