import { describe, expect, test } from 'vitest';
import type { Checkpoint, Round } from '../../../src/core/checkpoint.ts';
import { NO_PROGRESS } from '../../../src/core/checkpoint.ts';
import type { Context } from '../../../src/core/context.ts';
import { chooseRound, feedBoundOf, suspectRound } from '../../../src/core/decide/choose-round.ts';
import type { RoundFacts } from '../../../src/core/ports/destination.ts';
import type { StreamName } from '../../../src/core/stream.ts';
import { addDays, addSeconds } from '../../../src/core/time/instant.ts';
import { ask, checkpoint, context, facts, inRound, LAST_WEEK, round, streamOf, T, walk, YESTERDAY } from '../setup.ts';

const SINCE = '2026-11-19T03:10:00.000000Z';

function roundOf(
  name: StreamName,
  from: Checkpoint,
  circumstances: Context = context(),
  given: RoundFacts = facts(),
): Round {
  const beginning = chooseRound(streamOf(name), from, circumstances, given);
  if (beginning.do === 'rest') throw new Error(`rests: ${beginning.why}`);
  return beginning.round;
}

const how = ({ mode, reason }: Round) => `${mode}: ${reason}`;
const feeds = (since = SINCE) => [
  walk('upserts', { synced_since: since, limit: 2000 }),
  walk('tombstones', { deleted_since: since, limit: 2000 }),
];

describe('a feed stream', () => {
  test('an empty mirror is scanned first, without a sweep', () => {
    const round = roundOf('assets', NO_PROGRESS, context(), facts({ hasRows: false }));
    expect(round).toMatchObject({ mode: 'scan', reason: 'first', sweeps: false, steps: [walk('scan')] });
  });

  test('tests are scanned as two lists: enabled and disabled tests', () => {
    const steps = [walk('scan'), walk('scan', { disabled: 'true', limit: 2000 })];
    expect(roundOf('tests', NO_PROGRESS, context(), facts({ hasRows: false })).steps).toEqual(steps);
  });

  test('a stream that was scanned reads its feeds, from the watermark minus the overlap (R2)', () => {
    expect(roundOf('assets', checkpoint())).toMatchObject({ mode: 'feed', reason: 'increment', steps: feeds() });
    expect(feedBoundOf(checkpoint(), context({ options: { overlapSeconds: 0 } }))).toBe(YESTERDAY);
    expect(feedBoundOf(NO_PROGRESS, context())).toBeNull();
  });

  test('after its feeds, a child stream looks up the rows of parents that were deleted or restored (R13)', () => {
    expect(roundOf('columns', checkpoint()).steps).toEqual([...feeds(), ask('owned'), ask('unshown')]);
    expect(roundOf('tests', checkpoint()).steps).toEqual([...feeds(), ask('owned'), ask('unshown')]);
  });

  test('rejected rows are looked up after the feeds, but not after a scan, which returns them anyway (R20)', () => {
    const standing = facts({ hasRejected: true });
    expect(roundOf('assets', checkpoint(), context(), standing).steps).toEqual([...feeds(), ask('rejected')]);
    expect(roundOf('tests', checkpoint(), context(), standing).steps).toEqual([
      ...feeds(),
      ask('owned'),
      ask('unshown'),
      ask('rejected'),
    ]);
    const scan = roundOf('assets', checkpoint({ scanDue: 'refuted' }), context(), standing);
    expect(scan.steps).not.toContainEqual(ask('rejected'));
  });

  test('a repeated scan reads the tombstones since the old watermark and looks up the candidates (R12)', () => {
    const round = roundOf('assets', checkpoint({ scanDue: 'refuted' }));
    expect(round).toMatchObject({ mode: 'scan', sweeps: true });
    expect(round.steps).toEqual([walk('scan'), feeds()[1], ask('candidates')]);
  });

  test.each([
    [false, 'scan: clock'],
    [true, 'scan: full'],
  ])(
    'with a watermark in the future, a scan skips the tombstones feed, whose bound is useless; --full: %s (R1)',
    (full, why) => {
      const ahead = roundOf('assets', checkpoint({ watermark: addDays(T, 1) }), context({ options: { full } }));
      expect([how(ahead), ahead.steps]).toEqual([why, [walk('scan'), ask('candidates')]]);
    },
  );

  test('a new round belongs to this run and cycle, has read nothing, and takes over the due scan (R6, R13)', () => {
    const { steps, ...begun } = roundOf('assets', checkpoint({ scanDue: 'returned' }), context({ run: 6 }));
    expect(begun).toEqual({
      ...{
        mode: 'scan',
        reason: 'returned',
        due: 'returned',
        run: 6,
        cycle: 5,
        pages: 0,
        scanPages: 0,
        firstPageAt: null,
        lastMark: 0,
      },
      ...{ sweeps: true, sweepContradicted: false, read: null, reads: 0, consecutiveNotFound: 0, incomplete: false },
      ...{ confirmedUpTo: null, firstConfirmation: null },
    });
    expect(steps).toHaveLength(3);
  });

  test('pages have the size that the options ask for', () => {
    const { steps } = roundOf('assets', checkpoint(), context({ options: { pageSize: 7 } }));
    expect(steps.map((readStep) => readStep.do === 'list' && readStep.query['limit'])).toEqual([7, 7]);
  });
});

