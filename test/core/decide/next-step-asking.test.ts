import { describe, expect, test } from 'vitest';
import type { Checkpoint, LookupRead, ReadStep, Round, RoundCheckpoint } from '../../../src/core/checkpoint.ts';
import { resumedHistory, withHistoryProgress } from '../../../src/core/decide/history-window.ts';
import { lookUp, lookUpHistory } from '../../../src/core/decide/next-step.ts';
import { restarted } from '../../../src/core/decide/round.ts';
import type { Backlog, DueTest } from '../../../src/core/ports/destination.ts';
import { addDays } from '../../../src/core/time/instant.ts';
import { SAMPLES } from '../../support/samples.ts';
import { ask, checkpoint, context, decoded, inRound, read, round, streamOf, T, walk } from '../setup.ts';

const REST = walk('upserts');
const under = (readStep: ReadStep, given: Partial<Round> = {}, beside: Partial<Checkpoint> = {}): RoundCheckpoint =>
  inRound({ steps: [readStep, REST], ...given }, beside);
const owed = (ids: readonly string[], weighed: Backlog['weighed'] = null): Backlog => ({ ids, weighed });

type Name = 'assets' | 'columns' | 'tests' | 'column_lineage' | 'table_assets';

const goOn = (name: Name, readStep: LookupRead, ...rest: Parameters<typeof owed>): ReturnType<typeof lookUp> =>
  lookUp(streamOf(name), under(readStep), context(), owed(...rest));

function asked(name: Name, readStep: LookupRead, ...rest: Parameters<typeof owed>): Round {
  return goOn(name, readStep, ...rest).checkpoint.round;
}

describe('the lookup of the backlog', () => {
  test('each chunk of ids starts at the first variant (R12)', () => {
    const readStep = ask('candidates', { after: 'a', asked: 3 });
    expect(asked('tests', readStep, ['b', 'c']).steps).toEqual([{ ...readStep, ids: ['b', 'c'], variant: 0 }, REST]);
  });

  test('a chunk has only as many ids as fit into a URL (R12)', () => {
    const ids = Array.from({ length: 1000 }, (_, i) => `${'資'.repeat(10)}${i}`);
    const [readStep] = asked('assets', ask('candidates'), ids).steps as [LookupRead];
    expect(readStep.ids.length).toBeLessThan(100);
    expect(readStep.ids).toEqual(ids.slice(0, readStep.ids.length));
  });

  test('the lookup ends when the backlog is empty', () => {
    expect(asked('assets', ask('owned', { after: 'k' }), []).steps).toEqual([REST]);
  });
});

describe('the lookup of sweep candidates (R12)', () => {
  test.each([
    ['assets', 19, 'looked up'],
    ['assets', 20, 'left out'],
    ['tests', 18, 'looked up'],
    ['tests', 19, 'left out'],
    ['tests', 20, 'left out'],
  ] as const)('candidates of %s, after %i of the 20 requests, are %s', (name, requests, what) => {
    const after = asked(name, ask('candidates', { after: 'k', asked: requests }), ['l']);
    if (what === 'looked up') expect(after).toMatchObject({ steps: [{ ids: ['l'] }, REST], confirmedUpTo: null });
    else expect(after).toMatchObject({ steps: [REST], confirmedUpTo: 'k' });
  });

  test('no candidate is left unconfirmed if all were looked up', () => {
    expect(asked('assets', ask('candidates', { after: 'k', asked: 20 }), []).confirmedUpTo).toBeNull();
  });

  test('the limit of 20 requests holds for candidates only', () => {
    expect(asked('tests', ask('owned', { asked: 500 }), ['a']).steps[0]).toMatchObject({ ids: ['a'] });
  });
});

