import { setTimeout as sleepFor } from 'node:timers/promises';
import type { KeptQuota } from '../core/quota/quota.ts';
import { type ListedEnvironment, reconcile } from '../core/schedule/environments.ts';
import type { ScheduleRules } from '../core/schedule/schedule.ts';
import { checkOptions } from '../settings/check-options.ts';
import { cronRules } from '../settings/cron-rules.ts';
import type { OptionsNamed, SyncEvent, SyncOptions } from '../settings/options.ts';
import { clock, type RunWatcher, type SyncSettings, syncSettings, watcherOf } from '../settings/sync-settings.ts';
import { runSchedule, type SchedulePorts } from '../sync/run-schedule.ts';
import { nextTick } from '../sync/schedule-cron.ts';
import type { RunSummary } from '../sync/summary.ts';
import { refuseNetworkFs } from './open-store.ts';
import { readEnvironments, readMirrored } from './schedule-mirror.ts';
import { resumeSource } from './session.ts';
import { type RunThread, startRunThread } from './thread/in-thread.ts';

export interface ScheduleOptions extends Omit<SyncOptions, 'onProgress'>, OptionsNamed<'cron' | 'delay'> {
  /** Receives the events of the schedule and of its runs. */
  readonly onProgress?: ((event: ScheduleEvent) => void) | undefined;
}

/** An event of a schedule. */
export type ScheduleEvent =
  | SyncEvent
  | { readonly type: 'log'; readonly level: 'info' | 'warn'; readonly message: string }
  | { readonly type: 'run'; readonly summary: RunSummary };

/**
 * Brings the mirror up to date on a schedule, one run at a time, until `signal` is aborted.
 * @throws SyncError when the configuration can never work
 */
export async function schedule(options: ScheduleOptions): Promise<void> {
  checkOptions(options);
  const settings = syncSettings(options);
  refuseNetworkFs(settings);
  const rules = scheduleRules(options, settings);
  const thread = startRunThread();
  try {
    // The token may be replaced while the schedule runs.
    await runSchedule(schedulePorts(settings, options, { thread, fresh: () => syncSettings(options) }), rules);
  } finally {
    await thread.close();
  }
}

/** @throws SyncError `usage` */
function scheduleRules(options: ScheduleOptions, { environments, maxRequests }: SyncSettings): ScheduleRules {
  // With a request limit each environment has its own run, and so its own count.
  return { ...cronRules(options), environments, together: maxRequests === null };
}

interface ScheduleRunner {
  readonly thread: RunThread;
  /**
   * The settings with the current token.
   * @throws SyncError `usage`
   */
  fresh(): SyncSettings;
}

function schedulePorts({ db, baseUrl }: SyncSettings, options: ScheduleOptions, runner: ScheduleRunner): SchedulePorts {
  const emit = guardListener(options.onProgress ?? (() => {}));
  const { signal, onSourceEvent } = watcherOf({ signal: options.signal, onProgress: emit });
  let keptQuota: KeptQuota | null = null;
  return {
    clock,
    sleep: (ms) => sleepFor(ms, undefined, { signal }).catch(() => {}),
    next: nextTick,
    mirrored: () => readMirrored(db, baseUrl),
    async list() {
      const listing = await listEnvironments({ ...runner.fresh(), keptQuota }, { signal, onSourceEvent });
      keptQuota = listing.keptQuota;
      return listing.environments;
    },
    async run(environments) {
      let listed = false;
      const watcher: RunWatcher = {
        signal,
        onSourceEvent,
        onProgress(progress) {
          listed ||= progress.type === 'environments';
          emit(progress);
        },
      };
      const perRun = { keptQuota, environments: environments.map(({ id }) => id) };
      const summary = await runWithFreshToken(runner, perRun, watcher);
      emit({ type: 'run', summary });
      return { summary, listed: listed ? await readEnvironments(db) : null };
    },
    log: {
      info: (message) => emit({ type: 'log', level: 'info', message }),
      warn: (message) => emit({ type: 'log', level: 'warn', message }),
    },
    signal,
  };
}

/** A throwing listener does not end the schedule. Its first error becomes a process warning. */
function guardListener(onProgress: (event: ScheduleEvent) => void): (event: ScheduleEvent) => void {
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
  watcher: RunWatcher,
): Promise<RunSummary> {
  const settings = fresh();
  const summary = await thread.sync({ ...settings, ...perRun }, watcher);
  if (summary.recovery !== 'token' || fresh().token === settings.token) return summary;
  return thread.sync({ ...fresh(), ...perRun }, watcher);
}

async function listEnvironments(
  settings: SyncSettings,
  watch: Pick<RunWatcher, 'signal' | 'onSourceEvent'>,
): Promise<{ environments: readonly ListedEnvironment[]; keptQuota: KeptQuota | null }> {
  const source = await resumeSource(settings, watch);
  try {
    const environments = reconcile(await source.environments(), [], clock()).listed;
    const reported = source.quota?.() ?? null;
    return { environments, keptQuota: reported === null ? null : { ...reported, notedAt: clock() } };
  } finally {
    await source.close();
  }
}
