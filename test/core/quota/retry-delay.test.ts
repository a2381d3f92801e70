import fc from 'fast-check';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { countHeader, httpDateMs, retryAfterMs, retryDelayMs } from '../../../src/core/quota/retry-delay.ts';

const noHint = { retryAfterMs: null, maxWaitMs: 900_000 };

describe('retryDelayMs (R24)', () => {
  test('its ceiling doubles from half a second to half a minute', () => {
    const ceilings = [1, 2, 3, 4, 5, 6, 7, 8, 50].map((failures) => retryDelayMs({ failures, random: 1, ...noHint }));
    expect(ceilings).toEqual([500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000]);
  });

  test('it is a random time between zero and the ceiling', () => {
    expect(retryDelayMs({ failures: 3, random: 0, ...noHint })).toBe(0);
    expect(retryDelayMs({ failures: 3, random: 0.25, ...noHint })).toBe(500);
  });

  test('it is at least what the service asks for, up to the longest wait', () => {
    const most = { failures: 1, random: 0.5, maxWaitMs: 60_000 };
    expect(retryDelayMs({ ...most, retryAfterMs: 7000 })).toBe(7000);
    expect(retryDelayMs({ ...most, retryAfterMs: 100 })).toBe(250);
    expect(retryDelayMs({ ...most, retryAfterMs: 3_600_000 })).toBe(60_000);
  });

  test('it is never negative, and without a hint never above the ceiling', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 5000 }), fc.double({ min: 0, max: 1, noNaN: true }), (failures, random) => {
        const delayMs = retryDelayMs({ failures, random, ...noHint });
        expect(delayMs >= 0 && delayMs <= 30_000).toBe(true);
      }),
    );
  });
});

describe('retryAfterMs', () => {
  const date = 'Fri, 20 Nov 2026 04:10:00 GMT';

  test('a number counts seconds', () => {
    expect(retryAfterMs({ 'retry-after': ' 12 ' })).toBe(12_000);
    expect(retryAfterMs({ 'retry-after': '0' })).toBe(0);
  });

  test('a date is compared with the Date of the same response', () => {
    expect(retryAfterMs({ 'retry-after': 'Fri, 20 Nov 2026 04:11:00 GMT', date })).toBe(60_000);
    expect(retryAfterMs({ 'retry-after': 'Fri, 20 Nov 2026 04:09:00 GMT', date })).toBe(0);
    expect(retryAfterMs({ 'retry-after': 'Fri, 20 Nov 2026 04:11:00 GMT' })).toBeNull();
  });

  test.each([
    '',
    'soon',
    '1.5',
    '-5',
    '1e3',
    '99999999999',
    '2026-11-20',
    'Fri, 99 Nov 2026 04:11:00 GMT',
    'after Fri, 20 Nov 2026 04:11:00 GMT',
  ])('the value %j is no hint', (value) => {
    expect(retryAfterMs({ 'retry-after': value, date })).toBeNull();
  });

  test('a missing header is no hint', () => {
    expect(retryAfterMs({ date })).toBeNull();
  });
});

test('httpDateMs reads all three forms of an HTTP date as UTC, in any time zone', () => {
  vi.stubEnv('TZ', 'Asia/Tokyo');
  onTestFinished(() => void vi.unstubAllEnvs());
  const ms = Date.parse('1994-11-06T08:49:37Z');
  expect(httpDateMs('Sun, 06 Nov 1994 08:49:37 GMT')).toBe(ms);
  expect(httpDateMs('Sunday, 06-Nov-94 08:49:37 GMT')).toBe(ms);
  expect(httpDateMs('Sun Nov  6 08:49:37 1994')).toBe(ms);
  expect(httpDateMs(' Sun, 06 Nov 1994 08:49:37 GMT ')).toBe(ms);
  expect(httpDateMs('Sun, 6 Nov 1994 08:49:37 GMT')).toBe(ms);
  expect(httpDateMs('Wed Nov 16 08:49:37 1994')).toBe(ms + 10 * 86_400_000);
  expect(httpDateMs('Sun, 06 Nov 1994 08:49:37 GMT+0200')).toBeNull();
  expect(httpDateMs('5')).toBeNull();
});

test('countHeader accepts whole numbers only', () => {
  expect([countHeader('0'), countHeader('120'), countHeader('-1'), countHeader('1.5'), countHeader(undefined)]).toEqual(
    [0, 120, null, null, null],
  );
});
