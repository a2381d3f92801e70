import { deepStrictEqual, strictEqual } from 'node:assert/strict';
import { STREAM_NAMES } from '../../src/streams/catalogue.ts';
import type { RunSummary } from '../../src/sync/summary.ts';
import { LEAST_REQUESTS } from '../support/catalogue.ts';
import { PLAIN_SYNC, type SyncCommand } from './commands.ts';
import { comparableRows, missingExecutions } from './expected-rows.ts';
import { dumpTables } from './invariants.ts';
import { hasDeferredMarks, hasUnfinishedScan } from './run-conditions.ts';
import { heal, type Simulation } from './simulation.ts';
import { HOUR } from './world.ts';

export function expectIntact(simulation: Simulation): void {
  deepStrictEqual(simulation.violations(), []);
}

/** Compares the mirror with the world. Scores are read once an hour, so only `full` compares them (R22). */
export function expectEqual(
  { world, mirrored }: Simulation,
  { full = false, withHistory = true, environments = [...world.environments.keys()] } = {},
): void {
  for (const env of world.environments.values()) {
    if (!env.listed || !environments.includes(env.id)) continue;
    const { mirror, world: wanted } = comparableRows(mirrored, env) as Record<string, Record<string, unknown>>;
    if (!full)
      for (const side of [mirror, wanted])
        for (const table of ['asset_health_scores', 'asset_health_score_dimensions']) delete side?.[table];
    deepStrictEqual(mirror, wanted);
    if (env.id === 'e1' && withHistory) deepStrictEqual(missingExecutions(mirrored, env), []);
  }
}

/** A run after no change writes no row and sends no unnecessary request (R21, R22). */
export async function expectIdle(simulation: Simulation): Promise<void> {
  const before = dumpTables(simulation.mirrored);
  const { summary } = await simulation.perform({ ...PLAIN_SYNC, pageSize: 2000 });
  strictEqual(summary?.status, 'done');
  strictEqual(dumpTables(simulation.mirrored), before);
  const sent = simulation.mirrored.requests().map(({ path }) => path);
  const wanted = [...simulation.world.environments.keys()].flatMap((id) =>
    LEAST_REQUESTS.map((path) => `${id}/${path}`),
  );
  deepStrictEqual(sent.filter((path) => !path.endsWith('health-scores')).sort(), wanted);
}

/** Members in another order are no change (R21). Scores are left out because they depend on the clock. */
export async function expectOrderIgnored(simulation: Simulation): Promise<void> {
  for (const env of simulation.world.environments.values()) env.reversesMembers = !env.reversesMembers;
  const before = dumpTables(simulation.mirrored);
  await simulation.perform({
    ...PLAIN_SYNC,
    full: true,
    only: STREAM_NAMES.filter((name) => name !== 'asset_health_scores'),
  });
  strictEqual(dumpTables(simulation.mirrored), before);
}

/** Lists that answer only small pages are read within a few runs, whatever page limit is stored (R24). */
async function shrinkPages(simulation: Simulation, plain: SyncCommand): Promise<void> {
  const { maxPageRows } = simulation.world.environment('e1');
  // A list counts as read even if a row stays rejected (R20) or removals are held back (R14).
  let isRead = maxPageRows.size === 0;
  for (let run = 0; run < MAX_HALVING_RUNS && !isRead; run++) {
    const { summary } = await simulation.perform({ ...plain, pageSize: 2000 });
    isRead = summary?.streams.every(({ error, status }) => !error || status === 'held') ?? false;
  }
  strictEqual(isRead, true);
  maxPageRows.clear();
}

/** From 2000 rows to 50 with two halvings per run, plus a run that finishes a stopped cycle. */
const MAX_HALVING_RUNS = 8;

/** Most rows may have vanished while the mirror could not see it: the guard rightly holds the removals back (R14). */
export async function applyHeldRemovals(
  simulation: Simulation,
  summary: RunSummary | null,
): Promise<RunSummary | null> {
  const held = simulation.mirrored.rows('select 1 from held_removals').length;
  return held === 0 ? summary : (await simulation.perform({ ...PLAIN_SYNC, allowShrink: true })).summary;
}

/** Syncs until everything is mirrored; a run that only finished the cycle of a stopped run is followed by another. */
export async function settle(simulation: Simulation, plain = PLAIN_SYNC): Promise<void> {
  heal(simulation);
  await shrinkPages(simulation, plain);
  // A resumed scan whose cursor has expired once more fails in that run, for its feeds (R9).
  const mayFail = hasUnfinishedScan(simulation);
  let { summary } = await simulation.perform(plain);
  if (mayFail && hasUnfinishedScan(simulation)) summary = (await simulation.perform(plain)).summary;
  summary = await applyHeldRemovals(simulation, summary);
  if (summary?.run !== summary?.cycle) summary = (await simulation.perform(plain)).summary;
  // Within the overlap, a tombstone may win over a returned row (R10).
  if (hasDeferredMarks(simulation)) simulation.world.advance(2 * HOUR);
  if (hasDeferredMarks(simulation)) summary = (await simulation.perform(plain)).summary;
  expectIntact(simulation);
  deepStrictEqual(
    summary?.streams.filter(({ error }) => error),
    [],
  );
  // A rejected row that vanished without a tombstone stays rejected until a scan (R20).
  const hasRejected = plain.allowShrink && summary?.streams.some((stream) => stream.rejected_standing > 0);
  strictEqual(summary?.status, hasRejected ? 'problems' : 'done');
}
