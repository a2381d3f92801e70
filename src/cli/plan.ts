import { SyncError } from '../core/errors.ts';
import type { RunCommand } from './command.ts';
import { exitCodeOfSignal } from './exit-code.ts';
import { reportForecast } from './plan-report.ts';
import { renderForecast } from './plan-view.ts';
import { watchRun } from './progress-view.ts';
import { stopOnSignals } from './signals.ts';
import { syncSettings } from './sync-settings.ts';
import { tellReport } from './tell-report.ts';

export const plan: RunCommand = async (args, io) => {
  const settings = syncSettings(args, io.env);
  const stop = stopOnSignals();
  const view = await watchRun(io, args['log-level'] as string);
  try {
    const report = await reportForecast(settings, { signal: stop.signal, onSourceEvent: view.onSourceEvent });
    view.end();
    tellReport(report, args, io, renderForecast);
    return 0;
  } catch (error) {
    const signal = stop.received();
    if (signal !== null && error instanceof SyncError && error.recovery === 'signal') return exitCodeOfSignal(signal);
    throw error;
  } finally {
    view.end();
    stop.dispose();
  }
};
