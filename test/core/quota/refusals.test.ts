import { describe, expect, test } from 'vitest';
import { addRefusal, isFailedTry, NO_REFUSALS, needsProbe } from '../../../src/core/quota/refusals.ts';

const once = addRefusal(NO_REFUSALS, 1000, 500);
const twice = addRefusal(once, 3000, 500);

describe('a refusal is a failed try (R9, R23)', () => {
  test('never if it is the first, whatever passed before it', () => {
    expect(isFailedTry(NO_REFUSALS, null)).toBe(false);
    expect(isFailedTry(NO_REFUSALS, 500)).toBe(false);
  });

  test('not if no other request passed since the previous refusal', () => {
    expect(isFailedTry(once, null)).toBe(false);
    expect(isFailedTry(once, 999)).toBe(false);
  });

  test('not if the passed request was already in flight when the previous refusal came', () => {
    expect(isFailedTry(once, 1000)).toBe(false);
  });

  test('if another request was sent and passed since the previous refusal', () => {
    expect(isFailedTry(once, 1001)).toBe(true);
  });

  test('and each further refusal needs another request that passes', () => {
    const singledOut = addRefusal(once, 3000, 2000);
    expect(isFailedTry(singledOut, 2000)).toBe(false);
    expect(isFailedTry(singledOut, 4000)).toBe(true);
  });
});

describe('another request is sent in its place (R9)', () => {
  test('not after the first refusal, because most often the account is refused', () => {
    expect(needsProbe(NO_REFUSALS, null)).toBe(false);
    expect(needsProbe(once, 500)).toBe(false);
  });

  test('after the second in a row, until one has passed', () => {
    expect(needsProbe(twice, 500)).toBe(true);
    expect(needsProbe(twice, 4000)).toBe(false);
  });

  test('after every further refusal, if others passed before', () => {
    const singledOut = addRefusal(once, 3000, 2000);
    expect(needsProbe(singledOut, 2000)).toBe(true);
    expect(needsProbe(singledOut, 4000)).toBe(false);
  });
});
