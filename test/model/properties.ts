import { deepStrictEqual, strictEqual } from 'node:assert/strict';
import fc from 'fast-check';
import { type Command, PLAIN_SYNC } from './commands.ts';
import { execute } from './environment.ts';
import {
  applyHeldRemovals,
  expectEqual,
  expectIdle,
  expectIntact,
  expectOrderIgnored,
  settle,
} from './expectations.ts';
import { missingExecutions, unreadHistories } from './expected-rows.ts';
import { histories } from './histories.ts';
import { simulateOverHttp } from './http-simulation.ts';
import { isShown } from './lists.ts';
import { openInMemory } from './mirror-files.ts';
import type { MakeTwin } from './mirror-twin.ts';
import { populate } from './populate.ts';
import { hasDeferredWork, hasOnlyBrokenHistories, hasOnlyWaitingScans, hasUnfinishedScan } from './run-conditions.ts';
import type { ServingOptions } from './serve-world.ts';
import { type Simulation, simulate } from './simulation.ts';
import { runStarved, type Starvation, starvations } from './starvation.ts';
import { quotas, wireFaults } from './wire-faults.ts';
import { DAY, HOUR } from './world.ts';

/** A property of every history, and its share of every hundred runs. */
export interface Property {
  readonly id: 'reported' | 'permissions' | 'full-scan' | 'http' | 'starvation';
  readonly title: string;
  readonly share: number;
  readonly property: fc.IAsyncPropertyWithHooks<never>;
}

const servings: fc.Arbitrary<ServingOptions> = fc.record({
  quota: quotas,
  retries: fc.integer({ min: 0, max: 5 }),
  seed: fc.integer({ min: 1, max: 2_000_000_000 }),
});

const someFaults = fc.oneof(fc.constant([]), wireFaults);

/** `makeTwin` gives each mirror a twin, whose replica needs a folder. Mirrors without one are in memory. */
export function propertiesOf(makeTwin?: MakeTwin): readonly Property[] {
  const open = makeTwin === undefined ? openInMemory : undefined;
  const reported = fc.asyncProperty(histories('reported'), (commands) =>
    simulated(simulate(['e1'], makeTwin, open), commands, checkReported, expectMirrored),
  );
  const fullScan = fc.asyncProperty(histories('all'), fc.boolean(), (commands, full) =>
    simulated(simulate(['e1', 'e2'], makeTwin, open), commands, checkIntact, (simulation) =>
      expectScansRepair(simulation, full),
    ),
  );
  const permissions = fc.asyncProperty(histories('permissions'), (commands) =>
    simulated(simulate(['e1'], makeTwin, open), commands, checkIntact, (simulation) =>
      expectPermissionsRestored(simulation),
    ),
  );
  const http = fc.asyncProperty(servings, histories('reported', 12, someFaults), async (serving, commands) =>
    simulated(await simulateOverHttp(['e1'], serving, makeTwin, open), commands, checkReported, expectMirrored),
  );
  const starvation = fc.asyncProperty(starvations, (drawn) =>
    expectNotStarved(simulate(['e1', 'e2'], makeTwin, open), drawn),
  );
  return [
    {
      id: 'reported',
      title: 'every change that the service reports is mirrored by the next successful run',
      share: 44,
      property: reported as never,
    },
    {
      id: 'permissions',
      title: 'rows that were hidden from the token for a while are mirrored by the scans that are due (R13, R18)',
      share: 10,
      property: permissions as never,
    },
    {
      id: 'full-scan',
      title: 'the scans of a week, or a full scan, make the mirror accurate again, whatever happened before (R13)',
      share: 21,
      property: fullScan as never,
    },
    {
      id: 'http',
      title: 'everything is mirrored within the quota, whatever faults occur on the wire (R23, R24)',
      share: 15,
      property: http as never,
    },
    {
      id: 'starvation',
      title: 'a list that always fails starves no other, however few requests a run has (R6)',
      share: 10,
      property: starvation as never,
    },
  ];
}

export const PROPERTIES: readonly Property[] = propertiesOf();

async function expectScansRepair(simulation: Simulation, full: boolean): Promise<void> {
  await settle(simulation, { ...PLAIN_SYNC, allowShrink: true });
  if (!full) simulation.world.advance(8 * DAY);
  const { summary } = await simulation.perform({ ...PLAIN_SYNC, full, allowShrink: true });
  expectIntact(simulation);
  strictEqual(summary?.status, 'done');
  expectEqual(simulation, { full: true });
  await expectIdle(simulation);
  await expectOrderIgnored(simulation);
  expectIntact(simulation);
}

