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

test('each read of a round has the next number, and begins at its first page now (R7, R10)', () => {
  const first = beginRead(inRound({ reads: 2 }), PLAN, context());
  expect(first.round).toMatchObject({ reads: 3, read: { ...PLAN, number: 3, cursor: null, at: T, restarts: 0 } });
  expect(beginRead(first, PLAN, context()).round.read.number).toBe(4);
});

test('the first read of candidates is remembered, and no later one (R12)', () => {
  const candidates = { ...PLAN, as: 'candidates' } as const;
  const before = beginRead(inRound(), PLAN, context());
  expect(before.round.firstConfirmation).toBeNull();
  const first = beginRead(before, candidates, context());
  expect(beginRead(first, candidates, context()).round).toMatchObject({ reads: 3, firstConfirmation: 2 });
});

test('a change of the round, or of its read, leaves all other progress as it was (R5)', () => {
  const from = inRound({ reads: 1 }, { watermark: LAST_WEEK });
  expect(withRound(from, { pages: 2 })).toEqual({ ...from, round: { ...from.round, pages: 2 } });
  expect(withRead(from, read())).toEqual({ ...from, round: { ...from.round, read: read() } });
});

test('a read is under way only in a round that has one (R6)', () => {
  expect([checkpoint(), inRound(), inRound({ read: read() })].map(isInRead)).toEqual([false, false, true]);
});

test('a round whose current step is a list, or that is at its end, has no lookup (R12)', () => {
  expect(currentLookup(inRound({ steps: [ask('owned'), walk('scan')] }).round)).toEqual(ask('owned'));
  expect(() => currentLookup(inRound({ steps: [walk('scan'), ask('owned')] }).round)).toThrow('not a lookup');
  expect(() => currentLookup(inRound().round)).toThrow('not a lookup');
});

describe('a return of the environment (R13)', () => {
  test('makes a scan due of a stream that was scanned or is in a round, whatever it was due for', () => {
    const scanned = checkpoint({ scanDue: 'permission', returns: 1 });
    expect(withReturns(scanned, 2)).toEqual({ ...scanned, scanDue: 'returned', returns: 2 });
    const first = inRound({}, { scanEndedCycle: null });
    expect(withReturns(first, 1)).toEqual({ ...first, scanDue: 'returned', returns: 1 });
  });

  test('is only noted for a stream that was never read: it is scanned first anyway, or never', () => {
    expect(withReturns(NO_PROGRESS, 3)).toEqual({ ...NO_PROGRESS, returns: 3 });
  });

  test('changes nothing once it is taken into account', () => {
    const known = checkpoint({ returns: 2 });
    expect(withReturns(known, 2)).toBe(known);
  });
});
