import { schedule as keepInSync } from '../api/schedule.ts';
import { type CommandAction, logSettings } from './command.ts';
import { exitCodeOfSignal } from './exit-code.ts';
import { serviceOptions } from './library-options.ts';
import { logRun } from './progress-view.ts';
import { stopOnSignals } from './signals.ts';

export const schedule: CommandAction = async (args, io) => {
  const stop = stopOnSignals();
  const log = await io.log(logSettings(args));
  // A schedule writes log lines even on a terminal: one per run, and more at `debug`.
  const view = logRun(log, 'debug');
  io.limitHeap();
  try {
    await keepInSync({
      ...serviceOptions(args, io),
      signal: stop.signal,
      onProgress(event) {
        if (event.type === 'log') log[event.level](event.message);
        else if (event.type !== 'run') view.onProgress(event);
      },
    });
    return exitCodeOfSignal(stop.received() ?? 'SIGTERM');
  } finally {
    stop.dispose();
  }
};
