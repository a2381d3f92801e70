import { describe, expect, test } from 'vitest';
import type { Checkpoint, Round, RoundCheckpoint } from '../../../src/core/checkpoint.ts';
import type { Context } from '../../../src/core/context.ts';
import { checkpointAfterRound } from '../../../src/core/decide/finish-round.ts';
import type { RoundEnd } from '../../../src/core/ports/destination.ts';
import { addDays } from '../../../src/core/time/instant.ts';
import { PLAIN_ROUND_END } from '../../support/commit-parts.ts';
import { context, inRound, LAST_WEEK, round, streamOf, T, YESTERDAY } from '../setup.ts';

const FIRST = '2026-11-20T02:00:00.000000Z';
const NOTHING: RoundEnd = { ...PLAIN_ROUND_END, run: 5, isWhole: false };

const settle = (given: RoundCheckpoint, roundEnd: RoundEnd, circumstances: Context) =>
  checkpointAfterRound(streamOf('assets'), given, roundEnd, circumstances);

const feed = round({ pages: 3, firstPageAt: FIRST });
const scan = round({ mode: 'scan', reason: 'full', pages: 3, firstPageAt: FIRST });
const under = (given: Round, more: Partial<Checkpoint> = {}): RoundCheckpoint =>
  inRound(given, { scannedAt: LAST_WEEK, scanEndedAt: LAST_WEEK, ...more });

describe('the watermark after a round (R2)', () => {
  test('it becomes the T of the run that committed the first page', () => {
    expect(settle(under(feed), NOTHING, context())).toMatchObject({ watermark: FIRST, round: null });
  });

  test('it becomes the T of this run if the round read no page', () => {
    expect(settle(under(round()), NOTHING, context()).watermark).toBe(T);
  });

  test('it stays in a run without a Date (R1)', () => {
    expect(settle(under(feed), NOTHING, context({ serverTime: null })).watermark).toBe(YESTERDAY);
    expect(settle(under(round()), NOTHING, context({ serverTime: null })).watermark).toBe(YESTERDAY);
  });

  const dayAhead = addDays(T, 1);

  test('it does not move backwards while a reading is later, because then some clock is behind (R1)', () => {
    const late = context({ newestReading: addDays(T, 2) });
    expect(settle(under(feed, { watermark: dayAhead }), NOTHING, late).watermark).toBe(dayAhead);
  });

  test('it moves back if it lies ahead of every reading (R1)', () => {
    expect(settle(under(scan, { watermark: dayAhead }), NOTHING, context()).watermark).toBe(FIRST);
  });

  test('if a scan leaves an untrusted watermark in place, another scan is due (R1)', () => {
    const late = context({ newestReading: addDays(T, 2) });
    const due = (more: Partial<Checkpoint>): unknown => settle(under(scan, more), NOTHING, late).scanDue;
    expect([due({ watermark: dayAhead }), due({ watermark: YESTERDAY })]).toEqual(['clock', null]);
  });

  test('another scan is due if the watermark lay ahead when the scan began, even if it is past at its end (R1)', () => {
    const ahead = addDays(FIRST, 1);
    const late = context({ serverTime: addDays(ahead, 1), newestReading: addDays(ahead, 1) });
    const ended = settle(under(scan, { watermark: ahead }), NOTHING, late);
    expect(ended).toMatchObject({ watermark: ahead, scanDue: 'clock' });
    // Nobody knows when a scan began whose first page had no `Date`.
    const undated = settle(under({ ...scan, firstPageAt: null }, { watermark: YESTERDAY }), NOTHING, late);
    expect(undated).toMatchObject({ watermark: YESTERDAY, scanDue: 'clock' });
    // The feeds reached it while the scan waited.
    const fed = settle(under({ ...scan, fedUntil: ahead }, { watermark: ahead }), NOTHING, late);
    expect(fed).toMatchObject({ watermark: ahead, scanDue: null });
  });

  test('it becomes the T of this run if a later answer shows that T to be earlier than the first page (R1)', () => {
    const early = context({ serverTime: addDays(FIRST, -1), newestReading: T });
    expect(settle(under(feed, { watermark: LAST_WEEK }), NOTHING, early).watermark).toBe(addDays(FIRST, -1));
  });

  test('the first page of a scan that waits moves back to a T that a later response shows to be earlier (R1, R9)', () => {
    const waitingScan = { ...scan, firstPageAt: dayAhead };
    expect(settle(under(feed, { waitingScan }), NOTHING, context()).waitingScan?.firstPageAt).toBe(T);
    const undated = context({ serverTime: null });
    expect(settle(under(feed, { waitingScan }), NOTHING, undated).waitingScan?.firstPageAt).toBe(dayAhead);
  });

  test('it stays, or is cleared if it lies ahead, when the run of the first page had no Date (R1)', () => {
    expect(settle(under(round({ pages: 1 })), NOTHING, context()).watermark).toBe(YESTERDAY);
    expect(settle(under(round({ pages: 1 }), { watermark: null }), NOTHING, context()).watermark).toBeNull();
    const ahead = under(round({ pages: 1 }), { watermark: dayAhead });
    expect(settle(ahead, NOTHING, context()).watermark).toBeNull();
  });
});

