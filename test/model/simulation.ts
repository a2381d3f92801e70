import fc from 'fast-check';
import { SyncError } from '../../src/core/errors.ts';
import type { CollectionName } from '../../src/streams/catalogue.ts';
import type { RunSummary } from '../../src/sync/summary.ts';
import { LIST_PATHS } from '../support/catalogue.ts';
import { type ActionSet, actions, applyAction, applyActionLate, populate } from './actions.ts';
import {
  type Command,
  clockSetBack,
  failingScans,
  heldRemovals,
  interruptedRound,
  longRun,
  manyEdgesRemoved,
  PLAIN_SYNC,
  type RunFault,
  restartedSnapshot,
  restoredAsset,
  type SyncCommand,
} from './commands.ts';
import { repairAll, restoreAsset } from './environment.ts';
import { expectedRows } from './expected-rows.ts';
import { dumpTables, watchInvariants } from './invariants.ts';
import type { MakeTwin } from './mirror-twin.ts';
import { isFeed } from './request-log.ts';
import { type ServingOptions, serveWorld } from './serve-world.ts';
import { createTestMirror, type TestMirror } from './test-mirror.ts';
import type { WireFault } from './wire-faults.ts';
import { wireViolations } from './wire-invariants.ts';
import { Crash, createWorld, DAY, HOUR, type World } from './world.ts';

