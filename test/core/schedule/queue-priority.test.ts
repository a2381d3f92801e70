import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { dueSince, turnOf } from '../../../src/core/schedule/queue-priority.ts';

const NOW = '2026-11-20T04:10:00.000000Z';
const EARLIER = '2026-11-20T04:00:00.000000Z';
const LATER = '2026-11-20T05:00:00.000000Z';

describe('the turn of a sync', () => {
  test('is earlier for what was due earlier', () => {
    const due = fc.integer({ min: 1_700_000_000, max: 3_000_000_000 });
    fc.assert(
      fc.property(due, due, fc.nat({ max: 1000 }), (a, b, ahead) => {
        expect(turnOf({ dueSeconds: a, ahead }) < turnOf({ dueSeconds: b, ahead })).toBe(a < b);
      }),
    );
  });

  test('lets a single environment pass those of an account with a thousand that were due before', () => {
    const dueSeconds = 1_800_000_000;
    const large = Array.from({ length: 1000 }, (_, ahead) => turnOf({ dueSeconds, ahead }));
    const single = turnOf({ dueSeconds: dueSeconds + 120, ahead: 0 });
    expect(large.filter((turn) => turn < single)).toHaveLength(2);
  });

  test('fits into the 32 bits of a priority for ten thousand environments of one account, until 2090', () => {
    const last = turnOf({ dueSeconds: Date.parse('2090-01-01') / 1000, ahead: 10_000 });
    expect(last).toBeLessThan(2 ** 31);
    expect(turnOf({ dueSeconds: Date.parse('2026-01-01') / 1000, ahead: 0 })).toBe(0);
  });
});

describe('since when an environment is due', () => {
  test.each([
    ['its next time, if that is later', LATER, null, LATER],
    ['never without a next time', null, EARLIER, null],
    ['since it was due before', '0000', EARLIER, EARLIER],
    ['now, if it was not due before', '0000', null, NOW],
    ['now, if its time has been moved to the past', EARLIER, LATER, NOW],
  ])('is %s', (_, scheduled, before, expected) => {
    expect(dueSince(scheduled, before, NOW)).toBe(expected);
  });
});
