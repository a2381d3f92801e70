import { describe, expect, test } from 'vitest';
import { nextTick } from '../../src/sync/schedule-cron.ts';

const NOON = '2026-11-20T12:00:00.000000Z';

describe('nextTick', () => {
  test.each([
    ['30 12 * * *', '2026-11-20T12:30:00.000000Z'],
    ['0 12 * * *', '2026-11-21T12:00:00.000000Z'],
    ['0 6 * * MON', '2026-11-23T06:00:00.000000Z'],
    ['@daily', '2026-11-21T00:00:00.000000Z'],
    ['*/10 * * * * *', '2026-11-20T12:00:10.000000Z'],
    ['5/15 * * * *', '2026-11-20T12:05:00.000000Z'],
  ])('the first tick of %o is strictly after the given moment, in UTC', (cron, tick) => {
    expect(nextTick(cron, NOON)).toBe(tick);
  });

  test('a fraction of a second counts', () => {
    expect(nextTick('0 12 * * *', '2026-11-20T11:59:59.999999Z')).toBe(NOON);
    expect(nextTick('0 12 * * *', '2026-11-20T12:00:00.000001Z')).toBe('2026-11-21T12:00:00.000000Z');
  });

  test.each(['', 'daily', '61 * * * *', '0 0 30 2 *', '0 0 0 1 1 * 2020', '2030-01-01T00:00:00Z'])(
    '%o has no tick: it is no cron expression or is never due again',
    (cron) => {
      expect(nextTick(cron, NOON)).toBeNull();
    },
  );
});
