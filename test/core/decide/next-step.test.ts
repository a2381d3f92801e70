import { describe, expect, test } from 'vitest';
import type { Checkpoint, Round } from '../../../src/core/checkpoint.ts';
import { NO_PROGRESS } from '../../../src/core/checkpoint.ts';
import type { Context } from '../../../src/core/context.ts';
import { type NextStep, nextStep } from '../../../src/core/decide/next-step.ts';
import { startRound } from '../../../src/core/decide/round.ts';
import { addDays, addSeconds } from '../../../src/core/time/instant.ts';
import { ask, checkpoint, context, read, round, streamOf, T, walk, YESTERDAY } from '../setup.ts';

const assets = streamOf('assets');
const tests = streamOf('tests');
const SINCE = '2026-11-19T03:10:00.000000Z';
const upserts = walk('upserts', { synced_since: SINCE, limit: 2000 });
const tombstones = walk('tombstones', { deleted_since: SINCE, limit: 2000 });

const under = (given: Partial<Round>): Checkpoint => checkpoint({ round: round(given) });
const planned = (given: Partial<Round>, circumstances: Context = context()): NextStep =>
  nextStep(assets, under(given), circumstances);

function fetching(nextStep: NextStep): Extract<NextStep, { do: 'fetch' }> {
  if (nextStep.do !== 'fetch') throw new Error(`plans to ${nextStep.do}`);
  return nextStep;
}

describe('a stream between rounds', () => {
  test('it rests once it has finished in this cycle (R6)', () => {
    expect(nextStep(assets, checkpoint({ finishedCycle: 5 }), context())).toEqual({ do: 'rest', why: 'done' });
  });

  test('after a failed scan it rests only for the rest of the run: the next one of the cycle tries it again (R9)', () => {
    const waiting = { finishedCycle: 5, waitingScan: round({ mode: 'scan' }) };
    expect(nextStep(assets, checkpoint({ ...waiting, scanTriedInRun: 5 }), context()).do).toBe('rest');
    expect(nextStep(assets, checkpoint({ ...waiting, scanTriedInRun: 4 }), context())).toMatchObject({
      do: 'continue',
      checkpoint: { round: { mode: 'scan' }, waitingScan: null },
    });
  });

  test('it rests as unavailable if it ended as unavailable in this cycle (R15)', () => {
    const unavailable = checkpoint({ finishedCycle: 5, unavailable: true });
    expect(nextStep(tests, unavailable, context())).toEqual({ do: 'rest', why: 'unavailable' });
    expect(nextStep(tests, { ...unavailable, finishedCycle: 4 }, context()).do).toBe('begin');
  });

  test('otherwise it begins a round, from the bound of the feeds (R2)', () => {
    expect(nextStep(assets, checkpoint(), context())).toEqual({
      do: 'begin',
      query: { since: SINCE, settledBefore: addSeconds(T, -3600) },
    });
    expect(nextStep(assets, NO_PROGRESS, context())).toMatchObject({ do: 'begin', query: { since: null } });
  });
});

test('a waiting scan resumes in the next run, from where it stopped, and not in this one (R9)', () => {
  const aside = round({ mode: 'scan', steps: [walk('scan')], read: read({ cursor: 'c7' }) });
  const waiting = (scanTriedInRun: number): NextStep =>
    nextStep(assets, checkpoint({ scanTriedInRun, waitingScan: aside }), context());
  expect(waiting(4)).toEqual({ do: 'continue', checkpoint: checkpoint({ scanTriedInRun: 4, round: aside }) });
  expect(waiting(5).do).toBe('begin');
});

