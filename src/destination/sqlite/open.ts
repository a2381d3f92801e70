import { accessSync, constants, existsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import Database from 'better-sqlite3';
import { type BetterSQLite3Database, drizzle } from 'drizzle-orm/better-sqlite3';
import { realPath, takeLock, unreachable } from '../../../state/lock.ts';
import { type SyncError, usageError } from '../../core/errors.ts';
import { refuseNewer, refuseOlder } from '../sql/mirror-version.ts';
import { writeNoted } from '../sql/seen-keys.ts';
import type { NotedKeys } from '../sql/statements.ts';
import { closeAfterSync, closeFile, closeWritten, orClose, release } from './close.ts';
import { createStatementCache, type PrepareStatement, perform } from './driver.ts';
import { attempt, fileError, readerError } from './file-error.ts';
import { migrateFile, sqliteMigrationTimes, sqliteVersion } from './migrations.ts';
import { createWorkTables } from './temporary-tables.ts';
import { createTransactions } from './transactions.ts';

/** An open mirror: the connection, its prepared statements, and drizzle for the rest. */
export interface MirrorFile {
  readonly path: string;
  readonly connection: Database.Database;
  readonly db: BetterSQLite3Database;
  readonly prepare: PrepareStatement;
  readonly noted: NotedKeys;
  readonly transactions: ReturnType<typeof createTransactions>;
}

/** The most disk space that the log keeps once all of it has been copied into the file. */
export const MAX_IDLE_LOG_BYTES = 16 * 1024 * 1024;

/**
 * Opens the mirror for its one writer, and creates or migrates the file if needed. Commits that change no row wait up
 * to `quietMs` for the next one.
 * @throws SyncError `usage`
 */
export function openForWriting(path: string, quietMs = 0): MirrorFile {
  return guarded(path, () => {
    refuseReadOnly(path);
    return orClose(connect(path, {}, quietMs), closeWritten, (mirror) => {
      const { connection } = mirror;
      connection.pragma('journal_mode = WAL');
      connection.pragma('synchronous = NORMAL');
      // A third of the default: a first sync reads little of what it wrote, and sorting takes as much again.
      connection.pragma('cache_size = -5000');
      // Four times the default, so a page that many commits change is copied from the log into the file less often.
      connection.pragma('wal_autocheckpoint = 4000');
      // With a permanent reader such as `serve`, the log would otherwise keep the largest size it ever had.
      connection.pragma(`journal_size_limit = ${MAX_IDLE_LOG_BYTES}`);
      migrateFile(connection);
      createWorkTables(connection);
      return mirror;
    });
  });
}

/** @throws SyncError `locked` */
export function underLock<Done>(path: string, work: () => Done): Done {
  return closeAfterSync(takeLock(path), release, work);
}

/** Opens the mirror for writing, and closes it after the work. @throws SyncError `usage` */
export function writeTo<Done>(path: string, work: (mirror: MirrorFile) => Done): Done {
  return closeAfterSync(openForWriting(path), closeWritten, work);
}

/** Opens an existing mirror of this version for reading only. @throws SyncError `usage` */
export function openForReading(path: string): MirrorFile {
  refuseMissing(path);
  return orClose(openEarlier(path), closeFile, (mirror) => {
    const found = attempt(path, () => sqliteVersion(mirror.connection), readerError);
    refuseOlder(found, sqliteMigrationTimes(), path);
    return mirror;
  });
}

/** Opens a mirror of this or an earlier version, to read what every version has. @throws SyncError */
export function openEarlier(path: string): MirrorFile {
  return guarded(path, () => connect(path, { readonly: true }), readerError);
}

/**
 * Refuses a file that cannot be a mirror of this version, before another file is created beside it.
 * @throws SyncError `usage`
 */
export function refuseInvalidMirror(path: string): void {
  guarded(path, () => {
    refuseReadOnly(path);
    if (!mirrorExists(path)) return;
    connect(path, { readonly: true }).connection.close();
  });
}

/** @throws SyncError `usage` if there is no mirror */
export function refuseMissing(path: string): void {
  if (mirrorExists(path)) return;
  const what = existsSync(path) ? 'is empty' : 'does not exist';
  throw usageError(`${path} ${what}: make it with \`obsync sync\`, or name another with --db`);
}

/**
 * Refuses a place where the log of a mirror is left without it: SQLite would apply it to any file that is put there.
 * @throws SyncError `usage`
 */
export function refuseLeftLog(path: string): void {
  const real = realPath(path);
  const logs = ['-wal', '-journal'].map((end) => real + end);
  const left = logs.find((log) => existsSync(log) && statSync(log).size > 0);
  if (left === undefined || mirrorExists(path)) return;
  const text = `${left} was left by a mirror that is no longer here: move it to that mirror, or remove it`;
  throw usageError(text);
}

export function mirrorExists(path: string): boolean {
  try {
    const found = statSync(path, { throwIfNoEntry: false });
    return found !== undefined && (!found.isFile() || found.size > 0);
  } catch (error) {
    throw unreachable(path, error);
  }
}

/** Opens a file that is a mirror of this or an older version, or will become one. */
function connect(path: string, options: Database.Options, quietMs = 0): MirrorFile {
  return orClose(mirrorOn(new Database(path, { timeout: 10_000, ...options }), path, quietMs), closeFile, (mirror) => {
    refuseForeign(mirror);
    return mirror;
  });
}

export function mirrorOn(
  connection: Database.Database,
  path: string,
  quietMs = 0,
  prepare = createStatementCache(connection),
): MirrorFile {
  const noted: NotedKeys = { pages: [] };
  const transactions = createTransactions(connection, {
    maxMs: quietMs,
    finish: () => perform(prepare, writeNoted(noted)),
    undone: () => {
      noted.pages = [];
    },
  });
  return { path, connection, db: drizzle(connection), prepare, noted, transactions };
}

/** SQLite would open a read-only file without an error, and fail at the first write. */
function refuseReadOnly(path: string): void {
  try {
    if (existsSync(path)) accessSync(path, constants.W_OK);
  } catch (cause) {
    const text = `${path} cannot be written: check the permissions of the file and of its folder`;
    throw usageError(text, { cause });
  }
}

/** Refuses another program's file, or a mirror of a later version. */
function refuseForeign({ connection, path }: MirrorFile): void {
  const refuse = (why: string): SyncError => usageError(`${path} is ${why}`);
  const { tables, ours } = connection.prepare(TABLES).get() as { tables: number; ours: number };
  if (tables > 0 && ours === 0) throw refuse('not a mirror but another SQLite database: name another file with --db');
  if (!connection.readonly && isReplica(connection))
    throw refuse(
      'a replica of a mirror in PostgreSQL: name that mirror with --db, or make an independent copy with `obsync copy`',
    );
  refuseNewer(sqliteVersion(connection), sqliteMigrationTimes(), path);
}

/** SQLite keeps this number of a file's program in its header: the letters `obsr`. */
export const REPLICA_ID = 0x6f627372;

/** Whether the file is a replica, which nothing but its refresh may write. */
export function isReplica(connection: Database.Database): boolean {
  return connection.pragma('application_id', { simple: true }) === REPLICA_ID;
}

/** Without Drizzle's table: other programs may have it, and after a crash a new file may have nothing else. */
const TABLES = `select count(*) tables, coalesce(sum(name = 'sync_checkpoints'), 0) ours from sqlite_schema
  where type = 'table' and name <> '__drizzle_migrations'`;

/** Whether SQLite reports that the file is damaged or not a database. */
export function isDamage(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return /^SQLITE_(CORRUPT|NOTADB)/.test(String((error as { code?: unknown }).code)) || isDamage(error.cause);
}

/** @throws SyncError `usage` if the folder of the mirror does not exist */
export function refuseNoFolder(path: string): void {
  if (!existsSync(dirname(path)))
    throw usageError(`${dirname(path)} does not exist: make the folder, or name another file with --db`);
}

function guarded<T>(path: string, open: () => T, errorOf = fileError): T {
  refuseNoFolder(path);
  if (existsSync(path) && statSync(path).isDirectory()) throw usageError(`${path} is a folder: name a file with --db`);
  return attempt(path, open, errorOf);
}
