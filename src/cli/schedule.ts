import { promisify } from 'node:util';
import type { Logger } from 'pino';
import { schedule as keepInSync, type ScheduleEvent } from '../api/schedule.ts';
import { type CommandAction, logSettings } from './command.ts';
import { serviceOptions } from './library-options.ts';
import { logRun } from './progress-view.ts';
import { reloadOnHangUp } from './reload-on-hang-up.ts';
import { exitCodeOfSignal, stopOnSignals } from './signals.ts';

export const schedule: CommandAction = async (args, io) => {
  const stop = stopOnSignals();
  // A server runs on even if nothing reads its log.
  const log = await (args['serve'] === true ? io.serverLog : io.log)(logSettings(args));
  const hangUps = reloadOnHangUp(args);
  const onEvent = logEvents(log);
  io.limitHeap();
  try {
    await keepInSync({
      ...serviceOptions(args, io),
      signal: stop.signal,
      logger: log,
      onProgress(event) {
        if (event.type !== 'serving') return onEvent(event);
        hangUps.started(event.server);
        io.stdout.write(`${event.server.url}\n`);
      },
    });
    return exitCodeOfSignal(stop.received() ?? 'SIGTERM');
  } finally {
    hangUps.dispose();
    stop.dispose();
    await promisify(log.flush.bind(log))();
  }
};

/** A schedule writes log lines even on a terminal: one per run, and more at `debug`. */
function logEvents(log: Logger): (event: Exclude<ScheduleEvent, { type: 'serving' }>) => void {
  const view = logRun(log, 'debug');
  return (event) => {
    if (event.type === 'log') log[event.level](event.message);
    else if (event.type !== 'run') view.onProgress(event);
  };
}
