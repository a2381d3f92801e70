import { expect, test } from 'vitest';
import { dueTestsQuery, nextScanAt, staleHistoriesBefore } from '../../../src/core/decide/scan-interval.ts';
import { addDays, addSeconds } from '../../../src/core/time/instant.ts';
import { ask, context, inRound, T } from '../setup.ts';

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

test.each([
  ['never read', null],
  ['last read before then', addDays(T, -3)],
  ['last read in the future', addDays(T, 1)],
])(
  'if the latest executions were %s, histories are due as a scan would be, with a page each (R13)',
  (_, latestReadAt) => {
    const facts = { histories: { count: 7, latestReadAt } };
    expect(staleHistoriesBefore(facts, context({ options: { fullEveryDays: 'auto' } }))).toBe(addSeconds(T, -4200));
    expect(staleHistoriesBefore(facts, context({ options: { fullEveryDays: 2 } }))).toBe(addDays(T, -2));
  },
);

test('while the latest executions are read, no history is due by age, nor without a server time (R13, R22)', () => {
  const facts = { histories: { count: 7, latestReadAt: addSeconds(T, -4200) } };
  expect(staleHistoriesBefore(facts, context({ options: { fullEveryDays: 'auto' } }))).toBeNull();
  const unread = { histories: { count: 7, latestReadAt: null } };
  expect(staleHistoriesBefore(unread, context({ latestServerTime: null }))).toBeNull();
});

test('a history that was read in this run is not due by age, whatever the interval', () => {
  const inRun = inRound({ mode: 'window', run: 5, steps: [ask('tests', { before: addDays(T, 1) })] });
  expect(dueTestsQuery(inRun, context(), 9)).toEqual({
    limit: 9,
    run: 5,
    fresh: { from: T, until: addSeconds(T, 3600) },
  });
});

test('with --full-every 0, latest executions that this run has read show what is due (R13, R22)', () => {
  const facts = { histories: { count: 7, latestReadAt: T } };
  const given = { latestServerTime: addSeconds(T, 1), options: { fullEveryDays: 0 } };
  expect(staleHistoriesBefore(facts, context(given))).toBeNull();
});