describe('the choice between a scan and the feeds', () => {
  const old = checkpoint({ scanEndedAt: LAST_WEEK, watermark: YESTERDAY });
  const behind = (days: number): Checkpoint => checkpoint({ watermark: addSeconds(addDays(T, -days), 3600) });

  test.each<[string, Checkpoint, Context, string]>([
    [
      'a mirror without rows is scanned first',
      NO_PROGRESS,
      context({ serverTime: null, options: { full: true } }),
      'scan: first',
    ],
    ['--full scans', checkpoint(), context({ options: { full: true } }), 'scan: full'],
    [
      '--full does not scan again once a scan has ended in this cycle (R6)',
      checkpoint({ scanEndedCycle: 5 }),
      context({ options: { full: true } }),
      'feed: increment',
    ],
    [
      '--full takes precedence over a missing server time',
      checkpoint(),
      context({ serverTime: null, options: { full: true } }),
      'scan: full',
    ],
    ['a run without a server time scans (R1)', checkpoint(), context({ serverTime: null }), 'scan: clock'],
    ['a stream without a watermark is scanned (R1)', checkpoint({ watermark: null }), context(), 'scan: clock'],
    [
      'a watermark more than an hour ahead is not trusted, so scan (R1)',
      checkpoint({ watermark: '2026-11-20T05:10:00.000001Z' }),
      context(),
      'scan: clock',
    ],
    [
      'a watermark exactly an hour ahead is trusted (R1)',
      checkpoint({ watermark: '2026-11-20T05:10:00.000000Z' }),
      context(),
      'feed: increment',
    ],
    [
      'a watermark ahead by more than an overlap of one minute is not trusted, so scan (R1)',
      checkpoint({ watermark: '2026-11-20T04:11:00.000001Z' }),
      context({ options: { overlapSeconds: 60 } }),
      'scan: clock',
    ],
    [
      'a watermark ahead by exactly that overlap is trusted (R1)',
      checkpoint({ watermark: '2026-11-20T04:11:00.000000Z' }),
      context({ options: { overlapSeconds: 60 } }),
      'feed: increment',
    ],
    ['a bound older than 89 days would be clamped, so scan (R3)', behind(89.00002), context(), 'scan: clamp'],
    ['a bound of exactly 89 days is sent (R3)', behind(89), context(), 'feed: increment'],
    [
      'the age of the bound counts from the newest reading, not from T (R3)',
      behind(88),
      context({ newestReading: addDays(T, 1.5) }),
      'scan: clamp',
    ],
    [
      'a clamped bound takes precedence over a due scan',
      { ...behind(100), scanDue: 'returned' },
      context(),
      'scan: clamp',
    ],
    [
      'a permission that was granted again causes a scan (R13)',
      checkpoint({ scanDue: 'permission' }),
      context(),
      'scan: permission',
    ],
    [
      'an environment that is listed again causes a scan (R13)',
      checkpoint({ scanDue: 'returned' }),
      context(),
      'scan: returned',
    ],
    ['a contradicted sweep causes a scan (R12)', checkpoint({ scanDue: 'refuted' }), context(), 'scan: refuted'],
    ['a due scan takes precedence over --full-every', { ...old, scanDue: 'refuted' }, context(), 'scan: refuted'],
    ['a scan is due seven days after the last one ended (R13)', old, context(), 'scan: full-every'],
    [
      'no scan is due a microsecond earlier (R13)',
      { ...old, scanEndedAt: '2026-11-13T04:10:00.000001Z' },
      context(),
      'feed: increment',
    ],
    [
      '--full-every sets the number of days (R13)',
      checkpoint(),
      context({ options: { fullEveryDays: 1 } }),
      'scan: full-every',
    ],
    [
      '--full-every auto: a scan is due ten minutes per page after the last one ended (R13)',
      checkpoint({ scanPages: 144 }),
      context({ options: { fullEveryDays: 'auto' } }),
      'scan: full-every',
    ],
    [
      '--full-every auto: no scan is due before (R13)',
      checkpoint({ scanPages: 145 }),
      context({ options: { fullEveryDays: 'auto' } }),
      'feed: increment',
    ],
    [
      '--full-every auto: the latest time decides what is due (R1, R13)',
      checkpoint({ scanPages: 145 }),
      context({ latestServerTime: addSeconds(T, 600), options: { fullEveryDays: 'auto' } }),
      'scan: full-every',
    ],
    [
      'a scan is due if it is unknown when the last one ended (R13)',
      checkpoint({ scanEndedAt: null }),
      context(),
      'scan: full-every',
    ],
    [
      'a scan is due if the last one ended in the future (R1)',
      checkpoint({ scanEndedAt: addDays(T, 60) }),
      context(),
      'scan: full-every',
    ],
    ['a watermark in doubt causes a scan (R1)', checkpoint({ scanDue: 'clock' }), context(), 'scan: clock'],
    [
      'a --full-every longer than any calendar never makes a scan due',
      old,
      context({ options: { fullEveryDays: 1e9 } }),
      'feed: increment',
    ],
  ])('%s', (_, from, circumstances, expected) => {
    expect(how(roundOf('assets', from, circumstances))).toBe(expected);
  });
});

