import { describe, expect, test } from 'vitest';
import type { Checkpoint, Round, RoundCheckpoint } from '../../../src/core/checkpoint.ts';
import type { Context } from '../../../src/core/context.ts';
import { checkpointAfterRound } from '../../../src/core/decide/finish-round.ts';
import type { RoundEnd } from '../../../src/core/ports/destination.ts';
import { addDays, LAST_INSTANT } from '../../../src/core/time/instant.ts';
import { context, inRound, LAST_WEEK, round, streamOf, T, YESTERDAY } from '../setup.ts';

const FIRST = '2026-11-20T02:00:00.000000Z';
const NOTHING: RoundEnd = {
  ...{
    sweep: null,
    through: null,
    rememberFrom: null,
    marksThrough: null,
    settledBefore: LAST_INSTANT,
    isReleased: false,
    replace: null,
  },
  ...{ lastMark: 0, run: 5, isWhole: false },
};

const settle = (given: RoundCheckpoint, roundEnd: RoundEnd, circumstances: Context) =>
  checkpointAfterRound(streamOf('assets'), given, roundEnd, circumstances);

const feed = round({ pages: 3, firstPageAt: FIRST });
const scan = round({ mode: 'scan', reason: 'full', pages: 3, firstPageAt: FIRST });
const under = (given: Round, more: Partial<Checkpoint> = {}): RoundCheckpoint =>
  inRound(given, { scannedAt: LAST_WEEK, scanEndedAt: LAST_WEEK, ...more });

describe('the watermark (R2)', () => {
  test('becomes the T of the run that committed the first page', () => {
    expect(settle(under(feed), NOTHING, context())).toMatchObject({ watermark: FIRST, round: null });
  });

  test('becomes the T of this run if there was nothing to read', () => {
    expect(settle(under(round()), NOTHING, context()).watermark).toBe(T);
  });

  test('stays in a run without a Date (R1)', () => {
    expect(settle(under(feed), NOTHING, context({ serverTime: null })).watermark).toBe(YESTERDAY);
    expect(settle(under(round()), NOTHING, context({ serverTime: null })).watermark).toBe(YESTERDAY);
  });

  const dayAhead = addDays(T, 1);

  test('never moves backwards while a reading is later than it: then a clock on the way is behind (R1)', () => {
    const late = context({ newestReading: addDays(T, 2) });
    expect(settle(under(feed, { watermark: dayAhead }), NOTHING, late).watermark).toBe(dayAhead);
  });

  test('that lies ahead of every reading moves back (R1)', () => {
    expect(settle(under(scan, { watermark: dayAhead }), NOTHING, context()).watermark).toBe(FIRST);
  });

  test('that a scan left where it was, although it is not believed, makes another scan due (R1)', () => {
    const late = context({ newestReading: addDays(T, 2) });
    const due = (more: Partial<Checkpoint>): unknown => settle(under(scan, more), NOTHING, late).scanDue;
    expect([due({ watermark: dayAhead }), due({ watermark: YESTERDAY })]).toEqual(['clock', null]);
  });

  test('is the T that a later answer has shown to be the earliest (R1)', () => {
    const early = context({ serverTime: addDays(FIRST, -1), newestReading: T });
    expect(settle(under(feed, { watermark: LAST_WEEK }), NOTHING, early).watermark).toBe(addDays(FIRST, -1));
  });

  test('stays if the run of the first page had no Date (R1)', () => {
    expect(settle(under(round({ pages: 1 })), NOTHING, context()).watermark).toBe(YESTERDAY);
    expect(settle(under(round({ pages: 1 }), { watermark: null }), NOTHING, context()).watermark).toBeNull();
    const ahead = under(round({ pages: 1 }), { watermark: dayAhead });
    expect(settle(ahead, NOTHING, context()).watermark).toBeNull();
  });
});

