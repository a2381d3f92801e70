import { existsSync } from 'node:fs';
import { lockPath, takeLock } from '../../state/lock.ts';
import { perform, scopeOf } from '../destination/sqlite/driver.ts';
import { fileError } from '../destination/sqlite/file-error.ts';
import { readState } from '../destination/sqlite/file-state.ts';
import { type MirrorFile, openForReading } from '../destination/sqlite/open.ts';
import { checkOptions } from './check-options.ts';
import { givenFile } from './mirror-address.ts';
import type { MirrorOptions } from './options.ts';
import { readLastRun, readStatus, type StatusReport, withVerdict } from './status-report.ts';
import { clock } from './sync-settings.ts';

/** What is mirrored, how fresh it is, and the last problems. Reads only the file. @throws SyncError */
export async function status(options: MirrorOptions = {}): Promise<StatusReport> {
  checkOptions(options);
  const mirror = openForReading(givenFile(options, 'status'));
  try {
    return statusOf(mirror);
  } finally {
    mirror.connection.close();
  }
}

/** The status of an open mirror. @throws SyncError */
export function statusOf(mirror: MirrorFile): StatusReport {
  try {
    const subject = { name: mirror.path, scopeOf: (envId: string) => scopeOf(mirror, envId) };
    const report = mirror.connection.transaction(() => perform(mirror.prepare, readStatus(subject, clock())))();
    if (report.last_run?.status !== 'running' || isHeld(mirror.path)) return report;
    return withVerdict(report, readState(mirror, readLastRun()));
  } catch (error) {
    throw fileError(mirror.path, error);
  }
}

/** Tries the lock only if its file exists: a report makes no files. */
function isHeld(path: string): boolean {
  if (!existsSync(lockPath(path))) return false;
  try {
    takeLock(path).release();
    return false;
  } catch {
    // The lock is held, or this user may not take it: the run may be alive.
    return true;
  }
}
