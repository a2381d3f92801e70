import { describe, expect, test } from 'vitest';
import { NO_PROGRESS } from '../../../src/core/checkpoint.ts';
import {
  beginRead,
  currentLookup,
  isInRead,
  newRound,
  withRead,
  withReturns,
  withRound,
} from '../../../src/core/decide/round.ts';
import { ask, checkpoint, context, inRound, LAST_WEEK, read, T, walk } from '../setup.ts';

const PLAN = { as: 'upserts', path: ['assets'], query: { limit: 2000 } } as const;

test('a new round has read nothing, and sweeps only a mirror that has rows (R12)', () => {
  const plan = { mode: 'scan', reason: 'full', steps: [walk('scan')] } as const;
  const round = newRound(plan, context(), { hasRows: true, lastMark: 3 });
  expect(round).toMatchObject({ ...plan, run: 5, cycle: 5, due: null, read: null, reads: 0, pages: 0, lastMark: 3 });
  expect(round.sweeps).toBe(true);
  expect(newRound(plan, context(), { hasRows: false, lastMark: 3 }).sweeps).toBe(false);
});

test('each read of a round has the next number and begins at its first page now (R7, R10)', () => {
  const first = beginRead(inRound({ reads: 2 }), PLAN, context());
  expect(first.round).toMatchObject({ reads: 3, read: { ...PLAN, number: 3, cursor: null, at: T, restarts: 0 } });
  expect(beginRead(first, PLAN, context()).round.read.number).toBe(4);
});

test('a round remembers only its first read of candidates (R12)', () => {
  const candidates = { ...PLAN, as: 'candidates' } as const;
  const before = beginRead(inRound(), PLAN, context());
  expect(before.round.firstConfirmation).toBeNull();
  const first = beginRead(before, candidates, context());
  expect(beginRead(first, candidates, context()).round).toMatchObject({ reads: 3, firstConfirmation: 2 });
});

test('changing the round or its read leaves all other progress unchanged (R5)', () => {
  const from = inRound({ reads: 1 }, { watermark: LAST_WEEK });
  expect(withRound(from, { pages: 2 })).toEqual({ ...from, round: { ...from.round, pages: 2 } });
  expect(withRead(from, read())).toEqual({ ...from, round: { ...from.round, read: read() } });
});

test('a read is in progress only in a round that has one (R6)', () => {
  expect([checkpoint(), inRound(), inRound({ read: read() })].map(isInRead)).toEqual([false, false, true]);
});

test('a round has a current lookup only if its first step is one (R12)', () => {
  expect(currentLookup(inRound({ steps: [ask('owned'), walk('scan')] }).round)).toEqual(ask('owned'));
  expect(() => currentLookup(inRound({ steps: [walk('scan'), ask('owned')] }).round)).toThrow('not a lookup');
  expect(() => currentLookup(inRound().round)).toThrow('not a lookup');
});

describe('an environment that is listed again (R13)', () => {
  test('a stream that was scanned, or is in a round, is due for a scan whatever its reason was', () => {
    const scanned = checkpoint({ scanDue: 'permission', returns: 1 });
    expect(withReturns(scanned, 2)).toEqual({ ...scanned, scanDue: 'returned', returns: 2 });
    const first = inRound({}, { scanEndedCycle: null });
    expect(withReturns(first, 1)).toEqual({ ...first, scanDue: 'returned', returns: 1 });
  });

  test('a stream that was never read only records the return', () => {
    expect(withReturns(NO_PROGRESS, 3)).toEqual({ ...NO_PROGRESS, returns: 3 });
  });

  test('a return that was already counted changes nothing', () => {
    const known = checkpoint({ returns: 2 });
    expect(withReturns(known, 2)).toBe(known);
  });
});
