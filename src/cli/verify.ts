import { verify as compare } from '../api/verify.ts';
import { exitCodeOf, SyncError } from '../core/errors.ts';
import type { VerifyReport } from '../verify/verify-report.ts';
import type { CommandAction, CommandArguments, CommandIo } from './command.ts';
import { exitCodeOfSignal } from './exit-code.ts';
import { serviceOptions } from './library-options.ts';
import { printFailure } from './print-failure.ts';
import { printReport } from './print-report.ts';
import { stopOnSignals } from './signals.ts';
import { renderVerify, watchVerify } from './verify-view.ts';

export const verify: CommandAction = async (args, io) => {
  const stop = stopOnSignals();
  const view = await watchVerify(io, args);
  io.limitHeap();
  try {
    const options = { ...serviceOptions(args, io), signal: stop.signal, onProgress: view.onProgress };
    const report = await compare(options);
    view.end();
    await show(report, args, io);
    return exitCodeOfReport(report, stop.received());
  } catch (error) {
    const signal = stop.received();
    // The signal arrived before there was anything to report.
    if (signal === null || !(error instanceof SyncError) || error.recovery !== 'signal') throw error;
    await printFailure(error.message, args, io);
    return exitCodeOfSignal(signal);
  } finally {
    view.end();
    stop.dispose();
  }
};

async function show(report: VerifyReport, args: CommandArguments, io: CommandIo): Promise<void> {
  const verbose = args['verbose'] === true;
  const render = (shown: VerifyReport, width: number | null) => renderVerify(shown, width, verbose);
  if (args['json'] === true || report.environments.length > 0)
    printReport(report, args, io, render, report.equal === true && report.repair === null);
  if (report.error !== null) await printFailure(report.error, args, io);
}

function exitCodeOfReport({ equal, recovery }: VerifyReport, signal: NodeJS.Signals | null): number {
  if (recovery === 'signal' && signal !== null) return exitCodeOfSignal(signal);
  if (recovery !== null) return exitCodeOf(recovery);
  return equal === true ? 0 : 1;
}
