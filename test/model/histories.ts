import fc from 'fast-check';
import type { SyncError } from '../../src/core/errors.ts';
import type { CollectionName } from '../../src/streams/catalogue.ts';
import { LIST_PATHS } from '../support/catalogue.ts';
import { type ActionSet, actions } from './actions.ts';
import { type Command, PLAIN_SYNC, type RunFault, type SyncCommand } from './commands.ts';
import {
  clockSetBack,
  failingScans,
  heldRemovals,
  interruptedRound,
  longHistory,
  longRun,
  manyEdgesRemoved,
  restartedSnapshot,
  restoredAsset,
} from './scenarios.ts';
import type { WireFault } from './wire-faults.ts';
import { DAY, HOUR } from './world.ts';

const PERMISSION_TARGETS = ['environment', ...LIST_PATHS, 'executions', 'assets scope', 'tests scope'];
const STREAM_SUBSETS: (readonly CollectionName[])[] = [
  ['assets'],
  ['assets', 'columns'],
  ['columns', 'column_lineage'],
  ['tests', 'latest_test_executions', 'test_executions'],
  ['tests', 'test_executions'],
];
const RECOVERIES: SyncError['recovery'][] = [
  'restart-read',
  'halve-page',
  'forbidden',
  'restart-round',
  'stream',
  'run',
  'quota',
  'token',
];

function runFaults(set: ActionSet): fc.Arbitrary<RunFault> {
  const at = fc.integer({ min: 1, max: 25 });
  const changes = fc.record({ type: fc.constant('act' as const), at, action: actions(set) });
  const faults = fc.record({ type: fc.constant('error' as const), at, recovery: fc.constantFrom(...RECOVERIES) });
  const ends = fc.record({
    type: fc.constantFrom(
      'expire-cursors' as const,
      'abort' as const,
      'crash' as const,
      'crash-before-commit' as const,
      'crash-after-commit' as const,
    ),
    at,
  });
  const dates = fc.record({
    type: fc.constant('wrong-date' as const),
    at: fc.integer({ min: 1, max: 6 }),
    hours: fc.constantFrom(-2000, -30, -2, 2, 48, 960),
  });
  const waits = fc.record({ type: fc.constant('delay' as const), at, days: fc.constantFrom(0.1, 2, 30) });
  return fc.oneof(
    { weight: 1, arbitrary: waits },
    { weight: 1, arbitrary: dates },
    { weight: 4, arbitrary: changes },
    { weight: 2, arbitrary: faults },
    { weight: 3, arbitrary: ends },
  );
}

function syncCommands(set: ActionSet, wireFaults: fc.Arbitrary<readonly WireFault[]>): fc.Arbitrary<SyncCommand> {
  return fc.record({
    type: fc.constant('sync' as const),
    pageSize: fc.oneof({ weight: 9, arbitrary: fc.integer({ min: 1, max: 5 }) }, fc.constantFrom(100, 2000)),
    concurrency: fc.integer({ min: 1, max: 3 }),
    full: fc.nat({ max: 7 }).map((n) => n === 0),
    fullEveryDays: fc.constantFrom<SyncCommand['fullEveryDays']>(7, 'auto'),
    history: fc.boolean(),
    only: fc.constantFrom(undefined, undefined, undefined, undefined, ...STREAM_SUBSETS),
    maxRequests: fc.option(fc.integer({ min: 2, max: 40 }), { nil: undefined, freq: 3 }),
    allowShrink: set === 'all' ? fc.nat({ max: 3 }).map((n) => n === 0) : fc.constant(false),
    prunes: fc.nat({ max: 3 }).map((n) => n === 0),
    overlapSeconds: fc.constant(PLAIN_SYNC.overlapSeconds),
    faults: fc.oneof(fc.constant([]), fc.array(runFaults(set), { maxLength: 3 })),
    wireFaults,
  });
}

const NO_FAULTS: fc.Arbitrary<readonly WireFault[]> = fc.constant([]);

/** Random histories of a world. `wireFaults` draws the faults of each sync over HTTP. */
export function histories(set: ActionSet, maxLength = 24, wireFaults = NO_FAULTS): fc.Arbitrary<Command[]> {
  const short: Command[] = [1, 60, 600, HOUR, 5 * HOUR].map((seconds) => ({ type: 'advance', seconds }));
  const long: Command[] = [2, 8, 30, 88, 90, 100].map((days) => ({ type: 'advance', seconds: days * DAY }));
  const command = fc.oneof(
    { weight: 12, arbitrary: actions(set).map((action): Command => ({ type: 'act', action })) },
    { weight: 2, arbitrary: actions(set).map((action): Command => ({ type: 'act-late', action })) },
    { weight: 4, arbitrary: fc.constantFrom(...short) },
    { weight: 1, arbitrary: fc.constantFrom(...long) },
    {
      weight: 1,
      arbitrary: fc.integer({ min: -30, max: 30 }).map((hours): Command => ({ type: 'mirror-clock', hours })),
    },
    {
      weight: 1,
      arbitrary: fc
        .constantFrom('always', 'later', 'never')
        .map((dates): Command => ({ type: 'dates', dates }) as Command),
    },
    {
      weight: 1,
      arbitrary: fc.constantFrom('aged', 'ageless', 'none').map((as): Command => ({ type: 'cache', as }) as Command),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        type: fc.constant('permission' as const),
        collection: fc.constantFrom(...PERMISSION_TARGETS),
        as: fc.constantFrom('denied' as const, 'notLive' as const, 'open' as const, 'open' as const),
      }),
    },
    { weight: 5, arbitrary: syncCommands(set, wireFaults) },
  );
  const parts = fc.oneof(
    { weight: 28, arbitrary: command.map((single) => [single]) },
    { weight: 1, arbitrary: interruptedRound },
    { weight: 1, arbitrary: longRun },
    { weight: 1, arbitrary: longHistory },
    { weight: 1, arbitrary: restartedSnapshot },
    { weight: 1, arbitrary: restoredAsset },
    { weight: 1, arbitrary: clockSetBack(actions(set)) },
    { weight: 1, arbitrary: manyEdgesRemoved },
    { weight: 1, arbitrary: failingScans(actions(set)) },
    { weight: set === 'all' ? 1 : 0, arbitrary: heldRemovals },
  );
  return fc.array(parts, { minLength: 6, maxLength }).map((drawn) => drawn.flat());
}
