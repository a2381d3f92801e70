import { checkOptions } from '../settings/check-options.ts';
import type { SyncOptions } from '../settings/options.ts';
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
  checkOptions(options);
  const settings = syncSettings(options);
  refuseNetworkFs(settings);
  const writeTextfile = textfileWriter(options);
  return withRunThread(async (thread) => {
    const summary = await thread.run('sync', settings, watchOf(options));
    const failure = await writeTextfile(settings.db, thread);
    if (failure === null) return summary;
    return { ...summary, error: summary.error ?? failure, recovery: summary.recovery ?? 'run' };
  });
}
