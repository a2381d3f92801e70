import { SyncError } from '../core/errors.ts';
import type { CommandArguments, CommandIo } from './command.ts';
import { exitCodeOfSignal } from './exit-code.ts';
import { printFailure } from './print-failure.ts';
import { stopOnSignals } from './signals.ts';

/** Runs a long read that a signal can stop (R27), and returns the exit code; see `stopOnSignals` for `cutOff`. */
export async function untilSignal(
  args: CommandArguments,
  io: CommandIo,
  cutOff: string,
  action: (signal: AbortSignal) => Promise<number>,
): Promise<number> {
  const stop = stopOnSignals(cutOff);
  try {
    return await action(stop.signal);
  } catch (error) {
    const signal = stop.received();
    if (!(error instanceof SyncError) || error.recovery !== 'signal' || signal === null) throw error;
    await printFailure(error.message, args, io);
    return exitCodeOfSignal(signal);
  } finally {
    stop.dispose();
  }
}
