import { expect, test } from 'vitest';
import { cursorFault, nextAttempt, nextPaging } from '../../../src/core/decide/paging.ts';
import type { Page } from '../../../src/core/ports/source.ts';

const FIRST = { restarts: 0, isHalved: false, limit: 2000 };

test('invalid cursors restart a read at most three times, at the same limit (R7)', () => {
  expect(nextAttempt('restart-read', FIRST)).toEqual({ ...FIRST, restarts: 1 });
  expect(nextAttempt('restart-read', { ...FIRST, restarts: 2 })).toEqual({ ...FIRST, restarts: 3 });
  expect(nextAttempt('restart-read', { ...FIRST, restarts: 3 })).toBeNull();
});

test.each([
  [2000, 1000],
  [101, 51],
  [60, 50],
  [51, 50],
])('a read whose page of %i rows fails starts over with %i, once (R24)', (limit, half) => {
  const attempts = { restarts: 1, isHalved: false, limit };
  expect(nextAttempt('halve-page', attempts)).toEqual({ restarts: 1, isHalved: true, limit: half });
  expect(nextAttempt('halve-page', { ...attempts, isHalved: true })).toBeNull();
});

test('a limit of 50 rows is not halved further (R24)', () => {
  expect(nextAttempt('halve-page', { ...FIRST, limit: 50 })).toBeNull();
});

test.each(['not-live', 'forbidden', 'stream', 'restart-round', 'budget'] as const)(
  'a read that failed with %s has no further attempt (R7, R24)',
  (recovery) => {
    expect(nextAttempt(recovery, FIRST)).toBeNull();
  },
);

test.each([
  ['has_more and a new cursor', { hasMore: true, nextCursor: 'b' }, null],
  ['no has_more and a known cursor', { hasMore: false, nextCursor: 'a' }, null],
  ['has_more and no cursor', { hasMore: true, nextCursor: null }, 'answers has_more without a cursor'],
  ['has_more and a known cursor', { hasMore: true, nextCursor: 'a' }, 'repeats a cursor'],
])('a page with %s is judged by has_more and its cursor alone (R8)', (_, end, fault) => {
  const page: Page = { items: [], ...end };
  const said = cursorFault(page, (cursor) => cursor === 'a');
  expect(said).toBe(fault === null ? null : `${fault}: this is an error of the service`);
});

test.each([
  [0, 1],
  [3, 1],
  [0, 7],
  [5, 12],
])('cursors that after %i pages repeat every %i pages return to a landmark (R8)', (before, length) => {
  const cursorAfter = (page: number): string => String(page < before ? page : before + ((page - before) % length));
  let paging = nextPaging({}, cursorAfter(0), 1);
  while (paging.landmark !== cursorAfter(paging.pages) && paging.pages < 100)
    paging = nextPaging({ paging }, cursorAfter(paging.pages), 1);
  expect(paging.pages).toBeLessThanOrEqual(3 * (before + length));
});
