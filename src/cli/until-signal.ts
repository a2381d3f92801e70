import { SyncError } from '../core/errors.ts';
import type { CommandArguments, CommandIo } from './command.ts';
import { printFailure } from './print-failure.ts';
import { exitCodeOfSignal, type StopRequest, stopOnSignals } from './signals.ts';

/** Runs an action that a signal can stop (R27), and returns the exit code; see `stopOnSignals` for `cutOff`. */
export async function untilSignal(
  args: CommandArguments,
  io: CommandIo,
  cutOff: string,
  action: (stop: StopRequest) => Promise<number>,
): Promise<number> {
  const stop = stopOnSignals(cutOff);
  try {
    return await action(stop);
  } catch (error) {
    const signal = stop.received();
    if (!(error instanceof SyncError) || error.recovery !== 'signal' || signal === null) throw error;
    await printFailure(error.message, args, io);
    return exitCodeOfSignal(signal);
  } finally {
    stop.dispose();
  }
}
