import type { SyncOptions } from './options.ts';
import { type ForecastReport, reportForecast } from './plan-report.ts';
import { syncSettings, watchOf } from './sync-settings.ts';

/** How many requests the next sync takes, how long and why. Asks the service for the list of environments alone. @throws SyncError */
export async function plan(options: SyncOptions): Promise<ForecastReport> {
  return reportForecast(syncSettings(options), watchOf(options));
}
