import { deepStrictEqual, strictEqual } from 'node:assert/strict';
import fc from 'fast-check';
import { addSeconds } from '../../src/core/time/instant.ts';
import { type CollectionName, STREAM_NAMES } from '../../src/streams/catalogue.ts';
import type { RunSummary } from '../../src/sync/summary.ts';
import { LEAST_REQUESTS } from '../support/catalogue.ts';
import { populate } from './actions.ts';
import type { SyncCommand } from './commands.ts';
import { comparableRows, missingExecutions, unreadHistories } from './expected-rows.ts';
import { fullScansEverything } from './invariants/cycles.ts';
import type { MakeTwin } from './mirror-twin.ts';
import type { ServingOptions } from './serve-world.ts';
import {
  type Command,
  dumpTables,
  heal,
  histories,
  PLAIN_SYNC,
  type Simulation,
  simulate,
  simulateOverHttp,
} from './simulation.ts';
import { runStarved, type Starvation, starvations } from './starvation.ts';
import { quotas, wireFaults } from './wire-faults.ts';
import { DAY, HOUR } from './world.ts';

/** What has to hold of every history, and how many of a hundred are drawn for it. */
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

/** `pair` gives each mirror its twin. */
export function propertiesOf(pair?: MakeTwin): readonly Property[] {
  const told = fc.asyncProperty(histories('reported'), (commands) =>
    simulated(simulate(['e1'], pair), commands, checkReported, expectMirrored),
  );
  const whatever = fc.asyncProperty(histories('all'), (commands) =>
    simulated(simulate(['e1', 'e2'], pair), commands, checkIntact, (simulation) => expectFullScanRepairs(simulation)),
  );
  const sight = fc.asyncProperty(histories('permissions'), (commands) =>
    simulated(simulate(['e1'], pair), commands, checkIntact, (simulation) => expectPermissionsRestored(simulation)),
  );
  const wire = fc.asyncProperty(servings, histories('reported', 12, someFaults), async (serving, commands) =>
    simulated(await simulateOverHttp(['e1'], serving, pair), commands, checkReported, expectMirrored),
  );
  const scarce = fc.asyncProperty(starvations, (scarcity) => expectNotStarved(simulate(['e1', 'e2'], pair), scarcity));
  return [
    {
      id: 'reported',
      title: 'every change that the service reports is mirrored by the next successful run',
      share: 44,
      property: told as never,
    },
    {
      id: 'permissions',
      title: 'whatever was hidden from the token for a while is mirrored by the weekly scans (R13, R18)',
      share: 10,
      property: sight as never,
    },
    {
      id: 'full-scan',
      title: 'a full scan makes the mirror accurate again, whatever happened before',
      share: 21,
      property: whatever as never,
    },
    {
      id: 'http',
      title: 'everything is mirrored within the quota, whatever faults occur on the wire (R23, R24)',
      share: 15,
      property: wire as never,
    },
    {
      id: 'starvation',
      title: 'a list that always fails starves no other, however few requests a run has (R6)',
      share: 10,
      property: scarce as never,
    },
  ];
}

export const PROPERTIES: readonly Property[] = propertiesOf();

async function expectFullScanRepairs(simulation: Simulation): Promise<void> {
  await settle(simulation, { ...PLAIN_SYNC, allowShrink: true });
  const { summary } = await simulation.perform({ ...PLAIN_SYNC, full: true, allowShrink: true });
  expectIntact(simulation);
  strictEqual(summary?.status, 'done');
  expectEqual(simulation, { full: true });
  await expectIdle(simulation);
  await expectOrderIgnored(simulation);
  expectIntact(simulation);
}

/** Once everything is in sight again, the weekly scans make it good, with no scan of lineage or typed assets among them. */
async function expectPermissionsRestored(simulation: Simulation): Promise<void> {
  for (const env of simulation.world.environments.values()) env.hidden.clear();
  // One that is under way has passed by what was out of its sight.
  if (hasUnfinishedScan(simulation)) await settle(simulation);
  simulation.world.advance(8 * DAY);
  await settle(simulation);
  expectEqual(simulation);
  await expectIdle(simulation);
  expectIntact(simulation);
}

/** One list of an environment never answers, and runs have few requests: the other environment is mirrored all the same (R6, R9). */
async function expectNotStarved(simulation: Simulation, scarcity: Starvation): Promise<void> {
  try {
    populate(simulation.world.environment('e2'));
    await runStarved(simulation, scarcity);
    expectIntact(simulation);
    expectEqual(simulation, { places: ['e2'] });
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
    // An asset that was never mirrored cannot be missed: what it owns would be lost without a word.
    await simulation.perform({ ...PLAIN_SYNC, only: ['assets'] });
    for (const command of commands) await each(simulation, command);
    await end(simulation);
    await simulation.mirrored.equalsTwin();
  } finally {
    await simulation.close();
  }
}

