import { setTimeout as sleepFor } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Arguments } from 'yargs';
import { type Environment, reconcile } from '../core/environments.ts';
import { SyncError } from '../core/errors.ts';
import type { KeptQuota } from '../core/quota.ts';
import type { Rules } from '../core/schedule.ts';
import { runSchedule, type SchedulePorts } from '../sync/schedule.ts';
import { nextTick } from '../sync/schedule-cron.ts';
import type { Command } from './command.ts';
import { exitCodeOfSignal } from './exit-code.ts';
import { type RunThread, startRunThread } from './in-thread.ts';
import { pick } from './options.ts';
import { type RunView, watchRun } from './progress-view.ts';
import { readEnvironments, readMirrored } from './schedule-mirror.ts';
import { resumeSource } from './session.ts';
import { stopOnSignals } from './signals.ts';
import { SYNC_OPTIONS } from './sync.ts';
import { clock, inRange, type SyncSettings, syncSettings, type Watch } from './sync-settings.ts';

export const schedule: Command = {
  name: 'schedule',
  describe: 'bring the mirror up to date on a schedule (cron expressions in UTC), until stopped',
  options: { ...SYNC_OPTIONS, ...pick('cron', 'delay') },
  async run(args, io) {
    const settings = syncSettings(args, io.env);
    const rules = scheduleRules(args, settings);
    const stop = stopOnSignals();
    const thread = startRunThread();
    // A schedule logs lines, on a terminal as well.
    const view = watchRun({ ...io, errIsTerminal: false }, args['log-level'] as string);
    const log = io.log(args['log-level'] as string);
    try {
      await runSchedule(schedulePorts(settings, stop.signal, { thread, view, log }), rules);
      return exitCodeOfSignal(stop.received() ?? 'SIGTERM');
    } finally {
      await thread.close();
      stop.dispose();
    }
  },
};

/** @throws SyncError `usage` */
function scheduleRules(args: Arguments, { environments, maxRequests }: SyncSettings): Rules {
  const cron = (args['cron'] as string | undefined) ?? null;
  if (cron !== null && nextTick(cron, clock()) === null) {
    throw new SyncError('usage', `--cron ${cron} is no cron expression that comes due: write one such as "0 6 * * *"`);
  }
  const delaySeconds = inRange('delay', args['delay'], { min: 0, max: 86_400 * 7 });
  // Requests that are counted are counted for each environment.
  return { cron, delaySeconds, environments, together: maxRequests === null };
}

interface Run {
  readonly thread: RunThread;
  readonly view: RunView;
  readonly log: Logger;
}

function schedulePorts(settings: SyncSettings, signal: AbortSignal, { thread, view, log }: Run): SchedulePorts {
  const { onProgress, onSourceEvent } = view;
  let keptQuota: KeptQuota | null = null;
  return {
    clock,
    sleep: (ms) => sleepFor(ms, undefined, { signal }).catch(() => {}),
    next: nextTick,
    mirrored: () => readMirrored(settings.db, settings.baseUrl),
    async list() {
      const listing = await listEnvironments({ ...settings, keptQuota }, { signal, onSourceEvent });
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
      const summary = await thread.sync(
        { ...settings, keptQuota, environments: environments.map(({ id }) => id) },
        watch,
      );
      return { summary, listed: listed ? readEnvironments(settings.db) : null };
    },
    log: { info: (line) => log.info(line), warn: (line) => log.warn(line) },
    signal,
  };
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