describe('the times of the last scan', () => {
  test('a scan records when it began and when it ended (R13)', () => {
    const ended = settle(under(scan), NOTHING, context());
    expect(ended).toMatchObject({ scannedAt: FIRST, scanEndedAt: T, scanEndedCycle: 5 });
  });

  test('a scan records how many pages its lists took, and the feeds keep that number (R13)', () => {
    const pagesAfter = (given: Round): number => settle(under(given, { scanPages: 7 }), NOTHING, context()).scanPages;
    expect(pagesAfter({ ...scan, scanPages: 2 })).toBe(2);
    expect(pagesAfter(feed)).toBe(7);
  });

  test('the feeds do not change them', () => {
    const ended = settle(under(feed), NOTHING, context());
    expect(ended).toMatchObject({ scannedAt: LAST_WEEK, scanEndedAt: LAST_WEEK, scanEndedCycle: 4 });
  });

  test('a run without a Date does not change them, so the next scan falls due (R1, R13)', () => {
    const dateless = under(round({ mode: 'scan', pages: 1 }));
    const ended = settle(dateless, NOTHING, context({ serverTime: null }));
    expect(ended).toMatchObject({ scannedAt: LAST_WEEK, scanEndedAt: LAST_WEEK, scanEndedCycle: 5 });
  });
});

test('under --full-every auto, larger pages are tried again after a week, however often the list is scanned (R24)', () => {
  const limitAfter = (days: number): unknown => {
    const limited = under(scan, { pageLimit: { rows: 500, at: addDays(T, -days) } });
    return settle(limited, NOTHING, context({ options: { fullEveryDays: 'auto' } })).pageLimit;
  };
  expect(limitAfter(6)).toMatchObject({ rows: 500 });
  expect(limitAfter(7)).toMatchObject({ rows: 1000 });
});