test('a feed out of reach is skipped after a scan that failed in this run; else the round is dropped (R3, R9)', () => {
  const since = addDays(T, -90);
  const feeds = [walk('upserts', { synced_since: since }), walk('tombstones', { deleted_since: since }), ask('owned')];
  const beside = round({ steps: feeds, read: read({ as: 'upserts', query: { synced_since: since } }) });
  const waitingScan = round({ mode: 'scan', reads: 2 });
  const after = (scanTriedInRun: number): NextStep =>
    nextStep(assets, checkpoint({ scanTriedInRun, waitingScan, round: beside }), context());
  const left = { ...beside, steps: [ask('owned')], read: null, incomplete: true };
  // What its upserts returned does not count as seen by the waiting scan, whose reads come first.
  expect(after(5)).toEqual({
    do: 'forget',
    which: 3,
    checkpoint: checkpoint({ scanTriedInRun: 5, waitingScan, round: left }),
  });
  expect(after(4)).toMatchObject({ do: 'forget', which: 'all', checkpoint: { round: null } });
});

test('a marked round is dropped once its feed bound is too old to send, even after a failed scan (R9, R18)', () => {
  const steps = [walk('upserts', { synced_since: addDays(T, -90) }), ask('unshown')];
  const marked = checkpoint({ scanTriedInRun: 5, round: round({ mode: 'marked', steps }) });
  expect(nextStep(streamOf('column_lineage'), marked, context())).toMatchObject({
    do: 'forget',
    which: 'all',
    checkpoint: { round: null },
  });
});

describe('the start of a round', () => {
  const due = checkpoint({ scanDue: 'returned' });

  test('a scan takes over the due scan, so a later reason is kept (R13)', () => {
    const scan = round({ mode: 'scan', due: 'returned' });
    expect(startRound(due, scan)).toEqual({ ...due, scanDue: null, round: scan });
  });

  test('any other round leaves the due scan in place', () => {
    expect(startRound(due, round())).toEqual({ ...due, round: round() });
  });
});

describe('an interrupted read', () => {
  const cut = read({ as: 'upserts', query: { synced_since: SINCE, limit: 500 }, cursor: 'c7', at: YESTERDAY });

  test('it resumes from its stored cursor, with its stored query and limit (R6)', () => {
    const step = fetching(planned({ read: cut, steps: [upserts] }));
    expect(step.request).toEqual({ path: ['assets'], query: { synced_since: SINCE, limit: 500 }, cursor: 'c7' });
    expect(step.checkpoint.round?.read).toEqual(cut);
  });

  const scan: Partial<Round> = { mode: 'scan', cycle: 1, read: read({ cursor: 'c7' }), steps: [walk('scan')] };

  test('it resumes however old it is (R6)', () => {
    expect(fetching(planned(scan, context({ serverTime: addDays(T, 400) }))).request.cursor).toBe('c7');
  });

  test('--full gives up a round of an earlier cycle, and continues one of its own (R6)', () => {
    const full = { options: { full: true } };
    const dropped = { do: 'forget', which: 'all', checkpoint: { ...under(scan), round: null } };
    expect(planned(scan, context(full))).toEqual(dropped);
    expect(planned(scan, context({ ...full, run: 6 })).do).toBe('forget');
    expect(planned({ ...scan, cycle: 5 }, context(full)).do).toBe('fetch');
  });

  test('it starts over if its pages are larger than the page size of this run (R6)', () => {
    const smaller = context({ options: { pageSize: 10 } });
    const step = planned({ read: cut, steps: [upserts] }, smaller);
    expect(step).toMatchObject({ do: 'forget', which: cut.number });
    const restarted = { ...cut, cursor: null, at: T, query: { synced_since: SINCE, limit: 10 } };
    if (step.do === 'forget') expect(step.checkpoint.round?.read).toEqual(restarted);
  });

  test('it keeps its limit, which failed in one run, only if it has read pages (R6, R24)', () => {
    const limited = (cursor: string | null) =>
      nextStep(
        assets,
        { ...under({ read: { ...cut, cursor }, steps: [upserts] }), pageLimit: { rows: 250, at: T } },
        context(),
      );
    expect(fetching(limited('c7')).request.query['limit']).toBe(500);
    expect(limited(null)).toMatchObject({ do: 'forget', checkpoint: { round: { read: { query: { limit: 250 } } } } });
  });

  test('its round is dropped if its bound is too old (R3)', () => {
    const given = { read: cut, steps: [upserts, tombstones], mode: 'feed' } as const;
    const dropped = { do: 'forget', which: 'all', checkpoint: { ...under(given), round: null } };
    expect(planned(given, context({ serverTime: addDays(SINCE, 89) })).do).toBe('fetch');
    expect(planned(given, context({ serverTime: addDays(SINCE, 90) }))).toEqual(dropped);
    expect(planned(given, context({ serverTime: null }))).toEqual(dropped);
  });

  test('a scan only skips a tombstones feed whose bound is too old (R3, R12)', () => {
    const late = context({ serverTime: addDays(SINCE, 90) });
    const cutTombstones = read({ as: 'tombstones', query: tombstones.query, cursor: 'c7' });
    for (const begun of [null, cutTombstones]) {
      const step = planned({ mode: 'scan', read: begun, steps: [tombstones, ask('candidates')] }, late);
      expect(step).toEqual({ do: 'continue', checkpoint: under({ mode: 'scan', steps: [ask('candidates')] }) });
    }
  });
});

