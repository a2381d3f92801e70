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
  ['a clock that was not set is trusted', {}, { atMs: 1_060_000, offsetMs: 0 }],
  [
    'a clock that was set forward is corrected by the difference',
    { clockMs: 1_060_000 + HOUR },
    { atMs: 1_060_000, offsetMs: HOUR },
  ],
  [
    'a correction made by another process is adopted',
    { clockMs: 1_060_000 + HOUR, offsetMs: HOUR },
    { atMs: 1_060_000, offsetMs: HOUR },
  ],
  [
    'a clock that was set back makes the account’s time stand still for a moment',
    { clockMs: 1_060_000 - HOUR },
    { atMs: 1_000_000, offsetMs: 60_000 - HOUR },
  ],
  [
    'a process that starts trusts the clock',
    { clockMs: 1_060_000 + HOUR, seen: null },
    { atMs: 1_060_000 + HOUR, offsetMs: 0 },
  ],
  [
    'the account’s time is never earlier than what other processes have written',
    { writtenMs: 1_070_000 },
    { atMs: 1_070_000, offsetMs: -10_000 },
  ],
])('%s (R1, R23)', (_, changed, expected) => {
  expect(accountTime({ ...look, ...changed })).toEqual(expected);
});
