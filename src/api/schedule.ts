import { setTimeout as sleepFor } from 'node:timers/promises';
import type { KeptQuota } from '../core/quota/quota.ts';
import { checkOptions } from '../settings/check-options.ts';
import { cronRules } from '../settings/cron-rules.ts';
import type { OptionsNamed, ProgressOptions, SyncEvent, SyncOptions } from '../settings/options.ts';
import { clock, type SyncSettings, syncSettings, type WorkWatch, watchOf } from '../settings/sync-settings.ts';
import { runSchedule, type SchedulePorts } from '../sync/run-schedule.ts';
import { nextTick } from '../sync/schedule-cron.ts';
import type { RunSummary } from '../sync/summary.ts';
import { refuseNetworkFs } from './open-store.ts';
import { readEnvironments, readMirrored } from './schedule-mirror.ts';
import { type ScheduleServerOptions, type ServerEvent, startServers } from './schedule-servers.ts';
import { requestEnvironments } from './session.ts';
import { textfileWriter, type WriteTextfile } from './textfile.ts';
import { type RunThread, startRunThread } from './thread/in-thread.ts';

export interface ScheduleOptions
  extends Omit<SyncOptions, 'onProgress'>,
    ScheduleServerOptions,
    ProgressOptions<ScheduleEvent>,
    OptionsNamed<'cron' | 'delay'> {}

export type ScheduleEvent = SyncEvent | ServerEvent | { readonly type: 'run'; readonly summary: RunSummary };

/** Syncs on a schedule, one run at a time, until `signal` is aborted. @throws SyncError if it can never work */
export async function schedule(options: ScheduleOptions): Promise<void> {
  checkOptions(options);
  const settings = syncSettings(options);
  refuseNetworkFs(settings);
  // With a request limit each environment has its own run, and so its own count.
  const together = settings.maxRequests === null;
  const rules = { ...cronRules(options), environments: settings.environments, together };
  const writeTextfile = textfileWriter(options);
  const { signal, onProgress } = watchOf<ScheduleEvent>(options);
  const emit = guardListener(onProgress);
  const thread = startRunThread();
  const servers = await startServers(options, settings, emit);
  try {
    // The token may be replaced while the schedule runs.
    const runner = { thread, writeTextfile, fresh: () => syncSettings(options) };
    await runSchedule(schedulePorts(settings, { signal, onProgress: emit }, runner), rules);
  } finally {
    await Promise.all([thread.close(), servers.close()]);
  }
}

interface ScheduleRunner {
  readonly thread: RunThread;
  readonly writeTextfile: WriteTextfile;
  /** The settings with the current token. @throws SyncError `usage` */
  fresh(): SyncSettings;
}

function schedulePorts(
  { db, baseUrl }: SyncSettings,
  { signal, onProgress: emit }: WorkWatch<ScheduleEvent>,
  runner: ScheduleRunner,
): SchedulePorts {
  const logAs = (level: 'info' | 'warn') => (message: string) => emit({ type: 'log', level, message });
  const log = { info: logAs('info'), warn: logAs('warn') };
  let keptQuota: KeptQuota | null = null;
  return {
    clock,
    sleep: (ms) => sleepFor(ms, undefined, { signal }).catch(() => {}),
    next: nextTick,
    mirrored: () => readMirrored(db, baseUrl),
    async list() {
      const listing = await requestEnvironments({ ...runner.fresh(), keptQuota }, { signal, onProgress: emit });
      keptQuota = listing.quota && { ...listing.quota, notedAt: clock() };
      return listing.listed;
    },
    async run(environments) {
      let listed = false;
      const onProgress = (progress: SyncEvent): void => {
        listed ||= progress.type === 'environments';
        emit(progress);
      };
      const perRun = { keptQuota, environments: environments.map(({ id }) => id) };
      const summary = await runWithFreshToken(runner, perRun, { signal, onProgress });
      const failure = await runner.writeTextfile(db, () => runner.thread.run('measure', db));
      if (failure !== null) log.warn(failure);
      emit({ type: 'run', summary });
      return { summary, listed: listed ? await readEnvironments(db) : null };
    },
    log,
    signal,
  };
}

/** A throwing listener does not end the schedule. Its first error becomes a process warning. */
function guardListener(onProgress: (event: ScheduleEvent) => void): typeof onProgress {
  let hasThrown = false;
  return (event) => {
    try {
      onProgress(event);
    } catch (error) {
      if (!hasThrown) process.emitWarning(`onProgress of schedule() failed, the schedule continues: ${error}`);
      hasThrown = true;
    }
  };
}

/** Retries immediately if the token was refused but has been replaced meanwhile. */
async function runWithFreshToken(
  { thread, fresh }: ScheduleRunner,
  perRun: Pick<SyncSettings, 'keptQuota' | 'environments'>,
  watch: WorkWatch<SyncEvent>,
): Promise<RunSummary> {
  const settings = fresh();
  const summary = await thread.run('sync', { ...settings, ...perRun }, watch);
  if (summary.recovery !== 'token' || fresh().token === settings.token) return summary;
  return thread.run('sync', { ...fresh(), ...perRun }, watch);
}
