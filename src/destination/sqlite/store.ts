import { existsSync } from 'node:fs';
import { lockPath, takeLock } from '../../../state/lock.ts';
import { saveVerification } from '../../../state/verification-store.ts';
import { SyncError } from '../../core/errors.ts';
import type { Instant } from '../../core/time/instant.ts';
import type { MirrorChange, MirrorStore, ReadStatement, StatementRows, Verification } from '../mirror-store.ts';
import { refuseUnreleased } from '../sql/mirror-version.ts';
import { inPortions } from '../sql/portions.ts';
import { closeAfterSync, closeFile, closeWritten, orClose } from './close.ts';
import { openSqliteSource, openSqliteTarget } from './copy.ts';
import { performAtOnce, sqliteScope } from './driver.ts';
import { attempt, fileError, withFileErrors } from './file-error.ts';
import { sqliteMigrationTimes, sqliteVersion } from './migrations.ts';
import {
  mirrorExists,
  openEarlier,
  openForReading,
  openForWriting,
  refuseInvalidMirror,
  refuseNoFolder,
  underLock,
  writeTo,
} from './open.ts';
import { readStatement } from './read-statement.ts';

export function sqliteStore(path: string, clock: () => Instant): MirrorStore {
  return {
    display: path,
    file: path,
    limits: null,
    distribution: null,
    exists: async () => mirrorExists(path),
    version: async () => {
      const [found, times] = [versionOf(path), sqliteMigrationTimes()];
      refuseUnreleased(found, times, path);
      return { found, last: times.last };
    },
    checkPlace: async () => refuseNoFolder(path),
    // Loaded only here: most commands only read.
    open: async (stop, options) => (await import('./open-locked.ts')).openLocked(path, { ...options, stop, clock }),
    bringUpToDate: async () => bringUpToDate(path),
    read: withFileErrors(path)((statementsOf) =>
      closeAfterSync(openForReading(path), closeFile, (mirror) =>
        performAtOnce(
          mirror,
          statementsOf((envId) => sqliteScope(mirror, envId)),
        ),
      ),
    ) as MirrorStore['read'],
    query: async (statement) => queryFile(path, statement),
    isWritten: async () => isLocked(path),
    record: async (verification) => record(path, verification),
    openQuotaKeeper: () => null,
    openReplicaSource: null,
    openCopySource: async () => openSqliteSource(path),
    openCopyTarget: async () => openSqliteTarget(path),
    explain: (error) => fileError(path, error),
  };
}

function queryFile(path: string, { sql, ...options }: ReadStatement): StatementRows {
  return orClose(openForReading(path), closeFile, (mirror) => {
    const { columns, rows, close: stop } = readStatement(mirror, sql, options);
    const close = async (): Promise<void> => {
      stop();
      mirror.connection.close();
    };
    const portions = (async function* () {
      try {
        yield* inPortions(rows);
      } finally {
        await close();
      }
    })();
    return { columns, portions, close };
  });
}

/** A run that holds the lock has already migrated the mirror. */
function bringUpToDate(path: string): MirrorChange {
  // Avoids creating a lock file beside a file that is not a mirror.
  refuseInvalidMirror(path);
  try {
    return underLock(path, () => {
      const before = versionOf(path);
      closeWritten(openForWriting(path));
      if (before === sqliteMigrationTimes().last) return 'none';
      return before === 0 ? 'made' : 'updated';
    });
  } catch (error) {
    if (!(error instanceof SyncError) || error.recovery !== 'locked') throw error;
    return 'none';
  }
}

/** 0 without tables: a process that creates the mirror makes the file first. */
function versionOf(path: string): number {
  if (!mirrorExists(path)) return 0;
  return closeAfterSync(openEarlier(path), closeFile, ({ connection }) =>
    attempt(path, () => sqliteVersion(connection)),
  );
}

/** Whether a process is writing to the mirror. It tries the lock only if its file exists: a report creates no files. */
export function isLocked(path: string): boolean {
  if (!existsSync(lockPath(path))) return false;
  try {
    takeLock(path).release();
    return false;
  } catch {
    // The lock is held, or this user may not take it: the run may be alive.
    return true;
  }
}

/** Nothing waits for a record or fails without it: a sync may be writing (R26), or the disk be full. */
function record(path: string, verification: Verification): void {
  try {
    refuseInvalidMirror(path);
    underLock(path, () => writeTo(path, (mirror) => performAtOnce(mirror, saveVerification(verification))));
  } catch {
    // The result stands whether or not it is recorded.
  }
}
