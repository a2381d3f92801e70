import { describe, expect, test } from 'vitest';
import { isHeld } from '../../../src/core/decide/shrink-guard.ts';
import { context, streamOf } from '../setup.ts';

describe('isHeld (R14)', () => {
  test.each([
    [49, 49, false, 'fewer than 50 rows'],
    [50, 50, true, 'all of 50 rows'],
    [50, 99, true, 'just more than half'],
    [50, 100, false, 'exactly half'],
    [51, 100, true, 'a row more than half'],
    [500_000, 1_000_000, false, 'exactly half of many'],
    [500_001, 1_000_000, true, 'more than half of many'],
    [0, 0, false, 'nothing'],
  ])('removing %i of %i rows is held back: %s (%s)', (toRemove, live, held) => {
    expect(isHeld(streamOf('assets'), { live, toRemove }, context())).toBe(held);
  });

  test('--allow-shrink lets any removal through', () => {
    expect(isHeld(streamOf('assets'), { live: 100, toRemove: 100 }, context({ options: { allowShrink: true } }))).toBe(
      false,
    );
  });

  test('removals of health scores are never held back, because scores exist only for recent results', () => {
    expect(isHeld(streamOf('asset_health_scores'), { live: 100, toRemove: 100 }, context())).toBe(false);
  });
});
