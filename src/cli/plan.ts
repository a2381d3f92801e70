import { plan as forecast } from '../api/plan.ts';
import { SyncError } from '../core/errors.ts';
import type { CommandAction } from './command.ts';
import { serviceOptions } from './library-options.ts';
import { renderForecast } from './plan-view.ts';
import { printReport } from './print-report.ts';
import { watchRun, withView } from './progress-view.ts';
import { exitCodeOfSignal, stopOnSignals } from './signals.ts';

export const plan: CommandAction = async (args, io) => {
  const stop = stopOnSignals();
  try {
    const options = { ...serviceOptions(args, io), signal: stop.signal };
    const report = await withView(await watchRun(io, args), (onProgress) => forecast({ ...options, onProgress }));
    printReport(report, args, io, renderForecast);
    return 0;
  } catch (error) {
    const signal = stop.received();
    if (signal !== null && error instanceof SyncError && error.recovery === 'signal') return exitCodeOfSignal(signal);
    throw error;
  } finally {
    stop.dispose();
  }
};