describe('a feed stream whose scan has failed in this run (R9)', () => {
  test('the feeds continue from the watermark, and their reads are numbered after those of the scan', () => {
    const scan = { ...roundOf('assets', checkpoint({ scanDue: 'returned' })), reads: 7 };
    const left = roundOf('assets', checkpoint({ scanDue: 'returned', scanTriedInRun: 5, waitingScan: scan }));
    expect(left).toMatchObject({ mode: 'feed', reason: 'increment', reads: 7, steps: feeds() });
  });

  test('the feeds reach back no further than the service shows (R3)', () => {
    const { steps } = roundOf('assets', checkpoint({ watermark: addDays(T, -200), scanTriedInRun: 5 }));
    expect(steps).toMatchObject([
      { query: { synced_since: addDays(T, -88) } },
      { query: { deleted_since: addDays(T, -88) } },
    ]);
  });

  test('the scan is due again in a later run', () => {
    const due = checkpoint({ scanDue: 'returned', scanTriedInRun: 4 });
    expect(roundOf('assets', due).mode).toBe('scan');
  });
});

describe('a stream that reads marked rows', () => {
  const with_ = (marks: RoundFacts['marks'], given: Partial<RoundFacts> = {}) => facts({ marks, ...given });
  const none = { inside: 0, outside: 0, isDue: false };

  test('it waits until the first scan of its parent stream has ended (R18)', () => {
    const waiting = facts({ isParentScanned: false });
    const beginning = chooseRound(streamOf('column_lineage'), NO_PROGRESS, context(), waiting);
    expect(beginning).toEqual({ do: 'rest', why: 'waiting' });
  });

  test('its first scan follows the end of the parent stream’s first scan (R18)', () => {
    const round = roundOf('column_lineage', NO_PROGRESS, context(), with_(none));
    expect(round).toMatchObject({ mode: 'scan', reason: 'first', steps: [walk('scan'), ask('unshown')] });
  });

  test('between scans it sends no request without a mark that is due, whatever its watermark (R18, R22)', () => {
    const waiting = { inside: 2, outside: 0, isDue: false };
    for (const marks of [none, waiting])
      for (const options of [{ fullEveryDays: 300 }, { overlapSeconds: 0 }])
        expect(roundOf('column_lineage', checkpoint(), context({ options }), with_(marks))).toMatchObject({
          mode: 'marked',
          steps: [],
        });
    expect(roundOf('column_lineage', checkpoint({ watermark: null }), context(), with_(none)).steps).toEqual([]);
  });

  test.each<[string, Partial<Checkpoint>, Context]>([
    ['full', {}, context({ options: { full: true } })],
    ['full-every', {}, context({ serverTime: addDays(T, 7) })],
    ['full-every', {}, context({ serverTime: addDays(T, 200) })],
    ['permission', { scanDue: 'permission' }, context()],
    ['returned', { scanDue: 'returned' }, context()],
  ])('it is scanned even without a mark for the reason %s (R13)', (reason, given, circumstances) => {
    const round = roundOf('column_lineage', checkpoint(given), circumstances, with_(none));
    expect(how(round)).toBe(`scan: ${reason}`);
  });

  test('a run without a server time scans it, because nothing tells what is due (R1, R13)', () => {
    const dateless = context({ serverTime: null });
    expect(how(roundOf('column_lineage', checkpoint(), dateless, with_(none)))).toBe('scan: clock');
  });

  test('it reads its marks in a run in which its scan has failed (R9)', () => {
    const failed = checkpoint({ scanDue: 'returned', scanTriedInRun: 5 });
    const marks = { inside: 1, outside: 0, isDue: true };
    expect(how(roundOf('column_lineage', failed, context(), with_(marks)))).toBe('marked: increment');
  });

  test('after its scan has failed, its feed starts within reach, and older marks are looked up by id (R3, R9)', () => {
    const failed = checkpoint({ scanDue: 'returned', scanTriedInRun: 5 });
    const late = context({ serverTime: addDays(T, 200) });
    const reached = addDays(T, 200 - 88);
    expect(roundOf('column_lineage', failed, late, with_({ inside: 1, outside: 1, isDue: true })).steps).toEqual([
      ask('marked', { before: reached }),
      walk('upserts', { synced_since: reached, limit: 2000 }),
      ask('unshown'),
    ]);
  });

  test.each<[string, Context, string]>([
    ['clamped bound', context({ serverTime: addDays(T, 200) }), 'scan: clamp'],
    ['missing server time', context({ serverTime: null }), 'scan: clock'],
  ])('a %s scans it even with marks (R3, R18)', (_, circumstances, expected) => {
    const marks = { inside: 0, outside: 1, isDue: true };
    expect(how(roundOf('column_lineage', checkpoint(), circumstances, with_(marks)))).toBe(expected);
  });

  test('marks within the window of the feed are read through the feed, the others by id (R18)', () => {
    const [upserts] = feeds();
    const [asked, unshown] = [ask('marked', { before: SINCE }), ask('unshown')];
    const steps = (inside: number, outside: number) =>
      roundOf('column_lineage', checkpoint(), context(), with_({ inside, outside, isDue: true })).steps;
    expect(steps(2, 0)).toEqual([upserts, unshown]);
    expect(steps(0, 2)).toEqual([asked, unshown]);
    expect(steps(2, 2)).toEqual([asked, upserts, unshown]);
  });

  test('typed assets that are still marked after their feed are looked up by id (R22)', () => {
    const given = facts({ marks: { inside: 1, outside: 0, isDue: true } });
    const { steps } = roundOf('table_assets', checkpoint(), context(), given);
    expect(steps).toEqual([feeds()[0], ask('marked'), ask('unshown')]);
    const outside = roundOf('table_assets', checkpoint(), context(), {
      ...given,
      marks: { inside: 0, outside: 1, isDue: true },
    });
    expect(outside.steps).toEqual([ask('marked', { before: SINCE }), ask('unshown')]);
  });

  test('a round records the last mark made before it began (R18)', () => {
    const given = with_({ inside: 1, outside: 0, isDue: true }, { lastMark: 42 });
    expect(roundOf('column_lineage', checkpoint(), context(), given).lastMark).toBe(42);
  });
});

