import Database from 'better-sqlite3';
import { lockPath, type MirrorLock, takeLock } from '../../state/lock.ts';
import { SyncError } from '../core/errors.ts';
import { type FileOperations, fullDisk, isDiskFull } from '../export/export-files.ts';

/** Takes the lock of an export folder, next to its manifest. @throws SyncError `locked`; `run` if full; `usage` */
export function lockFolder(to: string, manifest: string, files: FileOperations): MirrorLock {
  try {
    return takeLock(manifest, { isReplaced: true });
  } catch (error) {
    throw error instanceof SyncError ? lockError(to, manifest, error, files) : error;
  }
}

export function lockError(to: string, manifest: string, cause: SyncError, files: FileOperations): SyncError {
  if (cause.recovery === 'locked')
    return new SyncError('locked', `another export is writing to ${to}: wait for it to end, or stop it`, { cause });
  if (isFullAt(manifest, cause.cause, files)) return new SyncError('run', fullDisk(to), { cause });
  const message = `${to} cannot be written: check its permissions, or name another folder with --to`;
  return new SyncError(cause.recovery, message, { cause });
}

/** SQLite does not say why it cannot open a file, so this tries to create one in the folder. */
function isFullAt(manifest: string, cause: unknown, files: FileOperations): boolean {
  if (!(cause instanceof Database.SqliteError)) return false;
  if (cause.code === 'SQLITE_FULL') return true;
  const beside = `${lockPath(manifest)}.tmp`;
  try {
    files.close(files.create(beside));
    files.remove(beside);
    return false;
  } catch (error) {
    return isDiskFull(error);
  }
}