describe('the steps of a round', () => {
  test('the next step begins a read with its own number and T (R10)', () => {
    const step = fetching(planned({ steps: [upserts, tombstones], reads: 3 }));
    expect(step.request).toEqual({ path: ['assets'], query: upserts.query, cursor: null });
    expect(step.checkpoint.round).toMatchObject({
      reads: 4,
      steps: [upserts, tombstones],
      read: { as: 'upserts', number: 4, at: T, cursor: null, restarts: 0, halvedRun: null },
    });
  });

  test('no request asks for more rows than the page limit of the stream (R24)', () => {
    const limited = (rows: number, pageSize: number) =>
      fetching(
        nextStep(
          assets,
          { ...under({ steps: [upserts] }), pageLimit: { rows, at: T } },
          context({ options: { pageSize } }),
        ),
      ).request.query['limit'];
    expect([limited(500, 2000), limited(500, 100)]).toEqual([500, 100]);
  });

  test('no request has a bound older than 89 days, not even a stored one (R3)', () => {
    const step = planned({ steps: [tombstones], pages: 1 }, context({ serverTime: addDays(SINCE, 90) }));
    expect(step.do).toBe('forget');
  });

  test('a lookup takes its ids from the mirror before it sends a request', () => {
    const readStep = ask('candidates', { after: 'k' });
    expect(planned({ mode: 'scan', steps: [readStep] })).toEqual({
      do: 'look-up',
      lookup: readStep,
      checkpoint: under({ mode: 'scan', steps: [readStep] }),
    });
  });

  test('a chunk of ids is requested in each variant of the stream, and the requests are counted (R12)', () => {
    const readStep = ask('candidates', { ids: ['a', 'b'], asked: 4 });
    const of = (variant: number) =>
      fetching(nextStep(tests, under({ mode: 'scan', steps: [{ ...readStep, variant }] }), context()));
    expect(of(0).request).toEqual({ path: ['tests'], query: { ids: ['a', 'b'], limit: 2000 }, cursor: null });
    expect(of(1).request.query).toEqual({ disabled: 'true', ids: ['a', 'b'], limit: 2000 });
    expect(of(1).checkpoint.round?.steps[0]).toMatchObject({ asked: 5, variant: 1 });
  });

  test.each([
    ['columns', 'owned', 'asset_ids'],
    ['columns', 'candidates', 'ids'],
    ['column_lineage', 'marked', 'column_ids'],
    ['table_assets', 'marked', 'ids'],
  ] as const)('%s: ids that are %s are requested by %s', (name, about, parameter) => {
    const step = nextStep(streamOf(name), under({ steps: [ask(about, { ids: ['x'] })] }), context());
    expect(fetching(step).request.query).toEqual({ [parameter]: ['x'], limit: 2000 });
  });
});

