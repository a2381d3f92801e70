import { setTimeout as sleepFor } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Arguments } from 'yargs';
import { type Environment, reconcile } from '../core/environments.ts';
import type { KeptQuota } from '../core/quota.ts';
import type { Rules } from '../core/schedule.ts';
import { runSchedule, type SchedulePorts } from '../sync/schedule.ts';
import { nextTick } from '../sync/schedule-cron.ts';
import type { RunSummary } from '../sync/summary.ts';
import type { RunCommand } from './command.ts';
import { exitCodeOfSignal } from './exit-code.ts';
import { type RunThread, startRunThread } from './in-thread.ts';
import { OptionError } from './option-error.ts';
import { type RunView, watchRun } from './progress-view.ts';
import { readEnvironments, readMirrored } from './schedule-mirror.ts';
import { resumeSource } from './session.ts';
import { stopOnSignals } from './signals.ts';
import { clock, inRange, type SyncSettings, syncSettings, type Watch } from './sync-settings.ts';

export const schedule: RunCommand = async (args, io) => {
  const settings = syncSettings(args, io.env);
  const rules = scheduleRules(args, settings);
  const stop = stopOnSignals();
  const thread = startRunThread();
  // A schedule logs lines, on a terminal as well.
  const view = await watchRun({ ...io, errIsTerminal: false }, args['log-level'] as string);
  const log = await io.log(args['log-level'] as string);
  try {
    // A token may be replaced while the schedule goes on.
    const fresh = (): SyncSettings => syncSettings(args, io.env);
    await runSchedule(schedulePorts(settings, stop.signal, { thread, view, log, fresh }), rules);
    return exitCodeOfSignal(stop.received() ?? 'SIGTERM');
  } finally {
    await thread.close();
    stop.dispose();
  }
};

/** @throws SyncError `usage` */
function scheduleRules(args: Arguments, { environments, maxRequests }: SyncSettings): Rules {
  const cron = (args['cron'] as string | undefined) ?? null;
  if (cron !== null && nextTick(cron, clock()) === null) {
    throw new OptionError('cron', `--cron ${cron} is no cron expression that comes due: write one such as "0 6 * * *"`);
  }
  const delaySeconds = inRange('delay', args['delay'], { min: 0, max: 86_400 * 7 });
  // Requests that are counted are counted for each environment.
  return { cron, delaySeconds, environments, together: maxRequests === null };
}

interface Run {
  readonly thread: RunThread;
  readonly view: RunView;
  readonly log: Logger;
  /** The settings with the token as it is now. @throws SyncError `usage` */
  fresh(): SyncSettings;
}

function schedulePorts({ db, baseUrl }: SyncSettings, signal: AbortSignal, run: Run): SchedulePorts {
  const { log, fresh } = run;
  const { onProgress, onSourceEvent } = run.view;
  let keptQuota: KeptQuota | null = null;
  return {
    clock,
    sleep: (ms) => sleepFor(ms, undefined, { signal }).catch(() => {}),
    next: nextTick,
    mirrored: () => readMirrored(db, baseUrl),
    async list() {
      const listing = await listEnvironments({ ...fresh(), keptQuota }, { signal, onSourceEvent });
      keptQuota = listing.keptQuota;
      return listing.environments;
    },
    async run(environments) {
      let listed = false;
      const watch: Watch = {
        signal,
        onSourceEvent,
        onProgress(progress) {
          listed ||= progress.type === 'environments';
          onProgress(progress);
        },
      };
      const asked = { keptQuota, environments: environments.map(({ id }) => id) };
      const summary = await runWithFreshToken(run, asked, watch);
      return { summary, listed: listed ? readEnvironments(db) : null };
    },
    log: { info: (line) => log.info(line), warn: (line) => log.warn(line) },
    signal,
  };
}

/** Runs again at once where the token was replaced while the run that it was refused to went on. */
async function runWithFreshToken(
  { thread, fresh }: Run,
  asked: Pick<SyncSettings, 'keptQuota' | 'environments'>,
  watch: Watch,
): Promise<RunSummary> {
  const settings = fresh();
  const summary = await thread.sync({ ...settings, ...asked }, watch);
  if (summary.recovery !== 'token' || fresh().token === settings.token) return summary;
  return thread.sync({ ...fresh(), ...asked }, watch);
}

async function listEnvironments(
  settings: SyncSettings,
  watch: Pick<Watch, 'signal' | 'onSourceEvent'>,
): Promise<{ environments: readonly Environment[]; keptQuota: KeptQuota | null }> {
  const source = resumeSource(settings, watch);
  try {
    const environments = reconcile(await source.environments(), [], clock()).listed;
    const told = source.quota?.() ?? null;
    return { environments, keptQuota: told === null ? null : { ...told, notedAt: clock() } };
  } finally {
    await source.close();
  }
}
