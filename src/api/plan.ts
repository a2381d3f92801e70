import { loadQuota } from '../../state/quota-store.ts';
import { belongsTo } from '../../state/run-log.ts';
import { closeAfter } from '../core/close-after.ts';
import { type AccountQuota, mergeQuota, secondsOfWaiting } from '../core/quota/quota.ts';
import { withMirrorFile } from '../destination/mirror-file.ts';
import { perform } from '../destination/sqlite/driver.ts';
import { createDryRunMirror, openForDryRun } from '../destination/sqlite/dry-run.ts';
import { checkOptions } from '../settings/check-options.ts';
import type { OptionsNamed, SyncOptions } from '../settings/options.ts';
import { clock, type SyncSettings, selectStreams, syncSettings, watchOf } from '../settings/sync-settings.ts';
import { CATALOGUE } from '../streams/catalogue.ts';
import { type DayForecast, forecast, type RunForecast } from '../sync/forecast.ts';
import { deferErrors } from './defer-errors.ts';
import { openStore } from './open-store.ts';
import { type EnvironmentListing, requestEnvironments } from './session.ts';

/** The report of a forecast; `plan --json` prints it. */
export interface ForecastReport extends RunForecast {
  /** The day after the next sync; null while lists were never read to their end. */
  readonly day: DayForecast | null;
  /** False until the first sync has started. */
  readonly mirror_exists: boolean;
  readonly page_size: number;
  readonly max_requests: number | null;
  /** The longest wait after which the run still continues. */
  readonly max_wait_seconds: number;
  /** How long the run waits for quota; null when no response has reported a quota. */
  readonly seconds: number | null;
  /** Further requests that the mirror cannot predict, described in words. */
  readonly not_counted: readonly string[];
  readonly quota: {
    readonly limit: number | null;
    readonly remaining: number;
    readonly reset_seconds: number;
    readonly window_seconds: number;
  } | null;
}

export type PlanOptions = SyncOptions & OptionsNamed<'replica'>;

/** Forecasts the requests and waits of the next sync. Requests only the list of environments. @throws SyncError */
export async function plan(options: PlanOptions): Promise<ForecastReport> {
  checkOptions(options);
  const settings = syncSettings(options);
  const watch = watchOf(options);
  const { signal } = watch;
  const { onProgress, rethrow } = deferErrors(watch.onProgress);
  const store = await openStore(settings.db);
  try {
    // A missing folder, or the mirror of another service (R26), is refused before any request.
    await store.checkPlace();
    if (await store.exists()) await store.read(() => belongsTo(settings.baseUrl, store.display));
    const listing = await requestEnvironments({ ...settings, maxRequests: null }, { signal, onProgress });
    const exists = await store.exists();
    const rehearse = (path: string) => rehearsed(path, { settings, listing, exists }, signal);
    return exists
      ? await withMirrorFile(store, rehearse, { replica: options.replica, signal })
      : await rehearse(NO_FILE);
  } catch (error) {
    throw store.explain(error);
  } finally {
    rethrow();
  }
}

/** A path without a file: without a mirror, the rehearsal starts from an empty one. */
const NO_FILE = '';

async function rehearsed(
  path: string,
  { settings, listing, exists }: { settings: SyncSettings; listing: EnvironmentListing; exists: boolean },
  signal: AbortSignal,
): Promise<ForecastReport> {
  const mirror = openForDryRun(path);
  return closeAfter(mirror.connection, async () => {
    const quota = quotaOf(perform(mirror.prepare, loadQuota()), listing.quota);
    const options = { ...settings, catalogue: CATALOGUE, streams: selectStreams(settings) };
    const outlook = await forecast(createDryRunMirror(mirror, clock), listing.opening, options, { clock, signal });
    return {
      server_time: outlook.server_time,
      mirror_exists: exists,
      page_size: settings.pageSize,
      max_requests: settings.maxRequests,
      max_wait_seconds: settings.maxWaitMs / 1000,
      requests: outlook.requests,
      at_least: outlook.at_least,
      runs: outlook.runs,
      day: await outlook.rehearseDay(),
      not_counted: exists ? [CHANGES] : [],
      seconds: secondsOfWaiting(outlook.requests, quota),
      quota: quota && {
        limit: quota.limit,
        remaining: quota.remaining,
        reset_seconds: quota.resetSeconds,
        window_seconds: quota.windowSeconds,
      },
      missing: outlook.missing,
      streams: outlook.streams,
    };
  });
}

const CHANGES = 'those for the changes at the source since the last sync';

/** The latest known quota: of the last response, completed by what earlier runs recorded; else that of earlier runs. */
function quotaOf(
  known: Pick<AccountQuota, 'limit' | 'windowSeconds'> | null,
  reported: AccountQuota | null,
): AccountQuota | null {
  if (reported !== null) return mergeQuota(known, reported);
  if (known === null || known.limit === null) return null;
  return { ...known, remaining: known.limit, resetSeconds: known.windowSeconds };
}
