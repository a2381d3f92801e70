import { constants } from 'node:os';
import { exitCodeOfRun, SyncError } from '../core/errors.ts';
import type { CommandAction, CommandArguments, CommandIo } from './command.ts';
import { printFailure } from './print.ts';

/** A request to stop, made by SIGINT or SIGTERM (R27). */
export interface StopRequest {
  readonly signal: AbortSignal;
  /** The first signal so far. */
  received(): NodeJS.Signals | null;
  /** Stops listening to signals. */
  dispose(): void;
}

/**
 * The first signal stops the program cleanly; a second one, at least a moment later, ends the process immediately. So
 * does a clean stop that takes too long: SQLite cannot be interrupted, and rolls back uncommitted changes when the file
 * is next opened (R5). The message then names what was `cutOff`.
 */
export function stopOnSignals(cutOff = LONG_WRITE): StopRequest {
  const controller = new AbortController();
  let received: NodeJS.Signals | null = null;
  let deadline: NodeJS.Timeout | undefined;
  const onSignal = (signal: NodeJS.Signals): void => {
    received ??= signal;
    // Not immediately, for two reasons: the listener that restores the cursor is called next, and would end the process
    // if it were the only one; and npm forwards a Ctrl-C that the terminal has already sent.
    setTimeout(ignore, PATIENCE_MS).unref();
    deadline ??= setTimeout(exitBySignal, DEADLINE_MS, signal, cutOff).unref();
    controller.abort();
  };
  const ignore = (): void => {
    for (const name of SIGNALS) process.off(name, onSignal);
  };
  const dispose = (): void => {
    ignore();
    clearTimeout(deadline);
  };
  for (const name of SIGNALS) process.on(name, onSignal);
  return { signal: controller.signal, received: () => received, dispose };
}

/** A command that a signal can stop (R27); see `stopOnSignals` for `cutOff`. */
export function untilSignal(
  cutOff: string,
  action: (args: CommandArguments, io: CommandIo, stop: StopRequest) => Promise<number>,
): CommandAction {
  return async (args, io) => {
    const stop = stopOnSignals(cutOff);
    try {
      return await action(args, io, stop);
    } catch (error) {
      const signal = stop.received();
      if (!(error instanceof SyncError) || error.recovery !== 'signal' || signal === null) throw error;
      await printFailure(error.message, args, io);
      return exitCodeOfSignal(signal);
    } finally {
      stop.dispose();
    }
  };
}

/** As a shell reports it. */
export function exitCodeOfSignal(signal: NodeJS.Signals): number {
  return 128 + constants.signals[signal];
}

/** The exit code of a run that a signal may have ended. */
export function exitCodeAfter(run: Parameters<typeof exitCodeOfRun>[0], signal: NodeJS.Signals | null): number {
  return run.recovery === 'signal' && signal !== null ? exitCodeOfSignal(signal) : exitCodeOfRun(run);
}

export const LONG_WRITE = 'a long write: the next run repeats it';

const PATIENCE_MS = 1000;

/** After the three seconds that a request in flight may take, and before the five seconds for the whole stop. */
const DEADLINE_MS = 4000;

/** Ends the process by the signal itself: `process.exit` would wait for the thread that runs SQLite. */
function exitBySignal(signal: NodeJS.Signals, cutOff: string): void {
  const cursor = process.stderr.isTTY ? SHOW_CURSOR : '';
  process.stderr.write(`${cursor}obsync: stopped in the middle of ${cutOff}\n`);
  process.removeAllListeners(signal);
  if (process.pid !== FIRST_PID) return void process.kill(process.pid, signal);
  // Another program in its place ends all threads, whatever they are doing.
  const exit = `process.exitCode = ${exitCodeOfSignal(signal)}`;
  process.execve?.(process.execPath, [process.execPath, '--eval', exit], process.env);
}

/** Process 1 of a container is not ended by a signal that it has no listener for. */
const FIRST_PID = 1;

const SHOW_CURSOR = '\u001B[?25h';

const SIGNALS = ['SIGINT', 'SIGTERM'] as const;