describe('the scan that is due after a round', () => {
  const SWEPT = { ...NOTHING, sweep: { at: T } };

  test('none is due after a scan that took over the due one', () => {
    expect(settle(under({ ...scan, due: 'returned' }), SWEPT, context()).scanDue).toBeNull();
  });

  test('another one is due after a contradicted scan that left candidates unconfirmed (R12)', () => {
    const due = (given: Partial<Round>) => settle(under({ ...scan, ...given }), SWEPT, context()).scanDue;
    expect(due({ sweepContradicted: true, confirmedUpTo: 'k' })).toBe('refuted');
    expect(due({ sweepContradicted: true, confirmedUpTo: null })).toBeNull();
    expect(due({ sweepContradicted: false, confirmedUpTo: 'k' })).toBeNull();
  });

  test('a scan made because of a contradiction makes no third one due (R12)', () => {
    const again = { ...scan, sweepContradicted: true, confirmedUpTo: 'k', due: 'refuted' } as const;
    expect(settle(under(again), SWEPT, context()).scanDue).toBeNull();
  });

  test('a scan that began before the reason came up leaves a scan due, even for the same reason (R13)', () => {
    const begunBefore = under({ ...scan, cycle: 4, due: 'returned' }, { scanDue: 'returned' });
    expect(settle(begunBefore, SWEPT, context()).scanDue).toBe('returned');
  });

  test('none is due for a stream without feeds', () => {
    const returned = under(round({ mode: 'snapshot' }), { scanDue: 'returned' });
    expect(checkpointAfterRound(streamOf('asset_lineage'), returned, NOTHING, context()).scanDue).toBeNull();
  });

  test('the feeds leave a due scan in place', () => {
    expect(settle(under(feed, { scanDue: 'permission' }), NOTHING, context()).scanDue).toBe('permission');
  });
});

test('a round finishes the cycle in which it began; one from an earlier cycle needs another round (R6)', () => {
  expect(settle(under(feed), NOTHING, context()).finishedCycle).toBe(5);
  expect(settle(under({ ...feed, cycle: 4 }, { finishedCycle: 3 }), NOTHING, context()).finishedCycle).toBe(3);
});

test('the feeds remember that a scan failed in the run in which they began, but not in an earlier one (R9)', () => {
  const after = (scanTriedInRun: number, run: number) =>
    settle(under({ ...feed, run }, { scanTriedInRun }), NOTHING, context());
  expect(after(5, 5)).toMatchObject({ finishedCycle: 5, scanTriedInRun: 5 });
  expect(after(4, 4)).toMatchObject({ finishedCycle: 5, scanTriedInRun: 4 });
  expect(after(4, 5)).toMatchObject({ finishedCycle: 5, scanTriedInRun: null });
});

test('the watermark does not move if a feed was skipped (R2, R9)', () => {
  const left = under({ ...feed, pages: 1, firstPageAt: T, incomplete: true }, { scanTriedInRun: 5 });
  expect(settle(left, NOTHING, context()).watermark).toBe(YESTERDAY);
});

describe('histories that all answer 404 (R15)', () => {
  const ended = (given: Partial<Round>, beside: Partial<Checkpoint> = {}) => {
    const left = inRound({ mode: 'window', cycle: 4, ...given }, { finishedCycle: 3, ...beside });
    return checkpointAfterRound(streamOf('test_executions'), left, NOTHING, context());
  };
  const live = { unavailable: false, watermark: T };
  const lost = { unavailable: true, watermark: YESTERDAY };

  test('five mean that histories are no longer live, fewer may be gone', () => {
    expect(ended({ consecutiveNotFound: 5 })).toMatchObject({ ...lost, finishedCycle: 5 });
    for (const given of [{ consecutiveNotFound: 4 }, { pages: 1, firstPageAt: T }, { incomplete: true }])
      expect(ended({ consecutiveNotFound: 5, ...given })).toMatchObject(live);
  });

  test('they stay lost until a history is read or none is due', () => {
    const beside = { unavailable: true };
    expect(ended({ consecutiveNotFound: 1 }, beside)).toMatchObject({ ...lost, finishedCycle: 5 });
    expect(ended({ incomplete: true }, beside)).toMatchObject({ ...lost, finishedCycle: 3 });
    expect(ended({ consecutiveNotFound: 0 }, beside)).toMatchObject(live);
    expect(ended({ consecutiveNotFound: 1, pages: 1, firstPageAt: T }, beside)).toMatchObject(live);
  });
});

test('a stream that was read to its end is no longer unavailable (R15)', () => {
  expect(settle(under(feed, { unavailable: true }), NOTHING, context()).unavailable).toBe(false);
});