describe('a snapshot or window stream', () => {
  test('a snapshot reads every variant whole, then looks up rows that the lists no longer return (R12, R16)', () => {
    const round = roundOf('latest_test_executions', checkpoint());
    expect(round).toMatchObject({ mode: 'snapshot', reason: 'snapshot' });
    const lists = [walk('snapshot'), walk('snapshot', { disabled: 'true', limit: 2000 })];
    expect(round.steps).toEqual([...lists, ask('candidates')]);
  });

  test.each<[string, string | null, Context, 'hourly' | 'round']>([
    ['is not read again within the hour', '2026-11-20T04:00:00.000000Z', context(), 'hourly'],
    ['is read in the next hour', '2026-11-20T03:59:59.999999Z', context(), 'round'],
    ['is read in the same hour of the next day', YESTERDAY, context(), 'round'],
    ['is read with --full', T, context({ options: { full: true } }), 'round'],
    ['is read if it was never read', null, context(), 'round'],
    ['is read when no server time is known', T, context({ serverTime: null }), 'round'],
  ])('the snapshot of health scores %s (R22)', (_, watermark, circumstances, expected) => {
    const beginning = chooseRound(streamOf('asset_health_scores'), checkpoint({ watermark }), circumstances, facts());
    expect(beginning.do === 'rest' ? beginning.why : beginning.do).toBe(expected);
  });

  test('a snapshot that is not hourly is read in every run', () => {
    expect(roundOf('asset_lineage', checkpoint({ watermark: T })).steps).toEqual([walk('snapshot')]);
  });
});

