import { type MirrorLock, takeLock } from '../../state/lock.ts';
import { saveVerification } from '../../state/verification-store.ts';
import { closeWritten } from '../destination/sqlite/close.ts';
import { writeState } from '../destination/sqlite/file-state.ts';
import { checkMirror, openForWriting } from '../destination/sqlite/open.ts';
import type { VerifyReport } from '../verify/verify-report.ts';
import { clock, type SyncSettings } from './sync-settings.ts';

/** Records the result of a verification of the whole mirror for those who read the mirror, if it can be written now. */
export function recordVerification(settings: SyncSettings, report: VerifyReport): void {
  const isWhole = settings.environments.length === 0 && settings.streamNames.length === 0;
  if (!isWhole || report.error !== null || report.equal === null) return;
  const verification = {
    ended_at: clock(),
    depth: report.depth,
    equal: Number(report.equal),
    difference_count: report.findings.filter(({ repaired }) => !repaired).length,
  };
  const lock = lockOf(settings.db);
  if (lock === null) return;
  try {
    const mirror = openForWriting(settings.db);
    try {
      writeState(mirror, saveVerification(verification));
    } finally {
      closeWritten(mirror);
    }
  } catch {
    // The result stands, whether or not it is recorded: the disk may be full, for example.
  } finally {
    lock.release();
  }
}

/** Null where nobody may write, or a sync does (R26). */
function lockOf(path: string): MirrorLock | null {
  try {
    checkMirror(path);
    return takeLock(path);
  } catch {
    // Nothing waits for a record, and nothing fails without it.
    return null;
  }
}
