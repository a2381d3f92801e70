import { setTimeout as sleepFor } from 'node:timers/promises';
import type { Arguments } from 'yargs';
import { type Environment, reconcile } from '../core/environments.ts';
import { SyncError } from '../core/errors.ts';
import type { Rules } from '../core/schedule.ts';
import { runSchedule, type SchedulePorts } from '../sync/schedule.ts';
import { nextTick } from '../sync/schedule-cron.ts';
import type { Command, Io } from './command.ts';
import { exitCodeOfSignal } from './exit-code.ts';
import { pick } from './options.ts';
import { watchRun } from './progress-view.ts';
import { readEnvironments, readMirrored } from './schedule-mirror.ts';
import { clock, inRange, openSource, runOnce, type SyncSettings, syncSettings, type Watch } from './session.ts';
import { stopOnSignals } from './signals.ts';
import { SYNC_OPTIONS } from './sync.ts';

export const schedule: Command = {
  name: 'schedule',
  describe: 'bring the mirror up to date on a schedule (cron expressions in UTC), until stopped',
  options: { ...SYNC_OPTIONS, ...pick('cron', 'delay') },
  async run(args, io) {
    const settings = syncSettings(args, io.env);
    const rules = scheduleRules(args, settings);
    const stop = stopOnSignals();
    try {
      await runSchedule(schedulePorts(settings, stop.signal, args['log-level'] as string, io), rules);
      return exitCodeOfSignal(stop.received() ?? 'SIGTERM');
    } finally {
      stop.dispose();
    }
  },
};

/** @throws SyncError `usage` */
function scheduleRules(args: Arguments, { environments }: SyncSettings): Rules {
  const cron = (args['cron'] as string | undefined) ?? null;
  if (cron !== null && nextTick(cron, clock()) === null) {
    throw new SyncError('usage', `--cron ${cron} is no cron expression that comes due: write one such as "0 6 * * *"`);
  }
  return { cron, delaySeconds: inRange('delay', args['delay'], { min: 0, max: 86_400 * 7 }), environments };
}

function schedulePorts(settings: SyncSettings, signal: AbortSignal, level: string, io: Io): SchedulePorts {
  const log = io.log(level);
  // A schedule logs lines, on a terminal as well.
  const { onProgress, onSourceEvent } = watchRun({ ...io, errIsTerminal: false }, level);
  return {
    clock,
    sleep: (ms) => sleepFor(ms, undefined, { signal }).catch(() => {}),
    next: nextTick,
    mirrored: () => readMirrored(settings.db, settings.baseUrl),
    list: () => listEnvironments(settings, { signal, onSourceEvent }),
    async run(environment) {
      let listed = false;
      const watch: Watch = {
        signal,
        onSourceEvent,
        onProgress(progress) {
          listed ||= progress.type === 'environments';
          onProgress(progress);
        },
      };
      const summary = await runOnce({ ...settings, environments: [environment.id] }, watch);
      return { summary, listed: listed ? readEnvironments(settings.db) : null };
    },
    log: { info: (line) => log.info(line), warn: (line) => log.warn(line) },
    signal,
  };
}

async function listEnvironments(
  settings: SyncSettings,
  watch: Pick<Watch, 'signal' | 'onSourceEvent'>,
): Promise<readonly Environment[]> {
  const source = openSource(settings, watch);
  try {
    return reconcile(await source.environments(), [], clock()).listed;
  } finally {
    await source.close();
  }
}