describe('the choice between looking marked rows up and scanning (R18, R22)', () => {
  const ids = ['a', 'b'];
  const scan = { mode: 'scan', reason: 'fewer-requests', steps: [walk('scan'), ask('unshown')] };

  test.each([
    [2, 2000, 'looked up'],
    [4, 2000, 'scanned'],
    [4, 2001, 'looked up'],
    [5, 4000, 'scanned'],
    [2, 0, 'looked up'],
  ])('%i marked rows, two per request, against a scan of %i rows: %s', (count, rows, what) => {
    const after = asked('column_lineage', ask('marked'), ids, { ids: count, rows });
    if (what === 'scanned') expect(after).toMatchObject(scan);
    else expect(after.steps).toEqual([ask('marked', { ids }), REST]);
  });

  test('no scan begins in a run in which a scan failed, or while one waits (R9)', () => {
    const waitingScan = round({ mode: 'scan' });
    const dear = { ids: 900, rows: 10 };
    for (const beside of [{ scanTriedInRun: 5 }, { scanTriedInRun: 4, waitingScan }]) {
      const after = lookUp(streamOf('columns'), under(ask('owned'), {}, beside), context(), owed(ids, dear));
      expect(after.checkpoint.round?.steps).toEqual([ask('owned', { ids }), REST]);
    }
  });

  test('no scan begins once the lookup has begun', () => {
    const readStep = ask('marked', { asked: 1 });
    expect(asked('table_assets', readStep, ids).steps).toEqual([{ ...readStep, ids }, REST]);
  });
});

test('at most twenty requests look up rows that no read has returned (R18)', () => {
  const ids = ['x', 'y'];
  const readStep = ask('unshown', { after: 'm', asked: 19 });
  expect(asked('column_lineage', readStep, ids)).toMatchObject({ steps: [{ ids }, REST], confirmedUpTo: null });
  expect(asked('column_lineage', { ...readStep, asked: 20 }, ids)).toMatchObject({ steps: [REST], confirmedUpTo: 'm' });
});