/** Once nothing is hidden any more, the scans that are due after a week repair the mirror (R13). */
async function expectPermissionsRestored(simulation: Simulation): Promise<void> {
  // What is to be hidden late must be hidden by then.
  simulation.world.advance(HOUR);
  for (const env of simulation.world.environments.values()) env.hidden.clear();
  // A scan in progress may already have passed what was hidden from it.
  if (hasUnfinishedScan(simulation)) await settle(simulation);
  simulation.world.advance(8 * DAY);
  await settle(simulation);
  expectEqual(simulation);
  await expectIdle(simulation);
  await expectTimely(simulation);
  await expectHistoriesTimely(simulation);
  expectIntact(simulation);
}

/** What goes out of sight takes with it what hangs on it, and brings it back, once the assets are scanned (R13). */
async function expectTimely(simulation: Simulation): Promise<void> {
  const { assets, hidden } = simulation.world.environment('e1');
  // What hangs on an asset that was deleted before is only found by its own scan.
  const id = ['a1', ...assets.keys()].find((each) => assets.get(each)?.state === 'live');
  if (id === undefined) return;
  for (const change of [() => hidden.add(id), () => hidden.delete(id)]) {
    change();
    simulation.world.advance(simulation.autoSeconds('e1', 'assets'));
    const { summary } = await simulation.perform({ ...PLAIN_SYNC, fullEveryDays: 'auto' });
    await applyHeldRemovals(simulation, summary);
    expectEqual(simulation);
  }
}

/** Without the latest executions, a history is read by age (R13). */
async function expectHistoriesTimely(simulation: Simulation): Promise<void> {
  const { world, mirrored } = simulation;
  const env = world.environment('e1');
  const id = [...env.tests].find(([, { state, item }]) => state === 'live' && isShown(env, item))?.[0];
  if (id === undefined) return;
  await simulation.perform(PLAIN_SYNC);
  env.notLive.add('latest-test-executions');
  execute(env, id, 'unnoticed');
  world.advance(8 * DAY);
  await simulation.perform(PLAIN_SYNC);
  deepStrictEqual(mirrored.rows("select test_id from test_executions where id = 'unnoticed'"), [{ test_id: id }]);
}

/** One list of `e1` always fails and runs have few requests: `e2` is mirrored nevertheless (R6, R9). */
async function expectNotStarved(simulation: Simulation, starvation: Starvation): Promise<void> {
  try {
    populate(simulation.world.environment('e2'));
    await runStarved(simulation, starvation);
    expectIntact(simulation);
    expectEqual(simulation, { environments: ['e2'] });
    const { world, mirrored } = simulation;
    if (starvation.fault === 'history')
      for (const env of world.environments.values()) deepStrictEqual(missingExecutions(mirrored, env), []);
    await simulation.mirrored.equalsTwin();
  } finally {
    await simulation.close();
  }
}

async function simulated(
  simulation: Simulation,
  commands: readonly Command[],
  each: (simulation: Simulation, command: Command) => Promise<void>,
  end: (simulation: Simulation) => Promise<void>,
): Promise<void> {
  try {
    // An asset that was never mirrored is never seen to vanish, so the loss of its children would go unnoticed.
    await simulation.perform({ ...PLAIN_SYNC, only: ['assets'] });
    for (const command of commands) await each(simulation, command);
    await end(simulation);
    await simulation.mirrored.equalsTwin();
  } finally {
    await simulation.close();
  }
}

/** After a successful run during which nothing changed, the mirror equals the world. */
async function checkReported(simulation: Simulation, command: Command): Promise<void> {
  const { summary, quiet } = await simulation.perform(command);
  if (command.type !== 'sync') return;
  expectIntact(simulation);
  if (quiet && summary !== null && hasOnlyBrokenHistories(simulation, command, summary))
    deepStrictEqual(unreadHistories(simulation.mirrored, simulation.world.environment('e1')), []);
  if (quiet && summary !== null && !hasDeferredWork(simulation) && hasOnlyWaitingScans(simulation, command, summary))
    expectEqual(simulation, { withHistory: false });
  const isGreen =
    summary?.status === 'done' &&
    summary.run === summary.cycle &&
    !summary.streams.some(({ status }) => status === 'unavailable');
  if (
    quiet &&
    isGreen &&
    !hasDeferredWork(simulation) &&
    command.only === undefined &&
    simulation.world.dates !== 'never'
  )
    expectEqual(simulation, { withHistory: command.history });
}

async function checkIntact(simulation: Simulation, command: Command): Promise<void> {
  await simulation.perform(command);
  if (command.type === 'sync') expectIntact(simulation);
}

async function expectMirrored(simulation: Simulation): Promise<void> {
  await settle(simulation);
  if (simulation.world.environment('e1').needsScan) {
    simulation.world.advance(8 * DAY);
    await settle(simulation);
  }
  expectEqual(simulation);
  await expectIdle(simulation);
  expectIntact(simulation);
}
