import type { Measurements } from '../metrics/measurements.ts';
import { addressOf } from '../settings/addresses/mirror-address.ts';
import { checkOptions } from '../settings/check-options.ts';
import type { ProgressOptions, SyncEvent, SyncOptions } from '../settings/options.ts';
import { syncSettings, watchOf } from '../settings/sync-settings.ts';
import type { RunSummary } from '../sync/summary.ts';
import { refuseNetworkFs } from './open-store.ts';
import { textfileWriter } from './textfile.ts';
import { withRunThread } from './thread/in-thread.ts';

/**
 * Brings the mirror up to date in one run. Runs in a separate thread, so the caller never waits for SQLite.
 * @returns how the run ended, even if it failed: see `status`, `error` and `recovery`
 * @throws SyncError `usage` if an option is invalid
 */
export async function sync(options: SyncOptions): Promise<RunSummary> {
  return syncInThread(prepareSync(options), options);
}

/**
 * Like `sync`, for a program that does nothing else meanwhile. A run into PostgreSQL, which doesn't block, then stays
 * in the calling thread: starting another one takes a tenth of the CPU of an idle run. But whatever blocks this
 * thread, such as a log that nobody reads, keeps the run from renewing its leases (R26).
 */
export async function syncAlone(options: SyncOptions): Promise<RunSummary> {
  const prepared = prepareSync(options);
  const { settings, finish } = prepared;
  if (addressOf(settings.db).kind === 'file') return syncInThread(prepared, options);
  const { runOnce } = await import('./session.ts');
  return finish(await runOnce(settings, watchOf(options)), async () =>
    (await import('./thread/other-jobs.ts')).OTHER_JOBS.measure(settings.db),
  );
}

function syncInThread(
  { settings, finish }: ReturnType<typeof prepareSync>,
  watch: ProgressOptions<SyncEvent>,
): Promise<RunSummary> {
  return withRunThread(async (thread) =>
    finish(await thread.run('sync', settings, watch), () => thread.run('measure', settings.db)),
  );
}

function prepareSync(options: SyncOptions) {
  checkOptions(options);
  const settings = syncSettings(options);
  refuseNetworkFs(settings);
  const writeTextfile = textfileWriter(options);
  const finish = async (summary: RunSummary, measure: () => Promise<Measurements>): Promise<RunSummary> => {
    const failure = await writeTextfile(settings.db, measure);
    if (failure === null) return summary;
    return { ...summary, error: summary.error ?? failure, recovery: summary.recovery ?? 'run' };
  };
  return { settings, finish };
}
