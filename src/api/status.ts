import { perform, performAtOnce, sqliteScope } from '../destination/sqlite/driver.ts';
import { attempt } from '../destination/sqlite/file-error.ts';
import type { MirrorFile } from '../destination/sqlite/open.ts';
import { isLocked } from '../destination/sqlite/store.ts';
import { givenAddress } from '../settings/addresses/mirror-address.ts';
import { checkOptions } from '../settings/check-options.ts';
import type { MirrorOptions } from '../settings/options.ts';
import { clock } from '../settings/sync-settings.ts';
import { openStore } from './open-store.ts';
import { readLastRun, readStatus, type StatusReport, withVerdict } from './status-report.ts';

/** Reports what is mirrored, how fresh it is, and the last problems. Reads only the mirror. @throws SyncError */
export async function status(options: MirrorOptions = {}): Promise<StatusReport> {
  checkOptions(options);
  const store = await openStore(givenAddress(options));
  const report = await store.read((scopeOf) => readStatus({ name: store.display, scopeOf }, clock()));
  if (report.last_run?.status !== 'running' || (await store.isWritten())) return report;
  return withVerdict(report, await store.read(readLastRun));
}

/** The status of an open mirror. @throws SyncError */
export function statusOf(mirror: MirrorFile): StatusReport {
  return attempt(mirror.path, () => {
    const subject = { name: mirror.path, scopeOf: (envId: string) => sqliteScope(mirror, envId) };
    const report = performAtOnce(mirror, readStatus(subject, clock()));
    if (report.last_run?.status !== 'running' || isLocked(mirror.path)) return report;
    return withVerdict(report, perform(mirror.prepare, readLastRun()));
  });
}
