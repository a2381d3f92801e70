import { once } from 'node:events';
import { serve } from '../api/serve.ts';
import { type CommandAction, logSettings } from './command.ts';
import { libraryOptions } from './library-options.ts';
import { runUntilStopped } from './run-until-stopped.ts';

export const serveCommand: CommandAction = (args, io) => {
  const opening = io.serverLog(logSettings(args));
  return runUntilStopped(args, io, { log: opening, cutOff: 'a long read' }, async ({ signal, log, started }) => {
    const server = await serve({ ...libraryOptions(args), token: io.env['OBSYNC_SERVE_TOKEN'], logger: log });
    started(server);
    if (!signal.aborted) await once(signal, 'abort');
    log.info('stopping: responses in progress are finished first');
    await server.close();
  });
};