const PERMISSION_TARGETS = ['environment', ...LIST_PATHS, 'executions', 'assets scope', 'tests scope'];
const STREAM_SUBSETS: (readonly CollectionName[])[] = [
  ['assets'],
  ['assets', 'columns'],
  ['columns', 'column_lineage'],
  ['tests', 'latest_test_executions', 'test_executions'],
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

function runFaults(which: ActionSet): fc.Arbitrary<RunFault> {
  const at = fc.integer({ min: 1, max: 25 });
  const changes = fc.record({ type: fc.constant('act' as const), at, action: actions(which) });
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

function syncCommands(which: ActionSet, wireFaults: fc.Arbitrary<readonly WireFault[]>): fc.Arbitrary<SyncCommand> {
  return fc.record({
    type: fc.constant('sync' as const),
    pageSize: fc.oneof({ weight: 9, arbitrary: fc.integer({ min: 1, max: 5 }) }, fc.constantFrom(100, 2000)),
    concurrency: fc.integer({ min: 1, max: 3 }),
    full: fc.nat({ max: 7 }).map((n) => n === 0),
    history: fc.boolean(),
    only: fc.constantFrom(undefined, undefined, undefined, undefined, ...STREAM_SUBSETS),
    maxRequests: fc.option(fc.integer({ min: 2, max: 40 }), { nil: undefined, freq: 3 }),
    allowShrink: which === 'all' ? fc.nat({ max: 3 }).map((n) => n === 0) : fc.constant(false),
    overlapSeconds: fc.constant(PLAIN_SYNC.overlapSeconds),
    faults: fc.oneof(fc.constant([]), fc.array(runFaults(which), { maxLength: 3 })),
    wireFaults,
  });
}

const NO_FAULTS: fc.Arbitrary<readonly WireFault[]> = fc.constant([]);

/** A world's simulation: what happens in it, how time goes on, and when it is synced; `wire` is what befalls a run's requests where there is a wire. */
export function histories(which: ActionSet, maxLength = 24, wire = NO_FAULTS): fc.Arbitrary<Command[]> {
  const one: Command[] = [1, 60, HOUR, 5 * HOUR].map((seconds) => ({ type: 'advance', seconds }));
  const long: Command[] = [2, 8, 30, 88, 90, 100].map((days) => ({ type: 'advance', seconds: days * DAY }));
  const command = fc.oneof(
    { weight: 12, arbitrary: actions(which).map((action): Command => ({ type: 'act', action })) },
    { weight: 2, arbitrary: actions(which).map((action): Command => ({ type: 'act-late', action })) },
    { weight: 4, arbitrary: fc.constantFrom(...one) },
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
    { weight: 5, arbitrary: syncCommands(which, wire) },
  );
  const commands = fc.oneof(
    { weight: 28, arbitrary: command.map((one) => [one]) },
    { weight: 1, arbitrary: interruptedRound },
    { weight: 1, arbitrary: longRun },
    { weight: 1, arbitrary: restartedSnapshot },
    { weight: 1, arbitrary: restoredAsset },
    { weight: 1, arbitrary: clockSetBack(actions(which)) },
    { weight: 1, arbitrary: manyEdgesRemoved },
    { weight: 1, arbitrary: failingScans(actions(which)) },
    { weight: which === 'all' ? 1 : 0, arbitrary: heldRemovals },
  );
  return fc.array(commands, { minLength: 6, maxLength }).map((parts) => parts.flat());
}

export interface Simulation {
  readonly world: World;
  readonly mirrored: TestMirror;
  perform(command: Command): Promise<{ summary: RunSummary | null; quiet: boolean }>;
  /** What was broken so far. */
  violations(): string[];
  close(): Promise<void>;
}

/** A simulation whose world is received over HTTP, with faults on the wire. */
export async function simulateOverHttp(
  ids: readonly string[],
  serving: ServingOptions,
  pair?: MakeTwin,
): Promise<Simulation> {
  const simulation = simulate(ids, pair);
  const { world, mirrored } = simulation;
  const served = await serveWorld(world, serving);
  world.source = served.source;
  return {
    ...simulation,
    async perform(command) {
      const { nowMs } = world;
      // A run that waits for quota may last as long as the clock is set back by: from what it says then nobody could tell (R1).
      if (command.type === 'service-clock') return { summary: null, quiet: true };
      if (command.type !== 'sync') {
        const taken = await simulation.perform(command);
        // By a clock that was set nobody can tell how long ago something was (R23).
        if (command.type === 'mirror-clock' || world.nowMs < nowMs) served.forgetQuota();
        return taken;
      }
      served.faults = command.wireFaults;
      const stopped = command.faults.some(
        (fault) => !['act', 'expire-cursors', 'wrong-date', 'delay'].includes(fault.type),
      );
      const fromMs = world.nowMs;
      const { summary, quiet } = await simulation.perform({
        ...command,
        faults: command.faults.filter((t) => t.type !== 'error' && t.type !== 'delay'),
      });
      const received = served.received();
      // Who is killed leaves no word; who is stopped does not hear what is still on its way (R27).
      if (summary === null || summary.status === 'interrupted' || world.nowMs < nowMs) served.forgetQuota();
      const { wireFaults } = command;
      const hasWrongDates = world.cache !== null || command.faults.some((fault) => fault.type === 'wrong-date');
      const times = { fromMs, toMs: world.nowMs };
      if (summary !== null)
        world.violations.push(
          ...wireViolations({
            summary,
            faults: wireFaults,
            received,
            hasWrongDates,
            retries: serving.retries,
            ...times,
          }),
        );
      if (received > (command.maxRequests ?? Number.POSITIVE_INFINITY))
        world.violations.push(`${received} requests, though ${command.maxRequests} were allowed`);
      const lost = (summary?.requests ?? 0) - received;
      // What is sent on a connection while the service resets it never arrives: whoever sent it has counted it (R23).
      const mayBeLost = wireFaults.some(({ disturbance }) => disturbance.type === 'reset');
      if (!stopped && lost !== 0 && !(mayBeLost && lost > 0))
        world.violations.push(`${received} requests were received, ${summary?.requests} counted (R23)`);
      return { summary, quiet };
    },
    async close() {
      await served.close();
      mirrored.close();
    },
  };
}

/** A second environment keeps runs going while the first is not listed. */
export function simulate(ids: readonly string[], pair?: MakeTwin): Simulation {
  const world = createWorld(ids);
  populate(world.environment());
  world.environment().keepsTombstones = true;
  world.environment().redelivers = true;
  // PostgreSQL holds no U+0000; many orders of texts ignore a soft hyphen.
  if (pair !== undefined) world.environment().keySuffix = '\u00ad';
  const mirrored = createTestMirror(world, HOUR, pair);
  mirrored.isHeavy = () => world.log.length % 3 === 0;
  const invariants = watchInvariants(mirrored, world);
  const [before, after] = [mirrored.beforeCommit, mirrored.afterCommit];

  async function sync({ faults: coming, maxRequests, only, ...options }: SyncCommand) {
    const stopped = new AbortController();
    let [crashed, quiet, commits] = [false, true, 0];
    const own = new Map<CollectionName, number>();
    const crash = (now: boolean): void => {
      crashed ||= now;
      if (crashed) throw new Crash();
    };
    const wrong = coming.filter((each) => each.type === 'wrong-date');
    world.dateErrorMs = ({ number }) => HOUR * 1000 * (wrong.find(({ at }) => at === number)?.hours ?? 0);
    world.beforeRequest = ({ number, query }) => {
      crash(false);
      for (const fault of coming.filter((each) => each.type !== 'crash-in-stream' && each.at === number)) {
        if (fault.type === 'act') applyAction(world, fault.action);
        if (fault.type === 'act') quiet = false;
        // A bound on its way is as old as it is when it arrives.
        if (fault.type === 'delay' && !isFeed({ query })) world.advance(fault.days * DAY);
        if (fault.type === 'expire-cursors') world.cursorEpoch += 1;
        if (fault.type === 'abort') stopped.abort();
        if (fault.type === 'error' && number > 1) throw new SyncError(fault.recovery, `a fault: ${fault.recovery}`);
        crash(fault.type === 'crash');
      }
    };
    mirrored.beforeCommit = (observed) => {
      commits += 1;
      crash(coming.some((fault) => fault.type === 'crash-before-commit' && fault.at === commits));
      before(observed);
    };
    mirrored.afterCommit = (observed) => {
      after(observed);
      const ofStream = (own.get(observed.stream) ?? 0) + 1;
      own.set(observed.stream, ofStream);
      crash(
        coming.some(
          (each) => each.type === 'crash-in-stream' && each.stream === observed.stream && each.at === ofStream,
        ),
      );
      crash(coming.some((fault) => fault.type === 'crash-after-commit' && fault.at === commits));
    };
    const shape = (): string => JSON.stringify(expectedRows(world.environment('e1')));
    const shapeBefore = shape();
    const isFirst = mirrored.checkpoint('column_lineage').scanEndedCycle === null;
    const lagged = world.environment('e1').edgeLag;
    const run = mirrored.sync({
      ...options,
      signal: stopped.signal,
      ...(maxRequests ? { maxRequests } : {}),
      ...(only ? { only } : {}),
    });
    const summary = await run.catch((error) => {
      if (error instanceof Crash) return null;
      throw error;
    });
    if (isFirst && (lagged || world.environment('e1').edgeLag)) world.environment('e1').hasLateEdges = true;
    world.beforeRequest = () => {};
    world.dateErrorMs = () => 0;
    return { summary, quiet: quiet && shape() === shapeBefore };
  }

  /** Columns that the mirror has not seen go are the same to it once they are back: nothing marks their edges (R18). */
  function restore(n: number): void {
    const sql = `select 1 from assets a where env_id = 'e1' and id = ? and deletion = 'tombstone'
      and not exists (select 1 from columns c where c.env_id = a.env_id and c.asset_id = a.id and c.deleted_at is null)`;
    if (mirrored.rows(sql, `a${n}`).length > 0) restoreAsset(world.environment('e1'), `a${n}`);
  }

  return {
    world,
    mirrored,
    async perform(command) {
      const env = world.environment('e1');
      if (command.type === 'sync') return sync(command);
      if (command.type === 'act') applyAction(world, command.action);
      if (command.type === 'restore') restore(command.n);
      if (command.type === 'act-late') applyActionLate(world, command.action);
      if (command.type === 'advance') world.advance(command.seconds);
      if (command.type === 'mirror-clock') mirrored.clockSkewMs = command.hours * HOUR * 1000;
      if (command.type === 'service-clock') world.nowMs += command.minutes * 60_000;
      if (command.type === 'dates') world.dates = command.dates;
      if (command.type === 'cache')
        world.cache = command.as === 'none' ? null : { sinceMs: world.nowMs, sendsAge: command.as === 'aged' };
      if (command.type === 'permission') {
        env.denied.delete(command.collection);
        env.notLive.delete(command.collection);
        if (command.as !== 'open') env[command.as].add(command.collection);
      }
      return { summary: null, quiet: true };
    },
    violations: () => invariants.violations(),
    close: async () => mirrored.close(),
  };
}

/** Takes away whatever stands in the way, and lets late commits arrive. */
export function heal({ world }: Simulation): void {
  world.advance(2 * HOUR);
  const env = world.environment('e1');
  world.dates = 'always';
  world.cache = null;
  env.listed = true;
  env.denied.clear();
  env.notLive.clear();
  env.brokenScans.clear();
  env.brokenHistories.clear();
  repairAll(env);
}

export { type Command, dumpTables, PLAIN_SYNC };
