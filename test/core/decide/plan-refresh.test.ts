import { describe, expect, test } from 'vitest';
import {
  type MirrorVersions,
  type PruningReach,
  planRefresh,
  prunedRuns,
  prunedStretches,
} from '../../../src/core/decide/plan-refresh.ts';

const TABLES = [
  { name: 'assets', hasEnvironments: true, isStamped: true, isLog: false },
  { name: 'marks', hasEnvironments: true, isStamped: false, isLog: false },
];

const WHOLE = { after: null, mayHoldDeleted: false };
const [EARLY, LATE] = ['2026-11-20T04:00:00.000000Z', '2026-11-20T05:00:00.000000Z'];

function versions({
  identity = 'it',
  clocks = {},
  removals = {},
  marks = {},
}: {
  identity?: string;
  clocks?: object;
  removals?: object;
  marks?: object;
}): MirrorVersions {
  return {
    identity,
    newestRun: { id: 7, nonce: 'of run 7' },
    allEndedBefore: '5000000000',
    clocks: new Map(Object.entries(clocks)),
    removals: new Map(Object.entries(removals)),
    versions: new Map([['marks', new Map(Object.entries(marks))]]),
  };
}

describe('what a replica reads of its mirror', () => {
  const plan = (found: MirrorVersions) => planRefresh(TABLES, known, found, 'of run 7');
  const known = versions({ clocks: { e1: EARLY, e2: EARLY }, marks: { e1: '1 700' } });

  test('a refresh reads nothing if neither a clock nor a version changed', () => {
    expect(plan(known)).toEqual({ isWhole: false, steps: [] });
  });

  test('of a table with times, it reads the rows after the last known clock of the environments that moved (R21)', () => {
    const found = versions({ clocks: { e1: LATE, e2: EARLY }, marks: { e1: '1 700' } });
    expect(plan(found).steps).toMatchObject([{ table: 'assets', envId: 'e1', after: EARLY }]);
  });

  test('rows of a table with times may be gone from an environment if a later commit removed rows without tombstones', () => {
    const gone = (removals: object): boolean[] =>
      plan(versions({ clocks: { e1: LATE, e2: EARLY }, removals, marks: { e1: '1 700' } })).steps.map(
        ({ mayHoldDeleted }) => mayHoldDeleted,
      );
    expect([{}, { e2: LATE }, { e1: LATE }].map(gone)).toEqual([[false], [false], [true]]);
  });

  test('it reads every row of a new environment', () => {
    const found = versions({ clocks: { e1: EARLY, e2: EARLY, e3: EARLY }, marks: { e1: '1 700' } });
    expect(plan(found).steps).toEqual([{ table: 'assets', envId: 'e3', ...WHOLE }]);
  });

  test('of a table without times, it reads every row of an environment whose version changed, also to no rows', () => {
    const found = versions({ clocks: { e1: EARLY, e2: EARLY }, marks: { e2: '1 702' } });
    expect(plan(found).steps).toEqual([
      { table: 'marks', envId: 'e1', ...WHOLE },
      { table: 'marks', envId: 'e2', ...WHOLE },
    ]);
  });

  test.each<[string, string, string | null]>([
    ['the rows of later transactions, and pruned ones may be gone', '5000000900', '5000000000'],
    ['every row if the numbers are too far apart to be compared', '9000000000', null],
  ])('of the log of runs, it reads %s', (_, now, after) => {
    const log = { name: 'sync_stream_runs', hasEnvironments: false, isStamped: false, isLog: true };
    const at = (allEndedBefore: string, version: string): MirrorVersions => ({
      ...known,
      allEndedBefore,
      versions: new Map([[log.name, new Map([['', version]])]]),
    });
    expect(planRefresh([log], at('5000000000', '1 700'), at(now, '2 1500'), 'of run 7').steps).toEqual([
      { table: log.name, envId: null, after, mayHoldDeleted: after !== null },
    ]);
  });

  test('of rejected environments, whose id is empty, it reads only their rows', () => {
    const found = versions({ clocks: { e1: EARLY, e2: EARLY }, marks: { e1: '1 700', '': '1 703' } });
    expect(plan(found)).toEqual({ isWhole: false, steps: [{ table: 'marks', envId: '', ...WHOLE }] });
  });

  const later = versions({ clocks: { e1: LATE, e2: LATE } });
  test.each<[string, MirrorVersions | null, MirrorVersions, string | null]>([
    ['the replica is new', null, known, null],
    ['it is that of another mirror', known, { ...later, identity: 'other' }, 'of run 7'],
    ['the mirror no longer has the newest run that it knows', known, later, null],
    ['the mirror has another run with that id, as after a restore', known, later, 'another'],
    [
      'it knows a later time than the mirror',
      known,
      versions({ clocks: { e1: '2026-11-20T03:00:00.000000Z', e2: LATE } }),
      'of run 7',
    ],
    ['it knows an environment that the mirror lacks', known, versions({ clocks: { e1: LATE } }), 'of run 7'],
  ])('it reads everything if %s', (_, replica, mirror, nonceThen) => {
    expect(planRefresh(TABLES, replica, mirror, nonceThen)).toEqual({
      isWhole: true,
      steps: [
        { table: 'assets', envId: null, ...WHOLE },
        { table: 'marks', envId: null, ...WHOLE },
      ],
    });
  });
});

describe('where rows of a history were pruned (R17)', () => {
  const reach = (given: Partial<PruningReach>): PruningReach => ({
    env_id: 'e1',
    history: 'asset_health_score_history',
    action: 'thin',
    complete_before: null,
    pruning_before: null,
    row_count: 0,
    ...given,
  });

  test('no stretch was pruned if no more rows were removed', () => {
    const same = reach({ complete_before: EARLY, row_count: 5 });
    expect(prunedStretches([same], [{ ...same, complete_before: LATE }])).toEqual([]);
  });

  test('a thinned stretch begins where the last complete thinning ended, a deleted one at the beginning', () => {
    const found = { complete_before: EARLY, pruning_before: LATE, row_count: 9 };
    const stretch = { envId: 'e1', table: 'asset_health_score_history', before: LATE };
    for (const [action, from] of [
      ['thin', EARLY],
      ['delete', null],
    ] as const)
      expect(
        prunedStretches([reach({ action, complete_before: EARLY, row_count: 5 })], [reach({ action, ...found })]),
      ).toEqual([{ ...stretch, from }]);
  });

  test('a pruned stretch reaches to the time of a pruning that was given up for an earlier one', () => {
    const known = reach({ pruning_before: LATE, row_count: 5 });
    expect(prunedStretches([known], [reach({ complete_before: EARLY, row_count: 6 })])).toMatchObject([
      { before: LATE },
    ]);
  });

  test('everything before the time of a pruning counts as pruned if the replica knew none', () => {
    expect(prunedStretches([], [reach({ complete_before: LATE, row_count: 1 })])).toMatchObject([
      { from: null, before: LATE },
    ]);
  });
});

describe('where rows of the log were pruned', () => {
  test('they belong to runs that are gone: each stretch holds those that follow each other', () => {
    const stretch = (from: string, before: string) => ({ envId: null, table: 'sync_stream_runs', from, before });
    expect(prunedRuns([2, 3, 5, 7, 9, 11], [2, 7, 11, 12])).toEqual([stretch('3', '6'), stretch('9', '10')]);
    expect(prunedRuns([2, 3], [2, 3, 4])).toEqual([]);
  });
});
