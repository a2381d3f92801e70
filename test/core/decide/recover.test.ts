import { describe, expect, test } from 'vitest';
import type { Checkpoint, Read, ReadCheckpoint, Round } from '../../../src/core/checkpoint.ts';
import type { Context } from '../../../src/core/context.ts';
import { nextStep } from '../../../src/core/decide/next-step.ts';
import { cutOff, type RecoveryDecision, recover } from '../../../src/core/decide/recover.ts';
import { isInRead } from '../../../src/core/decide/round.ts';
import { type RecoveryKind, SyncError } from '../../../src/core/errors.ts';
import type { StreamName } from '../../../src/core/stream.ts';
import { addDays } from '../../../src/core/time/instant.ts';
import { ask, checkpoint, context, inRead, inRound, read, streamOf, T, walk, YESTERDAY } from '../setup.ts';

const cut = read({ number: 3, cursor: 'c7', at: YESTERDAY, restartRun: 4 });
const under = ({ read: given, ...ofRound }: Partial<Round>, more: Partial<Checkpoint> = {}): ReadCheckpoint =>
  inRead({ steps: [walk('upserts')], ...ofRound, read: given ?? cut }, more);

function withReadUnderWay(left: Checkpoint): ReadCheckpoint {
  if (!isInRead(left)) throw new Error('no read is under way');
  return left;
}

const met = (
  recoveryKind: RecoveryKind,
  from: Checkpoint = under({}),
  name: StreamName = 'assets',
  circumstances: Context = context(),
): RecoveryDecision =>
  recover(streamOf(name), withReadUnderWay(from), new SyncError(recoveryKind, 'it failed'), circumstances);
/** The checkpoint when the feeds begin after a failed scan. */
function feedsAfter(recoveryKind: RecoveryKind, failed: Checkpoint, later: Context): Checkpoint {
  const left = met(recoveryKind, failed).checkpoint;
  const step = nextStep(streamOf('columns'), left, later);
  return step.do === 'begin' ? left : (step as { checkpoint: Checkpoint }).checkpoint;
}

const readOf = ({ checkpoint: left }: RecoveryDecision): Read => withReadUnderWay(left).round.read;

describe('recovery from invalid_cursor (R7)', () => {
  test('the read starts over at its first page, as of now, and discards what it alone saw', () => {
    const recovered = met('restart-read');
    expect(recovered).toMatchObject({ outcome: 'retry', forget: 3 });
    expect(readOf(recovered)).toEqual({ ...cut, cursor: null, at: T, restarts: 1, restartRun: 5 });
  });

  test('the read starts over three times per run; then the stream fails until the next run', () => {
    const outcomes: unknown[] = [];
    let from = under({});
    for (let i = 0; i < 4; i += 1) {
      const recovered = met('restart-read', from);
      outcomes.push(recovered.outcome);
      from = withReadUnderWay(recovered.checkpoint);
    }
    expect(outcomes).toEqual(['retry', 'retry', 'retry', 'fail']);
    expect(from.round?.read?.cursor).toBeNull();
    expect(met('restart-read', from, 'assets', context({ run: 6, cycle: 5 })).outcome).toBe('retry');
  });
});

describe('recovery from a page whose every attempt fails (R24)', () => {
  test('if a run ends between attempts, the next run makes only the remaining ones', () => {
    const error = new SyncError('budget', 'it is spent', { failedTries: 4 });
    const kept = cutOff(under({}), error) ?? under({});
    expect(kept).toEqual(under({ read: { ...cut, failedTries: 4 } }));
    expect(nextStep(streamOf('assets'), kept, context())).toMatchObject({ request: { cursor: 'c7', failedTries: 4 } });
    for (const recovery of ['restart-read', 'halve-page', 'stream'] as const)
      expect(readOf(met(recovery, kept))).not.toHaveProperty('failedTries');
    expect(cutOff(under({}), new SyncError('budget', 'it is spent'))).toBeNull();
    expect(cutOff(inRound(), error)).toBeNull();
  });

  test('the read starts over at half the limit, once per run', () => {
    const once = met('halve-page');
    expect(once).toMatchObject({ outcome: 'retry', forget: 3 });
    expect(readOf(once)).toMatchObject({ cursor: null, at: T, halvedRun: 5, query: { limit: 1000 } });
    expect(once.checkpoint.pageLimit).toEqual({ rows: 1000, at: T });
    const twice = met('halve-page', once.checkpoint);
    expect(twice).toMatchObject({ outcome: 'fail', forget: null, advice: expect.stringContaining('requests 500') });
    expect(twice.checkpoint).toEqual({ ...once.checkpoint, pageLimit: { rows: 500, at: T } });
    const next = met('halve-page', twice.checkpoint, 'assets', context({ run: 6 }));
    expect([next.outcome, readOf(next).query['limit']]).toEqual(['retry', 500]);
  });

  test.each([
    [2001, 1001],
    [99, 50],
    [51, 50],
  ])('half of %i rows is %i', (limit, half) => {
    expect(readOf(met('halve-page', under({ read: { ...cut, query: { limit } } }))).query['limit']).toBe(half);
  });

  test.each([50, 1])('a limit of %i rows is not halved', (limit) => {
    const recovered = met('halve-page', under({ read: { ...cut, query: { limit } } }));
    expect(recovered).toMatchObject({ outcome: 'fail', advice: expect.stringContaining('report it') });
    expect(recovered.checkpoint.pageLimit).toBeNull();
  });
});