/** After a run that ends well, and that nothing has happened in, the mirror is true. */
async function checkReported(simulation: Simulation, command: Command): Promise<void> {
  const { summary, quiet } = await simulation.perform(command);
  if (command.type !== 'sync') return;
  expectIntact(simulation);
  if (command.full && summary !== null) deepStrictEqual(fullScansEverything(simulation.mirrored, summary), []);
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

/** Every stream has come to its end but the histories, of which some cannot be read: they bar no other (R22). */
function hasOnlyBrokenHistories(
  { world }: Simulation,
  { history, only, faults, wireFaults, pageSize }: SyncCommand,
  summary: RunSummary,
): boolean {
  const isLight = world.environment('e1').maxPageRows.size === 0 || pageSize <= MIN_PAGE_ROWS;
  const isUntroubled =
    isLight && faults.length === 0 && wireFaults.length === 0 && only === undefined && world.dates !== 'never';
  const ended = summary.streams.every(({ stream, status }) => status === 'done' || stream === 'test_executions');
  const histories = summary.streams.find(({ stream }) => stream === 'test_executions');
  return history && isUntroubled && ended && summary.run === summary.cycle && histories?.status === 'failed';
}

function hasUnfinishedScan({ mirrored }: Simulation): boolean {
  const checkpoints = STREAM_NAMES.map((stream) => mirrored.checkpoint(stream));
  return checkpoints.some(({ round, waitingScan }) => (waitingScan ?? round)?.mode === 'scan');
}

/** What a run could not settle it leaves to a later one, as its mark says, or to the next scan (R13, R18). */
function hasDeferredWork({ mirrored, world }: Simulation): boolean {
  if (world.environment('e1').hasLateEdges) return true;
  return hasDeferredMarks({ mirrored });
}

function hasDeferredMarks({ mirrored }: Pick<Simulation, 'mirrored'>): boolean {
  return mirrored.rows('select 1 from marks where left_by_run is not null').length > 0;
}

/** Nothing befalls the run, it is of all streams, and no list is closed to it or answers small pages alone. */
function isUntroubled({ world }: Simulation, { only, faults, wireFaults, pageSize }: SyncCommand): boolean {
  const { denied, notLive, maxPageRows } = world.environment('e1');
  const isOpen = denied.size + notLive.size === 0 && (maxPageRows.size === 0 || pageSize <= MIN_PAGE_ROWS);
  return isOpen && faults.length === 0 && wireFaults.length === 0 && only === undefined;
}

/** No list is so heavy that it answers no page of so many rows. */
const MIN_PAGE_ROWS = 50;

/** Every stream has come to its end but for scans that cannot: what is told of is mirrored by the feeds (R9). */
function hasOnlyWaitingScans(simulation: Simulation, command: SyncCommand, summary: RunSummary): boolean {
  const { world, mirrored } = simulation;
  const set = summary.streams
    .filter(({ status }) => status !== 'done')
    .map(({ stream }) => mirrored.checkpoint(stream as CollectionName));
  const isFed = set.every(({ waitingScan, round, watermark }) => {
    const scan = waitingScan ?? round;
    // What lies beyond the reach of the feeds only the scan shows (R3).
    const isDue = scan?.mode === 'scan' && ['full', 'full-every'].includes(scan.reason) && scan.due !== 'clamp';
    return isDue && isTrusted(watermark, command, summary);
  });
  const isEnded = set.length > 0 && summary.status === 'problems' && summary.run === summary.cycle;
  // What stands rejected the mirror does not hold as it is shown (R20).
  const isAccepted = summary.streams.every((stream) => stream.rejected_standing === 0);
  return isUntroubled(simulation, command) && world.dates === 'always' && isFed && isEnded && isAccepted;
}

/** A watermark that lies ahead of the run's time bounds no feed (R1). */
function isTrusted(watermark: string | null, { overlapSeconds }: SyncCommand, { server_time }: RunSummary): boolean {
  if (watermark === null || server_time === null) return false;
  return watermark <= addSeconds(server_time, Math.min(HOUR, overlapSeconds));
}

async function checkIntact(simulation: Simulation, command: Command): Promise<void> {
  const { summary } = await simulation.perform(command);
  if (command.type !== 'sync') return;
  expectIntact(simulation);
  if (command.full && summary !== null) deepStrictEqual(fullScansEverything(simulation.mirrored, summary), []);
}

async function expectMirrored(simulation: Simulation): Promise<void> {
  await settle(simulation);
  if (simulation.world.environment('e1').hasLateEdges) {
    simulation.world.advance(8 * DAY);
    await settle(simulation);
  }
  expectEqual(simulation);
  await expectIdle(simulation);
  expectIntact(simulation);
}

function expectIntact(simulation: Simulation): void {
  deepStrictEqual(simulation.violations(), []);
}

/** The mirror against the world; scores only after `full`, they are read once an hour (R22). */
function expectEqual(
  { world, mirrored }: Simulation,
  { full = false, withHistory = true, places = [...world.environments.keys()] } = {},
): void {
  for (const env of world.environments.values()) {
    if (!env.listed || !places.includes(env.id)) continue;
    const { mirror, world: wanted } = comparableRows(mirrored, env) as Record<string, Record<string, unknown>>;
    if (!full)
      for (const side of [mirror, wanted])
        for (const table of ['asset_health_scores', 'asset_health_score_dimensions']) delete side?.[table];
    deepStrictEqual(mirror, wanted);
    if (env.id === 'e1' && withHistory) deepStrictEqual(missingExecutions(mirrored, env), []);
  }
}

/** Nothing has happened: no row is written and no request sent that could be spared (R21, R22). */
async function expectIdle(simulation: Simulation): Promise<void> {
  const before = dumpTables(simulation.mirrored);
  const { summary } = await simulation.perform({ ...PLAIN_SYNC, pageSize: 2000 });
  strictEqual(summary?.status, 'done');
  strictEqual(dumpTables(simulation.mirrored), before);
  const asked = simulation.mirrored.requests().map(({ path }) => path);
  const wanted = [...simulation.world.environments.keys()].flatMap((id) =>
    LEAST_REQUESTS.map((path) => `${id}/${path}`),
  );
  deepStrictEqual(asked.filter((path) => !path.endsWith('health-scores')).sort(), wanted);
}

/** Members in another order are no change, whoever shows them (R21). Scores go by the clock. */
async function expectOrderIgnored(simulation: Simulation): Promise<void> {
  for (const env of simulation.world.environments.values()) env.reversesMembers = !env.reversesMembers;
  const before = dumpTables(simulation.mirrored);
  await simulation.perform({
    ...PLAIN_SYNC,
    full: true,
    only: STREAM_NAMES.filter((name) => name !== 'asset_health_scores'),
  });
  strictEqual(dumpTables(simulation.mirrored), before);
}

/** Whatever limit failed before, lists that answer only small pages are read in a few runs (R24). */
async function shrinkPages(simulation: Simulation, plain: SyncCommand): Promise<void> {
  const { maxPageRows } = simulation.world.environment('e1');
  // What stays rejected, such as a row out of sight, is no list that was not read (R20).
  let isRead = maxPageRows.size === 0;
  for (let run = 0; run < MAX_HALVING_RUNS && !isRead; run++) {
    const { summary } = await simulation.perform({ ...plain, pageSize: 2000 });
    isRead = summary?.streams.every(({ error }) => !error) ?? false;
  }
  strictEqual(isRead, true);
  maxPageRows.clear();
}

/** From 2000 rows to 50, two halvings a run, with one run more for a cycle that was stopped. */
const MAX_HALVING_RUNS = 8;

/** Most of what the mirror knew may have gone unseen. The guard holds it back, rightly as an invariant says; the user lets it go (R14). */
async function applyHeldRemovals(simulation: Simulation, summary: RunSummary | null): Promise<RunSummary | null> {
  const held = simulation.mirrored.rows('select 1 from held_removals').length;
  return held === 0 ? summary : (await simulation.perform({ ...PLAIN_SYNC, allowShrink: true })).summary;
}

/** A run that ends well; one that only went on with the pass of a stopped run is followed by another. */
async function settle(simulation: Simulation, plain = PLAIN_SYNC): Promise<void> {
  heal(simulation);
  await shrinkPages(simulation, plain);
  let { summary } = await simulation.perform(plain);
  summary = await applyHeldRemovals(simulation, summary);
  if (summary?.run !== summary?.cycle) summary = (await simulation.perform(plain)).summary;
  // Within the overlap a tombstone may stand against what is shown (R10).
  if (hasDeferredMarks(simulation)) simulation.world.advance(2 * HOUR);
  if (hasDeferredMarks(simulation)) summary = (await simulation.perform(plain)).summary;
  expectIntact(simulation);
  deepStrictEqual(
    summary?.streams.filter(({ error }) => error),
    [],
  );
  // A rejected row that went without a word stands until a scan (R20).
  const stands = plain.allowShrink && summary?.streams.some((stream) => stream.rejected_standing > 0);
  strictEqual(summary?.status, stands ? 'problems' : 'done');
}
