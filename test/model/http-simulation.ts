import type { RunSummary } from '../../src/sync/summary.ts';
import type { SyncCommand } from './commands.ts';
import type { OpenFile } from './mirror-files.ts';
import type { MakeTwin } from './mirror-twin.ts';
import { type ServingOptions, serveWorld } from './serve-world.ts';
import { type Simulation, simulate } from './simulation.ts';
import { type ServedRun, wireViolations } from './wire-invariants.ts';

/** Faults that do not end a run early. */
const HARMLESS: readonly string[] = ['act', 'expire-cursors', 'wrong-date', 'delay'];

/** A simulation that reads the world through the real source over HTTP, with faults on the wire. */
export async function simulateOverHttp(
  ids: readonly string[],
  serving: ServingOptions,
  makeTwin?: MakeTwin,
  open?: OpenFile,
): Promise<Simulation> {
  const simulation = simulate(ids, makeTwin, open);
  const { world, mirrored } = simulation;
  const served = await serveWorld(world, serving);
  world.source = served.source;

  async function sync(command: SyncCommand): ReturnType<Simulation['perform']> {
    served.faults = command.wireFaults;
    const fromMs = world.nowMs;
    const { summary, quiet } = await simulation.perform({
      ...command,
      faults: command.faults.filter(({ type }) => type !== 'error' && type !== 'delay'),
    });
    const received = served.received();
    // A stopped run, even if its budget ended it first, never sees the answers still in flight (R27).
    const wasStopped = command.faults.some((fault) => fault.type === 'abort' && received >= fault.at);
    // A killed process saves nothing.
    if (summary === null || wasStopped || world.nowMs < fromMs) served.forgetQuota();
    const hasWrongDates = world.cache !== null || command.faults.some(({ type }) => type === 'wrong-date');
    const { retries } = serving;
    const run = { faults: command.wireFaults, received, hasWrongDates, retries, fromMs, toMs: world.nowMs };
    if (summary !== null) world.violations.push(...wireViolations({ ...run, summary }));
    world.violations.push(...miscounted(command, summary, run));
    return { summary, quiet };
  }

  return {
    ...simulation,
    async perform(command) {
      // Skipped: a run that waits for quota could outlast the setback, and no clock reading would reveal it (R1).
      if (command.type === 'service-clock') return { summary: null, quiet: true };
      if (command.type === 'sync') return sync(command);
      const { nowMs } = world;
      const result = await simulation.perform(command);
      // Once a clock was set, stored times no longer tell how old the quota state is (R23).
      if (command.type === 'mirror-clock' || world.nowMs < nowMs) served.forgetQuota();
      return result;
    },
    async close() {
      await served.close();
      mirrored.close();
    },
  };
}

/** Requests beyond the command's limit, or that the run counted differently from the service (R23). */
function miscounted(
  { maxRequests = Number.POSITIVE_INFINITY, faults, wireFaults }: SyncCommand,
  summary: RunSummary | null,
  { received }: Pick<ServedRun, 'received'>,
): string[] {
  const found: string[] = [];
  if (received > maxRequests) found.push(`${received} requests, though ${maxRequests} were allowed`);
  const wasStopped = faults.some(({ type }) => !HARMLESS.includes(type));
  const lost = (summary?.requests ?? 0) - received;
  // A request sent while the service resets the connection never arrives, but the run has counted it (R23).
  const mayBeLost = wireFaults.some(({ disturbance }) => disturbance.type === 'reset');
  if (!wasStopped && lost !== 0 && !(mayBeLost && lost > 0))
    found.push(`${received} requests were received, ${summary?.requests} counted (R23)`);
  return found;
}
