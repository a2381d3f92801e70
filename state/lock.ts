import Database from 'better-sqlite3';
import { SyncError } from '../src/core/errors.ts';

/** Held by the one writer of a mirror (R26). */
export interface Lock {
  release(): void;
}

/**
 * Takes the lock of a mirror, or fails at once. It is an SQLite lock on an empty file beside the mirror, which the
 * system drops with the process that holds it, however that ends. The file stays: removing it would race.
 * @throws SyncError `locked`, or `usage` where no lock can be made
 */
export function takeLock(mirrorPath: string): Lock {
  const path = `${mirrorPath}.lock`;
  let connection: Database.Database | null = null;
  try {
    const held = new Database(path, { timeout: 0 });
    connection = held;
    held.exec('begin exclusive');
    return { release: () => void held.close() };
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
