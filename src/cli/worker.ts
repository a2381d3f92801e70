import type { Logger } from 'pino';
import { runWorker, type WorkEvent, type WorkOptions } from '../api/run-worker.ts';
import { type CommandAction, logSettings } from './command.ts';
import { libraryOptions } from './library-options.ts';
import { alertsText } from './progress-state.ts';
import { runUntilStopped } from './run-until-stopped.ts';

export const workerCommand: CommandAction = (args, io) => {
  const ending = { log: io.log(logSettings(args)), cutOff: 'syncs: other workers take over their jobs' };
  return runUntilStopped(args, io, ending, async ({ signal, log }) => {
    io.limitHeap();
    await runWorker({ ...libraryOptions<WorkOptions>(args), signal, onProgress: (event) => logEvent(log, event) });
  });
};

function logEvent(log: Logger, event: WorkEvent): void {
  if (event.type === 'started') {
    const metrics = event.metrics === null ? '' : `; metrics at ${event.metrics}`;
    log.info(`worker ${event.worker} is looking for jobs${metrics}`);
  }
  if (event.type === 'trouble') log.warn(event.message);
  if (event.type === 'begun') log.debug(`${nameOf(event)}: started`);
  if (event.type === 'job') {
    const line = `${nameOf(event)}: ${event.result} in ${event.seconds.toFixed(1)} s`;
    if (event.error === null) log.info(line);
    else log.warn(`${line}; ${event.error}`);
  }
  if (event.type === 'alerts') log[event.failed > 0 ? 'warn' : 'info'](`${nameOf(event)}: ${alertsText(event)}`);
  if (event.type === 'source' && event.event.type === 'wait')
    log.info(`${nameOf(event)}: waiting ${Math.ceil(event.event.delayMs / 1000)} s (${event.event.reason})`);
}

function nameOf({ account, environment }: { account: string; environment: string | null }): string {
  return environment === null ? `${account}, list of environments` : `${account}, ${environment}`;
}
