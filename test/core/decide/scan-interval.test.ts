import { expect, test } from 'vitest';
import { nextScanAt } from '../../../src/core/decide/scan-interval.ts';
import { addDays, addSeconds } from '../../../src/core/time/instant.ts';
import { T } from '../setup.ts';

test.each([
  [0, 3600],
  [1, 3600],
  [6, 3600],
  [7, 4200],
  [140, 84_000],
  [1008, 604_800],
  [5000, 604_800],
])('auto: a scan of %i pages is repeated after %i seconds (R13)', (scanPages, seconds) => {
  expect(nextScanAt({ scanEndedAt: T, scanPages }, { fullEveryDays: 'auto' })).toBe(addSeconds(T, seconds));
});

test('a number of days holds however many pages a scan takes (R13)', () => {
  for (const scanPages of [0, 1, 5000])
    expect(nextScanAt({ scanEndedAt: T, scanPages }, { fullEveryDays: 2.5 })).toBe(addDays(T, 2.5));
});

test('no scan follows one that has not ended', () => {
  expect(nextScanAt({ scanEndedAt: null, scanPages: 0 }, { fullEveryDays: 'auto' })).toBeNull();
});
