import { describe, expect, test } from 'vitest';
import { withoutRound } from '../../src/core/round.ts';
import { checkpoint, round } from './setup.ts';

describe('a round given up', () => {
  test('leaves due what it was to make good (R13)', () => {
    const scan = round({ mode: 'scan', due: 'returned' });
    expect(withoutRound(checkpoint({ round: scan }))).toEqual(checkpoint({ scanDue: 'returned' }));
  });

  test('stands behind what came up since it began (R13)', () => {
    const scan = round({ mode: 'scan', due: 'returned' });
    expect(withoutRound(checkpoint({ scanDue: 'refuted', round: scan })).scanDue).toBe('refuted');
  });

  test('is nothing where there is none', () => {
    expect(withoutRound(checkpoint())).toEqual(checkpoint());
  });
});
