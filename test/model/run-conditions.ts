import { addSeconds } from '../../src/core/time/instant.ts';
import { type CollectionName, STREAM_NAMES } from '../../src/streams/catalogue.ts';
import type { RunSummary } from '../../src/sync/summary.ts';
import type { SyncCommand } from './commands.ts';
import type { Simulation } from './simulation.ts';
import { HOUR } from './world.ts';

/** Every stream finished except the histories, because some fail. They must not block the others (R22). */
export function hasOnlyBrokenHistories(
  { world }: Simulation,
  { history, only, faults, wireFaults, pageSize }: SyncCommand,
  summary: RunSummary,
): boolean {
  const isLight = world.environment('e1').maxPageRows.size === 0 || pageSize <= MIN_PAGE_ROWS;
  const isUndisturbed =
    isLight && faults.length === 0 && wireFaults.length === 0 && only === undefined && world.dates === 'always';
  const ended = summary.streams.every(({ stream, status }) => status === 'done' || stream === 'test_executions');
  const histories = summary.streams.find(({ stream }) => stream === 'test_executions');
  return history && isUndisturbed && ended && summary.run === summary.cycle && histories?.status === 'failed';
}

export function hasUnfinishedScan({ mirrored }: Simulation): boolean {
  const checkpoints = STREAM_NAMES.map((stream) => mirrored.checkpoint(stream));
  return checkpoints.some(({ round, waitingScan }) => (waitingScan ?? round)?.mode === 'scan');
}

/** Whether the run left work to a later run, by its marks, or to the next scan (R13, R18). */
export function hasDeferredWork({ mirrored, world }: Simulation): boolean {
  if (world.environment('e1').needsScan) return true;
  return hasDeferredMarks({ mirrored });
}

export function hasDeferredMarks({ mirrored }: Pick<Simulation, 'mirrored'>): boolean {
  return mirrored.rows('select 1 from marks where left_by_run is not null').length > 0;
}

/** A run of all streams without faults, in which every list answers pages of this size. */
function isUndisturbed({ world }: Simulation, { only, faults, wireFaults, pageSize }: SyncCommand): boolean {
  const { denied, notLive, maxPageRows } = world.environment('e1');
  const isOpen = denied.size + notLive.size === 0 && (maxPageRows.size === 0 || pageSize <= MIN_PAGE_ROWS);
  return isOpen && faults.length === 0 && wireFaults.length === 0 && only === undefined;
}

/** Every list answers pages of this size, however heavy it is. */
const MIN_PAGE_ROWS = 50;

/** Every stream finished except for scans that fail. The feeds still mirror what they report (R9). */
export function hasOnlyWaitingScans(simulation: Simulation, command: SyncCommand, summary: RunSummary): boolean {
  const { world, mirrored } = simulation;
  const unfinished = summary.streams
    .filter(({ status }) => status !== 'done')
    .map(({ stream }) => mirrored.checkpoint(stream as CollectionName));
  const isFed = unfinished.every(({ waitingScan, round, watermark }) => {
    const scan = waitingScan ?? round;
    // Only the scan returns what lies beyond the lookback of the feeds (R3).
    const isDue = scan?.mode === 'scan' && ['full', 'full-every'].includes(scan.reason) && scan.due !== 'clamp';
    return isDue && isTrusted(watermark, command, summary);
  });
  const isEnded = unfinished.length > 0 && summary.status === 'problems' && summary.run === summary.cycle;
  // A rejected row differs from the mirror's (R20).
  const isAccepted = summary.streams.every((stream) => stream.rejected_standing === 0);
  return isUndisturbed(simulation, command) && world.dates === 'always' && isFed && isEnded && isAccepted;
}

/** A watermark ahead of the run's time bounds no feed (R1). */
function isTrusted(watermark: string | null, { overlapSeconds }: SyncCommand, { server_time }: RunSummary): boolean {
  if (watermark === null || server_time === null) return false;
  return watermark <= addSeconds(server_time, Math.min(HOUR, overlapSeconds));
}
