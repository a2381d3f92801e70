import Database from 'better-sqlite3';
import { SyncError } from '../src/core/errors.ts';

/** Held by the one writer of a mirror (R26). */
export interface Lock {
  release(): void;
}

/** A connection that nobody refers to is closed when memory is tidied up, and its lock goes with it. */
const HELD = new Set<Database.Database>();

/**
 * Takes the lock of a mirror, or fails. It is an SQLite lock on an empty file beside the mirror, which the
 * system drops with the process that holds it, however that ends. The file stays: removing it would race.
 * @throws SyncError `locked`, or `usage` where no lock can be made
 */
export function takeLock(mirrorPath: string): Lock {
  const path = `${mirrorPath}.lock`;
  let connection: Database.Database | null = null;
  try {
    // A moment's patience: `status` takes the lock to see whether a run is dead.
    const held = new Database(path, { timeout: 200 });
    connection = held;
    held.exec('begin exclusive');
    HELD.add(held);
    return {
      release() {
        HELD.delete(held);
        held.close();
      },
    };
  } catch (cause) {
    connection?.close();
    if (isBusy(cause))
      throw new SyncError('locked', `another sync holds ${mirrorPath}: wait for it to end, or stop it`, { cause });
    throw new SyncError('usage', `${path} cannot be locked: check that its folder exists and may be written`, {
      cause,
    });
  }
}

function isBusy(error: unknown): boolean {
  return error instanceof Database.SqliteError && error.code.startsWith('SQLITE_BUSY');
}