describe('the history of a test with new executions (R22)', () => {
  const executions = streamOf('test_executions');
  const due = (given: Partial<DueTest> = {}): DueTest => ({
    id: 't/1',
    readAt: null,
    hasRejected: 0,
    hasFailed: 0,
    knownFrom: null,
    mirroredAt: T,
    pageLimit: null,
    ...given,
  });
  const begun = (given: DueTest | null, serverTime: string | null = T) =>
    lookUpHistory(executions, under(ask('tests')), context({ serverTime }), given);
  const reads = (given: DueTest) => {
    const step = begun(given);
    if (step.do !== 'fetch') throw new Error(`plans to ${step.do}`);
    return { ...step.request, read: step.checkpoint.round?.read, readStep: step.checkpoint.round?.steps[0] };
  };
  const OPENS = addDays(T, -90);

  test('it is read from 90 days before T, and its gap ends 90 days before the newest reading (R1, R3)', () => {
    const late = context({ newestReading: addDays(T, 3) });
    const step = lookUpHistory(executions, under(ask('tests')), late, due({ readAt: addDays(T, -89) }));
    expect(step).toMatchObject({ do: 'fetch', request: { query: { start_time_from: OPENS } } });
    const read = step.do === 'fetch' ? step.checkpoint.round.read : null;
    expect(read?.history?.gaps).toEqual([{ from: addDays(T, -89), to: addDays(T, -87) }]);
  });

  test('it is read without start_time_from while no Date is known (R1)', () => {
    const step = begun(due(), null);
    expect(step).toMatchObject({ do: 'fetch', request: { query: { order_by: 'start_time' } } });
    expect(step.do === 'fetch' ? step.request.query : {}).not.toHaveProperty('start_time_from');
  });

  test('its first read starts 90 days before T, oldest executions first', () => {
    const query = { start_time_from: OPENS, order_by: 'start_time', direction: 'asc', limit: 2000 };
    expect(reads(due())).toMatchObject({ path: ['tests', 't/1', 'executions'], query, cursor: null });
  });

  test('a later read starts 7 days before the last one, because executions are reported late', () => {
    const readAt = addDays(T, -2);
    expect(reads(due({ readAt })).query['start_time_from']).toBe(addDays(T, -9));
    expect(reads(due({ readAt: addDays(T, -88) })).query['start_time_from']).toBe(OPENS);
    expect(reads(due({ readAt, hasRejected: 1 })).query['start_time_from']).toBe(OPENS);
  });

  test('its 404 is news only if the last try read it (R15)', () => {
    const wasRead = (given: Partial<DueTest>) => reads(due(given)).read?.history?.wasRead;
    const readAt = addDays(T, -2);
    expect([{}, { readAt }, { readAt, hasFailed: 1 }].map(wasRead)).toEqual([false, true, false]);
  });

  test('a last read that lies more than an hour in the future counts as none (R1)', () => {
    const from = (readAt: string) => reads(due({ readAt })).query['start_time_from'];
    expect(from('2026-11-20T05:10:00.000000Z')).toBe('2026-11-13T05:10:00.000000Z');
    expect(from('2026-11-20T05:10:00.000001Z')).toBe(OPENS);
  });

  test('the read keeps the mirror’s own time at which it began', () => {
    const { read, readStep } = reads(due({ mirroredAt: '2026-11-20T05:00:00.000000Z' }));
    expect(read).toMatchObject({
      as: 'tests',
      at: T,
      history: { testId: 't/1', mirroredAt: '2026-11-20T05:00:00.000000Z' },
    });
    expect(readStep).toMatchObject({ ids: ['t/1'] });
  });

  test.each([
    ['was read lately', { readAt: addDays(T, -89) }, null],
    ['was read exactly when the window opened', { readAt: OPENS }, null],
    ['was read before the window opened', { readAt: addDays(T, -100) }, { from: addDays(T, -100), to: OPENS }],
    ['was never read but seen before', { knownFrom: addDays(T, -91) }, { from: addDays(T, -91), to: OPENS }],
    ['was never read or seen', {}, null],
  ])('only a period that the service no longer shows is a gap: the test %s', (_, given, gap) => {
    expect(reads(due(given)).read?.history?.gaps).toEqual(gap === null ? [] : [gap]);
  });

  test('a read that an earlier build began, without its progress, continues and can start over', () => {
    const begun = read({
      as: 'tests',
      query: { start_time_from: OPENS, limit: 9 },
      history: { testId: 't/1', mirroredAt: T, wasRead: false },
    });
    expect(restarted(begun, context())).toMatchObject({ cursor: null, query: { start_time_from: OPENS } });
    const later = context({ serverTime: addDays(T, 9) });
    expect(restarted(begun, later).query['start_time_from']).toBe(addDays(OPENS, 9));
  });

  test('a history that resumes with another query may return the cursors that it returned before (R8)', () => {
    const begun = read({
      ...{ as: 'tests', query: { start_time_from: OPENS, limit: 9 }, paging: { pages: 1, run: 1, landmark: 'c' } },
      history: { testId: 't/1', mirroredAt: T, wasRead: false, through: addDays(OPENS, 1) },
    });
    const resumed = resumedHistory(begun, context());
    expect(resumed?.query['start_time_from']).not.toBe(OPENS);
    expect(resumed).not.toHaveProperty('paging');
  });

  test('what was read before a read began is no gap, even if that read starts over after its lookback has passed', () => {
    const gapsOf = (given: object) => {
      const history = { testId: 't/1', mirroredAt: T, wasRead: true, through: addDays(T, -89), ...given };
      const begun = read({ as: 'tests', query: { start_time_from: OPENS, limit: 9 }, history });
      const later = context({ serverTime: addDays(T, 15), newestReading: addDays(T, 15) });
      return restarted(begun, later).history?.gaps;
    };
    expect(gapsOf({ readAt: addDays(T, -1) })).toEqual([]);
    expect(gapsOf({ readAt: null })).toEqual([{ from: addDays(T, -89), to: addDays(T, -75) }]);
  });

  test('a start time in the future is no progress (R10)', () => {
    const begun = read({ as: 'tests', history: { testId: 't/1', mirroredAt: T, wasRead: true } });
    const through = (start_time: string) => {
      const [row] = decoded(executions, { ...SAMPLES.test_executions('e', 't/1'), start_time });
      return withHistoryProgress(begun, { rows: row === undefined ? [] : [row], rejected: [] }, T).history?.through;
    };
    expect([through(addDays(T, -1)), through(addDays(T, 1))]).toEqual([addDays(T, -1), undefined]);
  });

  test('the lookup ends if no test is due', () => {
    expect(begun(null)).toEqual({ do: 'continue', checkpoint: checkpoint({ round: round({ steps: [REST] }) }) });
  });
});