test('a window stream looks for tests with new executions (R22)', () => {
  const round = roundOf('test_executions', NO_PROGRESS, context(), facts({ histories: { count: 9, latestReadAt: T } }));
  expect(round).toMatchObject({ mode: 'window', reason: 'window', steps: [ask('tests')] });
});

describe('a round of suspect rows', () => {
  const suspects = (ids: readonly string[], what: 'extra' | 'unequal' = 'unequal') =>
    ids.map((id) => ({ key: [id], what }));

  test('it only looks the rows up; the extra ones may become absent', () => {
    const both = [...suspects(['c', 'a']), ...suspects(['b'], 'extra')];
    const { round: planned } = suspectRound(streamOf('columns'), checkpoint(), both, context());
    expect(planned).toMatchObject({ mode: 'feed', run: 5, cycle: 5, sweeps: false, lastMark: 0, read: null });
    expect(planned.steps).toEqual([ask('suspect', { ids: ['a', 'b', 'c'], pendingIds: ['b'] })]);
  });

  test('each step has as many ids as fit into one request', () => {
    const ids = Array.from({ length: 1001 }, (_, i) => `${i + 1000}`);
    const { steps } = suspectRound(streamOf('columns'), checkpoint(), suspects(ids), context()).round;
    expect(steps.length).toBeGreaterThan(1);
    expect(steps.flatMap((step) => (step.do === 'look-up' ? step.ids : []))).toEqual(ids);
  });

  test('it leaves out an unfinished round, and numbers its reads after those of that round (R6)', () => {
    const unfinished = inRound({ mode: 'scan', reads: 3 }, { scanTriedInRun: 5 });
    const beside = suspectRound(streamOf('columns'), unfinished, suspects(['a']), context());
    expect(beside).toMatchObject({ scanTriedInRun: null, waitingScan: null, round: { reads: 3 } });
    const waiting = checkpoint({ waitingScan: round({ mode: 'scan', reads: 2 }) });
    const besideScan = suspectRound(streamOf('columns'), waiting, suspects(['a']), context());
    expect(besideScan).toMatchObject({ waitingScan: null, round: { reads: 2 } });
  });
});
