import { describe, expect, test } from 'vitest';
import { isFailedTry, NO_REFUSALS, needsProbe, refusedAgain } from '../../src/core/refusals.ts';

const once = refusedAgain(NO_REFUSALS, 1000, 500);
const twice = refusedAgain(once, 3000, 500);

describe('a refusal is a failed try (R9, R23)', () => {
  test('never the first, whatever passed before it', () => {
    expect(isFailedTry(NO_REFUSALS, null)).toBe(false);
    expect(isFailedTry(NO_REFUSALS, 500)).toBe(false);
  });

  test('not while nothing else passed since the one before', () => {
    expect(isFailedTry(once, null)).toBe(false);
    expect(isFailedTry(once, 999)).toBe(false);
  });

  test('not for a request that was in flight already when the one before came', () => {
    expect(isFailedTry(once, 1000)).toBe(false);
  });

  test('once another request was sent and passed since', () => {
    expect(isFailedTry(once, 1001)).toBe(true);
  });

  test('each one anew', () => {
    const singledOut = refusedAgain(once, 3000, 2000);
    expect(isFailedTry(singledOut, 2000)).toBe(false);
    expect(isFailedTry(singledOut, 4000)).toBe(true);
  });
});

describe('another request is sent in its place (R9)', () => {
  test('not after the first refusal: most often the account was refused', () => {
    expect(needsProbe(NO_REFUSALS, null)).toBe(false);
    expect(needsProbe(once, 500)).toBe(false);
  });

  test('after the second in a row, until one has passed', () => {
    expect(needsProbe(twice, 500)).toBe(true);
    expect(needsProbe(twice, 4000)).toBe(false);
  });

  test('after every further one, once it was refused by itself', () => {
    const singledOut = refusedAgain(once, 3000, 2000);
    expect(needsProbe(singledOut, 2000)).toBe(true);
    expect(needsProbe(singledOut, 4000)).toBe(false);
  });
});
