import { promisify } from 'node:util';
import type { Logger } from 'pino';
import type { RunningServer } from '../api/serve.ts';
import type { CommandArguments, CommandIo } from './command.ts';
import { exitCodeOfSignal, stopOnSignals } from './signals.ts';

interface StoppableRun {
  readonly signal: AbortSignal;
  readonly log: Logger;
  /** Prints the address of the server, and reloads its tokens after a SIGHUP that it has missed. */
  started(server: RunningServer): void;
}

/**
 * Runs servers or workers until a signal arrives, and returns the exit code; see `stopOnSignals` for `cutOff`. Each
 * SIGHUP reloads the file of tokens, if there is one.
 */
export async function runUntilStopped(
  args: CommandArguments,
  io: CommandIo,
  { log: opening, cutOff }: { readonly log: Promise<Logger>; readonly cutOff?: string },
  run: (stoppable: StoppableRun) => Promise<void>,
): Promise<number> {
  const stop = stopOnSignals(cutOff);
  const log = await opening;
  let server: RunningServer | null = null;
  let missed = false;
  const onHangUp = (): void => {
    if (server === null) missed = true;
    else server.reloadTokens();
  };
  if (args['tokens'] !== undefined) process.on('SIGHUP', onHangUp);
  const started = (running: RunningServer): void => {
    server = running;
    if (missed) running.reloadTokens();
    io.stdout.write(`${running.url}\n`);
  };
  try {
    await run({ signal: stop.signal, log, started });
    return exitCodeOfSignal(stop.received() ?? 'SIGTERM');
  } finally {
    process.off('SIGHUP', onHangUp);
    stop.dispose();
    await promisify(log.flush.bind(log))();
  }
}
