import { expect, test } from 'vitest';
import { type AccountTimeReading, accountTime } from '../../../src/core/quota/account-time.ts';

const HOUR = 3_600_000;
const look: AccountTimeReading = {
  clockMs: 1_060_000,
  offsetMs: 0,
  writtenMs: 1_000_000,
  ownMs: 65_000,
  seen: { atMs: 1_000_000, ownMs: 5000 },
};

test.each<[string, Partial<AccountTimeReading>, { atMs: number; offsetMs: number }]>([
  ['a clock that nobody set is believed', {}, { atMs: 1_060_000, offsetMs: 0 }],
  ['a clock that is set forward is not', { clockMs: 1_060_000 + HOUR }, { atMs: 1_060_000, offsetMs: HOUR }],
  [
    'what another process found set is taken over',
    { clockMs: 1_060_000 + HOUR, offsetMs: HOUR },
    { atMs: 1_060_000, offsetMs: HOUR },
  ],
  [
    'a clock that is set back stands still for a moment',
    { clockMs: 1_060_000 - HOUR },
    { atMs: 1_000_000, offsetMs: 60_000 - HOUR },
  ],
  [
    'a process that begins believes the clock',
    { clockMs: 1_060_000 + HOUR, seen: null },
    { atMs: 1_060_000 + HOUR, offsetMs: 0 },
  ],
  ['what others have written is the least', { writtenMs: 1_070_000 }, { atMs: 1_070_000, offsetMs: -10_000 }],
])('%s (R1, R23)', (_, changed, expected) => {
  expect(accountTime({ ...look, ...changed })).toEqual(expected);
});
