import { addressOf } from '../settings/addresses/mirror-address.ts';
import { checkOptions } from '../settings/check-options.ts';
import type { SyncOptions } from '../settings/options.ts';
import { syncSettings } from '../settings/sync-settings.ts';
import type { RunSummary } from '../sync/summary.ts';
import { refuseNetworkFs } from './open-store.ts';
import { textfileWriter } from './textfile.ts';
import { type JobRunner, withRunThread } from './thread/in-thread.ts';

/**
 * Brings the mirror up to date in one run. The caller never waits for SQLite, which runs in a separate thread.
 * @returns how the run ended, even if it failed: see `status`, `error` and `recovery`
 * @throws SyncError `usage` if an option is invalid
 */
export async function sync(options: SyncOptions): Promise<RunSummary> {
  checkOptions(options);
  const settings = syncSettings(options);
  refuseNetworkFs(settings);
  const writeTextfile = textfileWriter(options);
  const syncWith = async (jobs: JobRunner): Promise<RunSummary> => {
    const summary = await jobs.run('sync', settings, options);
    const failure = await writeTextfile(settings.db, jobs);
    if (failure === null) return summary;
    return { ...summary, error: summary.error ?? failure, recovery: summary.recovery ?? 'run' };
  };
  if (addressOf(settings.db).kind === 'file') return withRunThread(syncWith);
  return syncWith((await import('./thread/calling-thread.ts')).CALLING_THREAD);
}
