import { checkOptions } from '../settings/check-options.ts';
import type { SyncOptions } from '../settings/options.ts';
import { syncSettings, watcherOf } from '../settings/sync-settings.ts';
import { type ForecastReport, reportForecast } from './plan-report.ts';

/** Forecasts the requests and waits of the next sync. Requests only the list of environments. @throws SyncError */
export async function plan(options: SyncOptions): Promise<ForecastReport> {
  checkOptions(options);
  return reportForecast(syncSettings(options), watcherOf(options));
}