test('a permanent failure fails the stream, and the next run begins a new round (R8)', () => {
  expect(met('restart-round')).toEqual({ outcome: 'fail', forget: 'all', checkpoint: checkpoint() });
});

test.each(['restart-round', 'forbidden'] as const)('a scan that ends with %s falls due again (R13)', (recovery) => {
  const { checkpoint: left } = met(recovery, under({ mode: 'scan', due: 'returned' }));
  expect(left.scanDue).toBe(recovery === 'forbidden' ? 'permission' : 'returned');
});

describe('recovery from a 403 (R13)', () => {
  test('the round is dropped, and a scan is due once the permission is back', () => {
    const recovered = met('forbidden');
    expect(recovered).toEqual({ outcome: 'fail', forget: 'all', checkpoint: checkpoint({ scanDue: 'permission' }) });
  });

  test('no scan is due for a stream that was never scanned or is always read whole', () => {
    expect(met('forbidden', under({}, { scanEndedCycle: null })).checkpoint.scanDue).toBeNull();
    expect(met('forbidden', under({}), 'asset_lineage').checkpoint.scanDue).toBeNull();
  });
});

describe('recovery from a 404 with the error envelope (R15)', () => {
  test.each(['tests', 'latest_test_executions', 'asset_health_scores'] as const)(
    '%s is unavailable for this cycle',
    (name) => {
      const unavailable = checkpoint({ unavailable: true, finishedCycle: 5, round: null });
      expect(met('not-live', under({}), name)).toEqual({
        outcome: 'unavailable',
        checkpoint: unavailable,
        forget: 'all',
      });
    },
  );

  test.each(['assets', 'table_assets', 'columns', 'asset_lineage', 'column_lineage'] as const)(
    '%s has failed',
    (name) => {
      expect(met('not-live', under({}), name)).toEqual({ outcome: 'fail', checkpoint: under({}), forget: null });
    },
  );

  test('a due scan of an unavailable stream stays due', () => {
    expect(met('not-live', under({}, { scanDue: 'returned' }), 'tests').checkpoint.scanDue).toBe('returned');
  });
});

describe('recovery of a due scan that cannot end (R9)', () => {
  const scan = (given: Partial<Round> = {}, more: Partial<Checkpoint> = {}) =>
    under({ mode: 'scan', reason: 'full-every', steps: [walk('scan')], ...given }, more);

  test('the scan waits where it stopped while the feeds continue', () => {
    const { round: left, ...rest } = scan();
    const recovered = met('stream', scan());
    expect(recovered).toMatchObject({ outcome: 'skip', forget: null });
    const waits = { round: null, finishedCycle: null, scanTriedInRun: 5, waitingScan: left };
    expect(recovered.checkpoint).toEqual({ ...rest, ...waits });
  });

  test('a permanent failure discards the scan, which stays due', () => {
    const { checkpoint: left, forget } = met('restart-round', scan({ due: 'returned' }));
    expect([forget, left.scanDue, left.scanTriedInRun, left.waitingScan]).toEqual(['all', 'returned', 5, null]);
  });

  test('a scan made for a clamped bound stays due for that reason (R3)', () => {
    expect(met('stream', scan({ reason: 'clamp' })).checkpoint.waitingScan?.due).toBe('clamp');
    expect(met('restart-round', scan({ reason: 'clamp' })).checkpoint.scanDue).toBe('clamp');
  });

  test('any scan is due for the clamp once the feeds cannot reach back to the watermark (R3)', () => {
    const full = scan({ reason: 'full' }, { watermark: addDays(T, -88) });
    for (const [days, due] of [
      [0, null],
      [2, 'clamp'],
    ] as const) {
      // The newest server time may move between the failure and the feeds.
      const later = context({ newestReading: addDays(T, days) });
      expect(feedsAfter('stream', full, later).waitingScan?.due).toBe(due);
      expect(feedsAfter('restart-round', full, later).scanDue).toBe(due);
    }
  });

  test('the scan starts over if the feeds no longer reach back to its first page (R3)', () => {
    const from = (firstPageAt: string) =>
      met('stream', scan({ reason: 'clamp', pages: 1, firstPageAt }, { watermark: addDays(T, -200) })).checkpoint;
    expect(nextStep(streamOf('columns'), from(addDays(T, -89)), context())).toMatchObject({
      do: 'forget',
      which: 'all',
      checkpoint: { waitingScan: null, scanDue: 'clamp' },
    });
    expect(from(addDays(T, -88))).toMatchObject({ waitingScan: { due: 'clamp' } });
    expect(nextStep(streamOf('columns'), from(addDays(T, -88)), context()).do).toBe('begin');
  });

  test.each<[string, Checkpoint, RecoveryKind]>([
    ['a first scan', scan({}, { scanEndedCycle: null }), 'stream'],
    ['a scan made for an untrusted watermark', scan({}, { watermark: '2026-11-20T06:00:00.000000Z' }), 'stream'],
    ['a scan that is forbidden', scan(), 'forbidden'],
    ['a scan stopped by the budget', scan(), 'budget'],
  ])('%s does not wait', (_, from, recovery) => {
    expect(met(recovery, from)).toMatchObject({
      outcome: 'fail',
      checkpoint: { scanTriedInRun: null, waitingScan: null },
    });
  });
});

