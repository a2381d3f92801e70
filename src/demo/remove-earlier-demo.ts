import { rmSync } from 'node:fs';
import Database from 'better-sqlite3';
import { takeLock } from '../../state/lock.ts';
import { SyncError, usageError } from '../core/errors.ts';
import { mirrorExists, openEarlier, refuseInvalidMirror, refuseNoFolder } from '../destination/sqlite/open.ts';
import { ENVIRONMENT_IDS } from './sample.ts';

/**
 * Removes the mirror of an earlier demo and no other file.
 * @throws SyncError `usage`, also if nothing can be written there, or `locked` while a demo or a reader has it open
 */
export function removeEarlierDemo(db: string): void {
  refuseNoFolder(db);
  const isThere = mirrorExists(db);
  // Avoids creating a lock file beside a file that is not a mirror.
  if (isThere) refuseInvalidMirror(db);
  const lock = takeLock(db);
  try {
    if (!isThere) return;
    refuseOther(db);
    refuseOpen(db);
    for (const suffix of ['', '-wal', '-shm']) rmSync(`${db}${suffix}`, { force: true });
  } finally {
    lock.release();
  }
}

/** A real service may also be reached over loopback (a tunnel), but it has other environments. */
function refuseOther(db: string): void {
  const { connection } = openEarlier(db);
  try {
    // A demo that was killed at its start.
    if (connection.prepare('select count(*) from sqlite_schema').pluck().get() === 0) return;
    const baseUrl = connection.prepare<[], string>('select base_url from mirror').pluck().get();
    const ids = connection.prepare<[], string>('select id from environments').pluck().all();
    const isLocal = baseUrl === undefined || baseUrl.startsWith('http://127.0.0.1:');
    if (isLocal && ids.every((id) => ENVIRONMENT_IDS.includes(id))) return;
    throw usageError(`${db} mirrors ${baseUrl} and is not a demo: name another file with --db`);
  } finally {
    connection.close();
  }
}

/**
 * A program that has it open would go on with a deleted file. SQLite leaves WAL mode only if no other connection is
 * open.
 */
function refuseOpen(db: string): void {
  const connection = new Database(db, { timeout: 200 });
  try {
    connection.pragma('journal_mode = delete');
  } catch (cause) {
    if (!(cause instanceof Database.SqliteError) || !cause.code.startsWith('SQLITE_BUSY')) throw cause;
    const message = `${db} is open in another program, such as a running demo: stop it, or name another file with --db`;
    throw new SyncError('locked', message, { cause });
  } finally {
    connection.close();
  }
}
