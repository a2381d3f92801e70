import { describe, expect, test } from 'vitest';
import { withoutRound } from '../../src/core/decide/round.ts';
import { checkpoint, round } from './setup.ts';

describe('a round given up', () => {
  test('leaves its scan due again (R13)', () => {
    const scan = round({ mode: 'scan', due: 'returned' });
    expect(withoutRound(checkpoint({ round: scan }))).toEqual(checkpoint({ scanDue: 'returned' }));
  });

  test('gives way to a reason that came up after it began (R13)', () => {
    const scan = round({ mode: 'scan', due: 'returned' });
    expect(withoutRound(checkpoint({ scanDue: 'refuted', round: scan })).scanDue).toBe('refuted');
  });

  test('changes nothing if there is no round', () => {
    expect(withoutRound(checkpoint())).toEqual(checkpoint());
  });
});
