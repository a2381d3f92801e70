import { existsSync } from 'node:fs';
import { lockPath, type MirrorLock, takeLock } from '../../state/lock.ts';
import { saveVerification } from '../../state/verification-store.ts';
import { SyncError } from '../core/errors.ts';
import type { MirrorChange } from '../core/mirror-change.ts';
import { tableNamed } from '../destination/sql/tables.ts';
import { closeWritten } from '../destination/sqlite/close.ts';
import { createDestination } from '../destination/sqlite/destination.ts';
import { perform, scopeOf } from '../destination/sqlite/driver.ts';
import { facingFile, fileError } from '../destination/sqlite/file-error.ts';
import { fileState, writeState } from '../destination/sqlite/file-state.ts';
import {
  buildSecondaryIndexes,
  dropSecondaryIndexes,
  newestVersion,
  version,
} from '../destination/sqlite/migrations.ts';
import {
  checkMirror,
  type MirrorFile,
  mirrorExists,
  openEarlier,
  openForReading,
  openForWriting,
  refuseNoFolder,
} from '../destination/sqlite/open.ts';
import { OptionError } from '../settings/option-error.ts';
import { clock } from '../settings/sync-settings.ts';
import { CATALOGUE } from '../streams/catalogue.ts';
import type { OpenMirror } from '../sync/ports.ts';
import type { MirrorStore, Verification } from './mirror-store.ts';

/** A mirror in a file. */
export function fileStore(path: string): MirrorStore {
  return {
    display: path,
    limits: null,
    exists: async () => mirrorExists(path),
    checkPlace: async () => refuseNoFolder(path),
    open: async (stop, quietMs = 0) => openLocked(path, stop, quietMs),
    bringUpToDate: async () => bringUpToDate(path),
    checkCitus: async () => refuseFile(path),
    distribute: async () => refuseFile(path),
    read: facingFile(path)((statementsOf) => {
      const mirror = openForReading(path);
      try {
        return mirror.connection.transaction(() =>
          perform(
            mirror.prepare,
            statementsOf((envId) => scopeOf(mirror, envId)),
          ),
        )();
      } finally {
        mirror.connection.close();
      }
    }) as MirrorStore['read'],
    isWritten: async () => isHeld(path),
    record: async (verification) => record(path, verification),
    openQuotaDatabase: () => null,
    withFile: (use) => use(path),
    explain: (error) => fileError(path, error),
  };
}

/** Opens the mirror under its lock. @throws SyncError */
export function openLocked(path: string, stop: AbortSignal, quietMs: number): OpenMirror {
  checkMirror(path);
  const lock = takeLock(path);
  try {
    const mirror = openIndexed(path, quietMs);
    return {
      state: fileState(mirror, clock),
      destination: (envId, run) => createDestination(mirror, { envId, run, clock }),
      // The lock of the file is that of all its environments.
      hold: async () => {},
      keep: facingFile(path)(() => mirror.transactions.keep()),
      async close() {
        try {
          if (!stop.aborted) finish(mirror.connection);
        } catch {
          // The result of the run stands; the next run makes what is missing.
        } finally {
          closeWritten(mirror);
          lock.release();
        }
      },
    };
  } catch (error) {
    lock.release();
    throw error;
  }
}

function openIndexed(path: string, quietMs: number): MirrorFile {
  const mirror = openForWriting(path, quietMs);
  try {
    // A killed first sync may not have made them.
    buildSecondaryIndexes(mirror.connection, INDEXED);
    dropSecondaryIndexes(mirror.connection, INDEXED);
    return mirror;
  } catch (error) {
    closeWritten(mirror);
    throw error;
  }
}

/** Work that makes reads faster. A run that has to stop has no time for it (R27); the next run does it first. */
function finish(connection: MirrorFile['connection']): void {
  buildSecondaryIndexes(connection, INDEXED);
  connection.pragma('analysis_limit = 400');
  connection.pragma('optimize');
}

/** Tables whose indexes are made after the first sync. A history is looked up by test while it grows, so it keeps its index. */
const INDEXED = CATALOGUE.filter((stream) => stream.method !== 'window').map((stream) => tableNamed(stream.table));

/** When a run holds the lock, it has already migrated the mirror. */
function bringUpToDate(path: string): MirrorChange {
  // No lock file is made beside a file that is not a mirror.
  checkMirror(path);
  try {
    const lock = takeLock(path);
    try {
      const before = mirrorExists(path) ? versionOf(path) : 0;
      closeWritten(openForWriting(path));
      if (before === newestVersion()) return 'none';
      return before === 0 ? 'made' : 'updated';
    } finally {
      lock.release();
    }
  } catch (error) {
    if (!(error instanceof SyncError) || error.recovery !== 'locked') throw error;
    return 'none';
  }
}

function refuseFile(path: string): never {
  throw new OptionError('citus', `--citus needs a mirror in PostgreSQL, and ${path} is a file: leave it out`);
}

function versionOf(path: string): number {
  const { connection } = openEarlier(path);
  try {
    return version(connection);
  } finally {
    connection.close();
  }
}

/** Whether a process writes to the mirror. It tries the lock only if its file exists: a report makes no files. */
export function isHeld(path: string): boolean {
  if (!existsSync(lockPath(path))) return false;
  try {
    takeLock(path).release();
    return false;
  } catch {
    // The lock is held, or this user may not take it: the run may be alive.
    return true;
  }
}

function record(path: string, verification: Verification): void {
  const lock = lockOf(path);
  if (lock === null) return;
  try {
    const mirror = openForWriting(path);
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
