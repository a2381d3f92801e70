import type { DecisionOptions } from '../core/context.ts';
import { SyncError } from '../core/errors.ts';
import type { RunStatus } from '../core/ports/state-store.ts';
import type { Stream } from '../core/stream.ts';
import { type MaintenancePorts, renewDays } from '../sync/maintain-histories.ts';
import type { RunPorts } from '../sync/ports.ts';
import { createStreamCounter } from '../sync/stream-counter.ts';
import { repairEnvironment } from './repair-environment.ts';
import type { VerifyResult } from './verify.ts';

/** The mirror has been locked since before it was verified. */
export interface RepairPorts extends Omit<MaintenancePorts, 'run'>, Pick<RunPorts, 'source' | 'clock'> {
  readonly catalogue: readonly Stream[];
}

export interface RepairResult {
  readonly run: number;
  /** What was verified, with the verdicts after the repair. */
  readonly verifications: VerifyResult['verifications'];
  readonly hasWrittenEnvironments: boolean;
  /** What it could not repair, in words. */
  readonly notRepaired: readonly string[];
  readonly error: SyncError | null;
}

/**
 * Repairs what a verification found. It is a run of its own in `sync_runs` but finishes no stream, so the next sync
 * continues a stopped cycle (R6). Never throws a `SyncError`.
 */
export async function repair(
  { mirror, source, clock, catalogue, signal }: RepairPorts,
  options: DecisionOptions,
  { reconciled, environments, verifications }: VerifyResult,
): Promise<RepairResult> {
  const run = await mirror.state.beginRun(clock(), 'verify');
  const counter = createStreamCounter(() => {});
  const notRepaired: string[] = [];
  const after = new Map(verifications.map((each) => [each, each]));
  let error: SyncError | null = null;
  try {
    const envIds = environments.map(({ id }) => id);
    if (reconciled !== null) await mirror.state.saveEnvironments(reconciled, run, envIds);
    for (const id of envIds) {
      const destination = mirror.destination(id, run);
      const work = { catalogue, source, destination, options, run, counter, notRepaired };
      const own = verifications.filter(({ streamContext }) => streamContext.environment.id === id);
      await repairEnvironment(work, own, (before, repaired) => after.set(before, repaired));
    }
    await renewDays({ mirror, run, signal }, envIds);
  } catch (failure) {
    if (!(failure instanceof SyncError)) throw failure;
    error = failure;
  }
  const { written: rows_written, deleted: rows_deleted, rejected: rows_rejected } = counter.total();
  const times = { server_time: source.times().serverTime, ended_at: clock(), requests: source.requests() };
  const status = statusOf(error, notRepaired);
  const end = { status, error: error?.message ?? null, rows_written, rows_deleted, rows_rejected, ...times };
  await mirror.state.endRun({ id: run, cycle: run }, end);
  return { run, verifications: [...after.values()], hasWrittenEnvironments: reconciled !== null, notRepaired, error };
}

function statusOf(error: SyncError | null, notRepaired: readonly string[]): RunStatus {
  if (error === null) return notRepaired.length === 0 ? 'done' : 'problems';
  return error.recovery === 'budget' ? 'stopped' : error.recovery === 'signal' ? 'interrupted' : 'problems';
}
