import { checkOptions } from './check-options.ts';
import type { SyncOptions } from './options.ts';
import { type ForecastReport, reportForecast } from './plan-report.ts';
import { syncSettings, watchOf } from './sync-settings.ts';

/** Forecasts the requests of the next sync and its waits. Requests only the list of environments. @throws SyncError */
export async function plan(options: SyncOptions): Promise<ForecastReport> {
  checkOptions(options);
  return reportForecast(syncSettings(options), watchOf(options));
}
