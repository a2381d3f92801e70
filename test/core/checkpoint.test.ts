import { describe, expect, test } from 'vitest';
import { withoutRound } from '../../src/core/decide/round.ts';
import { checkpoint, round } from './setup.ts';

describe('withoutRound', () => {
  test('a discarded scan falls due again for the reason it had (R13)', () => {
    const scan = round({ mode: 'scan', due: 'returned' });
    expect(withoutRound(checkpoint({ round: scan }))).toEqual(checkpoint({ scanDue: 'returned' }));
  });

  test('a reason that came up after the scan began replaces the reason of a discarded scan (R13)', () => {
    const scan = round({ mode: 'scan', due: 'returned' });
    expect(withoutRound(checkpoint({ scanDue: 'refuted', round: scan })).scanDue).toBe('refuted');
  });

  test('a checkpoint without a round stays as it is', () => {
    expect(withoutRound(checkpoint())).toEqual(checkpoint());
  });
});
