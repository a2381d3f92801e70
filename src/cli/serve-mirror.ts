import { once } from 'node:events';
import { promisify } from 'node:util';
import { serve } from '../api/serve.ts';
import { type CommandArguments, type CommandIo, logSettings } from './command.ts';
import { libraryOptions } from './library-options.ts';
import { reloadOnHangUp } from './reload-on-hang-up.ts';
import { exitCodeOfSignal, stopOnSignals } from './signals.ts';

/** Serves the mirror until a signal arrives; returns the exit code. @throws SyncError `usage` */
export async function serveMirror(args: CommandArguments, io: CommandIo): Promise<number> {
  const log = await io.serverLog(logSettings(args));
  const stop = stopOnSignals('a long read');
  const hangUps = reloadOnHangUp(args);
  try {
    const server = await serve({ ...libraryOptions(args), token: io.env['OBSYNC_SERVE_TOKEN'], logger: log });
    hangUps.started(server);
    io.stdout.write(`${server.url}\n`);
    if (!stop.signal.aborted) await once(stop.signal, 'abort');
    log.info('stopping: responses in progress are finished first');
    await server.close();
    return exitCodeOfSignal(stop.received() ?? 'SIGTERM');
  } finally {
    hangUps.dispose();
    stop.dispose();
    await promisify(log.flush.bind(log))();
  }
}
