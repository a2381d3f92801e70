import { schedule } from '../api/schedule.ts';
import { type CommandAction, logSettings } from './command.ts';
import { serviceOptions } from './library-options.ts';
import { logRun } from './progress-view.ts';
import { runUntilStopped } from './run-until-stopped.ts';

export const scheduleCommand: CommandAction = (args, io) => {
  // A server runs on even if nothing reads its log.
  const opening = (args['serve'] === true ? io.serverLog : io.log)(logSettings(args));
  return runUntilStopped(args, io, { log: opening }, async ({ signal, log, started }) => {
    // A schedule writes log lines even on a terminal: one per run, and more at `debug`.
    const view = logRun(log, 'debug');
    io.limitHeap();
    await schedule({
      ...serviceOptions(args, io),
      signal,
      logger: log,
      onProgress(event) {
        if (event.type === 'serving') started(event.server);
        else if (event.type === 'log') log[event.level](event.message);
        else if (event.type !== 'run') view.onProgress(event);
      },
    });
  });
};