describe('the end of a round', () => {
  const settlement = (name: Parameters<typeof streamOf>[0], given: Partial<Round>, circumstances = context()) => {
    const step = nextStep(
      streamOf(name),
      under({ pages: 1, firstPageAt: YESTERDAY, lastMark: 9, ...given }),
      circumstances,
    );
    if (step.do !== 'finish') throw new Error(`plans to ${step.do}`);
    return step.roundEnd;
  };

  test('a scan sweeps, as of the T of the run that began it (R10, R12)', () => {
    const all = {
      sweep: { at: YESTERDAY },
      through: null,
      rememberFrom: null,
      marksThrough: null,
      settledBefore: addSeconds(YESTERDAY, -3600),
      isReleased: false,
      replace: null,
    };
    const round = { lastMark: 9, run: 5, isWhole: true };
    expect(settlement('assets', { mode: 'scan', sweeps: true })).toEqual({ ...all, ...round });
  });

  test('if a candidate was returned, the sweep ends at the last one that was looked up (R12)', () => {
    const scan = { mode: 'scan', sweeps: true, confirmedUpTo: 'k' } as const;
    expect(settlement('assets', { ...scan, sweepContradicted: true }).through).toBe('k');
    expect(settlement('assets', { ...scan, sweepContradicted: false }).through).toBeNull();
  });

  test('no other round sweeps, nor does a stream that doesn’t decide which rows exist (R12)', () => {
    expect(settlement('assets', { mode: 'feed', sweeps: true }).sweep).toBeNull();
    expect(settlement('assets', { mode: 'scan', sweeps: false }).sweep).toBeNull();
    expect(settlement('table_assets', { mode: 'scan', sweeps: true }).sweep).toBeNull();
  });

  test('a sweep has no time if there was no Date (R1)', () => {
    const dateless = { mode: 'scan', sweeps: true, firstPageAt: null } as const;
    expect(settlement('assets', dateless, context({ serverTime: null })).sweep).toEqual({ at: null });
  });

  test.each([
    ['scan', true],
    ['snapshot', true],
    ['feed', false],
    ['marked', false],
    ['window', false],
  ] as const)('mode %s removes rows rejected before its run and not since: %j (R20)', (mode, isWhole) => {
    expect(settlement('assets', { mode, run: 4 })).toMatchObject({ isWhole, run: 4 });
  });

  test('staged rows replace the whole table, or the edges of the marked columns (R16, R18)', () => {
    expect(settlement('latest_test_executions', { mode: 'snapshot' }).replace).toBe('all');
    expect(settlement('column_lineage', { mode: 'scan' }).replace).toBe('all');
    expect(settlement('column_lineage', { mode: 'marked', reads: 1 }).replace).toBe('marked');
    expect(settlement('column_lineage', { mode: 'marked', reads: 0 }).replace).toBeNull();
    expect(settlement('table_assets', { mode: 'marked' }).replace).toBeNull();
    expect(settlement('assets', { mode: 'feed' }).replace).toBeNull();
  });
});

describe('an interrupted history', () => {
  const window = (start_time_from: string): Checkpoint =>
    under({
      mode: 'window',
      steps: [ask('tests', { ids: ['t'] })],
      read: read({ as: 'tests', query: { start_time_from, limit: 2000 } }),
    });
  const step = (from: string, circumstances = context()) =>
    nextStep(streamOf('test_executions'), window(from), circumstances).do;

  test('a history resumes while the service still returns its whole window, within the overlap (R3, R22)', () => {
    expect(step(addDays(T, -90))).toBe('fetch');
    expect(step('2026-08-22T03:10:00.000000Z')).toBe('fetch');
    expect(step('2026-08-22T03:09:59.999999Z')).toBe('forget');
  });

  test('a history’s stored start_time_from is given up while no Date is known (R1)', () => {
    expect(step(T)).toBe('fetch');
    expect(step(T, context({ serverTime: null }))).toBe('forget');
  });
});
