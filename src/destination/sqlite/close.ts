import Database from 'better-sqlite3';
import type { MirrorLock } from '../../../state/lock.ts';

/** Does a step with something open, which stays open unless the step throws. The step must be synchronous. */
export function orClose<Open, Done>(open: Open, close: (open: Open) => void, step: (open: Open) => Done): Done {
  try {
    return step(open);
  } catch (error) {
    close(open);
    throw error;
  }
}

/** Does a step with something open, and closes it afterwards. The step must be synchronous. */
export function closeAfterSync<Open, Done>(open: Open, close: (open: Open) => void, step: (open: Open) => Done): Done {
  try {
    return step(open);
  } finally {
    close(open);
  }
}

export function release(lock: MirrorLock): void {
  lock.release();
}

export function closeFile({ connection }: { connection: Database.Database }): void {
  connection.close();
}

/**
 * Closes a mirror that was open for writing, and leaves `-wal` and `-shm` beside it. SQLite removes them with the last
 * connection that may write; without them, a reader without write access to the folder cannot open the file. Closing a
 * read-only connection last leaves them in place.
 */
export function closeWritten({ connection, path }: { connection: Database.Database; path: string }): void {
  emptyLog(connection);
  const reader = openReader(path);
  try {
    connection.close();
  } finally {
    reader?.close();
  }
}

/** Copies the log into the file, as SQLite does at its end, but waits for nobody: a signal may have come (R27). */
function emptyLog(connection: Database.Database): void {
  try {
    if (connection.inTransaction) connection.exec('rollback');
    connection.pragma('busy_timeout = 0');
    connection.pragma('wal_checkpoint(TRUNCATE)');
  } catch {
    // What is in the log is safe, and the next run copies it.
  }
}

/** A connection that has read from the file, so that it holds `-wal` and `-shm`; null if the file cannot be read. */
function openReader(path: string): Database.Database | null {
  let reader: Database.Database | null = null;
  try {
    reader = new Database(path, { readonly: true });
    reader.prepare('select count(*) from sqlite_schema').get();
    return reader;
  } catch {
    reader?.close();
    return null;
  }
}