describe('the times of the last scan', () => {
  test('are the time when it began and the time when it ended (R13)', () => {
    const ended = settle(under(scan), NOTHING, context());
    expect(ended).toMatchObject({ scannedAt: FIRST, scanEndedAt: T, scanEndedCycle: 5 });
  });

  test('are not moved by the feeds', () => {
    const ended = settle(under(feed), NOTHING, context());
    expect(ended).toMatchObject({ scannedAt: LAST_WEEK, scanEndedAt: LAST_WEEK, scanEndedCycle: 4 });
  });

  test('stay in a run without a Date, so that the next scan falls due (R1, R13)', () => {
    const dateless = under(round({ mode: 'scan', pages: 1 }));
    const ended = settle(dateless, NOTHING, context({ serverTime: null }));
    expect(ended).toMatchObject({ scannedAt: LAST_WEEK, scanEndedAt: LAST_WEEK, scanEndedCycle: 5 });
  });
});

describe('whether a scan is due', () => {
  const SWEPT = { ...NOTHING, sweep: { at: T } };

  test('a scan that took over the due scan leaves none due', () => {
    expect(settle(under({ ...scan, due: 'returned' }), SWEPT, context()).scanDue).toBeNull();
  });

  test('a contradicted scan that left candidates makes another one due (R12)', () => {
    const due = (given: Partial<Round>) => settle(under({ ...scan, ...given }), SWEPT, context()).scanDue;
    expect(due({ sweepContradicted: true, confirmedUpTo: 'k' })).toBe('refuted');
    expect(due({ sweepContradicted: true, confirmedUpTo: null })).toBeNull();
    expect(due({ sweepContradicted: false, confirmedUpTo: 'k' })).toBeNull();
  });

  test('the scan that was made for that makes no third one due (R12)', () => {
    const again = { ...scan, sweepContradicted: true, confirmedUpTo: 'k', due: 'refuted' } as const;
    expect(settle(under(again), SWEPT, context()).scanDue).toBeNull();
  });

  test('a scan that began before the reason came up leaves a scan due, even if its reason was the same (R13)', () => {
    const begunBefore = under({ ...scan, cycle: 4, due: 'returned' }, { scanDue: 'returned' });
    expect(settle(begunBefore, SWEPT, context()).scanDue).toBe('returned');
  });

  test('streams without feeds have no scan due', () => {
    const returned = under(round({ mode: 'snapshot' }), { scanDue: 'returned' });
    expect(checkpointAfterRound(streamOf('asset_lineage'), returned, NOTHING, context()).scanDue).toBeNull();
  });

  test('the feeds leave a due scan as it is', () => {
    expect(settle(under(feed, { scanDue: 'permission' }), NOTHING, context()).scanDue).toBe('permission');
  });
});

test('a round that began in this cycle finishes it; one that began before is followed by another (R6)', () => {
  expect(settle(under(feed), NOTHING, context()).finishedCycle).toBe(5);
  expect(settle(under({ ...feed, cycle: 4 }, { finishedCycle: 3 }), NOTHING, context()).finishedCycle).toBe(3);
});

test('the feeds finish no cycle in a run in which a scan failed, nor while one waits (R9)', () => {
  const after = (given: Partial<Checkpoint>) => settle(under(feed, given), NOTHING, context()).finishedCycle;
  expect(after({ scanTriedInRun: 5 })).toBe(4);
  expect(after({ scanTriedInRun: 4 })).toBe(5);
  expect(after({ scanTriedInRun: 4, waitingScan: round({ mode: 'scan' }) })).toBe(4);
});

test('the watermark does not move if a feed was left out (R2, R9)', () => {
  const left = under({ ...feed, pages: 1, firstPageAt: T, incomplete: true }, { scanTriedInRun: 5 });
  expect(settle(left, NOTHING, context()).watermark).toBe(YESTERDAY);
});

test('a stream that was read to its end is live (R15)', () => {
  expect(settle(under(feed, { unavailable: true }), NOTHING, context()).unavailable).toBe(false);
});