describe('recovery of a history that cannot be read (R22)', () => {
  const history = read({ history: { testId: 't', mirroredAt: T, wasRead: false, through: null, gaps: [] } });
  const from = (given: Partial<Round> = {}, watermark: string | null = null) =>
    under({ mode: 'window', steps: [ask('tests', { ids: ['t'] })], read: history, ...given }, { watermark });
  const histories = (recoveryKind: RecoveryKind, given: Partial<Round> = {}, watermark: string | null = null) =>
    met(recoveryKind, from(given, watermark), 'test_executions');
  const afterLoss = (given: Partial<Round>) =>
    met('not-live', { ...from(given, YESTERDAY), unavailable: true }, 'test_executions');

  test('a 404 skips it without failing the stream (R15)', () => {
    const recovered = histories('not-live');
    expect(recovered).toMatchObject({
      outcome: 'retry',
      forget: null,
      unreadHistory: { testId: 't', pageLimit: null },
    });
    const left = { read: null, consecutiveNotFound: 1, incomplete: false, steps: [{ after: 't', ids: [] }] };
    expect(recovered.checkpoint.round).toMatchObject(left);
  });

  test.each(['stream', 'restart-round', 'forbidden'] as const)(
    'a permanent failure (%s) skips it: the run reads the next history and is incomplete',
    (recovery) => {
      const recovered = histories(recovery);
      expect(recovered).toMatchObject({ outcome: 'skip', unreadHistory: { testId: 't', pageLimit: null } });
      const left = {
        read: null,
        consecutiveNotFound: recovery === 'forbidden' ? 1 : 0,
        incomplete: true,
        steps: [{ ids: [] }],
      };
      expect(recovered.checkpoint.round).toMatchObject(left);
    },
  );

  test('too many invalid cursors skip it (R7)', () => {
    expect(histories('restart-read').outcome).toBe('retry');
    const often = histories('restart-read', { read: { ...history, restarts: 3 } });
    expect(often).toMatchObject({ outcome: 'skip', unreadHistory: { testId: 't' } });
  });

  test('its pages are halved, and the page limit of the stream stays (R24)', () => {
    const once = histories('halve-page');
    expect(once).toMatchObject({ outcome: 'retry', unreadHistory: { testId: 't', pageLimit: 1000 } });
    const twice = met('halve-page', once.checkpoint, 'test_executions');
    expect(twice).toMatchObject({ outcome: 'skip', unreadHistory: { testId: 't', pageLimit: 500 } });
    expect(twice.checkpoint.pageLimit).toBeNull();
  });

  test.each([
    ['not-live', 'retry', 'unavailable'],
    ['forbidden', 'skip', 'fail'],
  ] as const)('twenty failures in a row (%s) count for all histories if none was ever read', (kind, one, all) => {
    expect(histories(kind, { consecutiveNotFound: 18 }).outcome).toBe(one);
    expect(histories(kind, { consecutiveNotFound: 19 })).toMatchObject({ outcome: all, forget: 'all' });
    expect(histories(kind, { consecutiveNotFound: 19, pages: 1 }).outcome).toBe(one);
    expect(histories(kind, { consecutiveNotFound: 19 }, YESTERDAY).outcome).toBe(one);
  });

  test('twenty 404s in a row also count for all histories if the last round found none live (R15)', () => {
    expect(afterLoss({ consecutiveNotFound: 19 }).outcome).toBe('unavailable');
    expect(afterLoss({ consecutiveNotFound: 19, pages: 1 }).outcome).toBe('retry');
  });

  test('while histories are live, only the 404 of a test whose last try read it counts (R15)', () => {
    const counted = (wasRead: boolean): unknown =>
      histories(
        'not-live',
        { read: read({ history: { testId: 't', mirroredAt: T, wasRead, through: null, gaps: [] } }) },
        YESTERDAY,
      ).checkpoint.round?.consecutiveNotFound;
    expect([counted(true), counted(false)]).toEqual([1, 0]);
    expect(afterLoss({}).checkpoint.round?.consecutiveNotFound).toBe(1);
  });

  test('it is not skipped when the run ends', () => {
    expect(histories('budget')).toEqual({ outcome: 'fail', checkpoint: from(), forget: null });
  });
});

test.each(['stream', 'run', 'quota', 'token', 'usage', 'locked', 'budget', 'signal'] as const)(
  'a failure with recovery %s leaves the progress unchanged (R6)',
  (recovery) => {
    expect(met(recovery)).toEqual({ outcome: 'fail', checkpoint: under({}), forget: null });
  },
);
