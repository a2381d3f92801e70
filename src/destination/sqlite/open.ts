import { accessSync, constants, existsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import Database from 'better-sqlite3';
import { type BetterSQLite3Database, drizzle } from 'drizzle-orm/better-sqlite3';
import { SyncError } from '../../core/errors.ts';
import { writeNoted } from '../sql/seen-keys.ts';
import type { NotedKeys } from '../sql/statements.ts';
import { type PrepareStatement, perform, preparing } from './driver.ts';
import { fileError } from './file-error.ts';
import { bringUpToDate, newestVersion, version } from './migrations.ts';
import { createRunTables } from './temporary-tables.ts';
import { type CommitTransactions, transacting } from './transactions.ts';

/** An open mirror: the connection, its statements for bulk reads and writes, and drizzle over it for all else. */
export interface MirrorFile {
  readonly path: string;
  readonly connection: Database.Database;
  readonly db: BetterSQLite3Database;
  readonly prepare: PrepareStatement;
  readonly noted: NotedKeys;
  readonly transactions: CommitTransactions;
}

/** What the log may take of the disk once all of it is in the file. */
const MOST_IDLE_LOG_BYTES = 16 * 1024 * 1024;

/**
 * Opens the mirror for its one writer, making the file or migrating it as needed. Commits that bring nothing wait for others as long
 * as `quietMs`. @throws SyncError `usage`
 */
export function openForWriting(path: string, quietMs = 0): MirrorFile {
  return guarded(path, () => {
    refuseReadOnly(path);
    const mirror = connect(path, {}, quietMs);
    try {
      refuseForeign(mirror);
      mirror.connection.pragma('journal_mode = WAL');
      mirror.connection.pragma('synchronous = NORMAL');
      // Half of what is usual: a first sync reads little of what it has written, and memory has a bound.
      mirror.connection.pragma('cache_size = -8000');
      // Four times what is usual: a page that many commits touch goes from the log to the file less often.
      mirror.connection.pragma('wal_autocheckpoint = 4000');
      // A reader that is there all the time, such as `serve`, would keep the log at the greatest size it ever had.
      mirror.connection.pragma(`journal_size_limit = ${MOST_IDLE_LOG_BYTES}`);
      bringUpToDate(mirror);
      createRunTables(mirror.connection);
      return mirror;
    } catch (error) {
      mirror.connection.close();
      throw error;
    }
  });
}

/** Opens an existing mirror that this version can read, for reading alone. @throws SyncError `usage` */
export function openForReading(path: string): MirrorFile {
  if (!mirrorExists(path)) {
    const what = existsSync(path) ? 'is empty' : 'does not exist';
    throw new SyncError('usage', `${path} ${what}: make it with \`obsync sync\`, or name another with --db`);
  }
  return guarded(path, () => {
    const mirror = connect(path, { readonly: true });
    try {
      refuseForeign(mirror);
      if (version(mirror.connection) < newestVersion()) {
        throw new SyncError(
          'usage',
          `${path} was made by an older obsync: run \`obsync sync\` once to bring it up to date`,
        );
      }
      return mirror;
    } catch (error) {
      mirror.connection.close();
      throw error;
    }
  });
}

/** Refuses a file that can be no mirror of this version, before anything is made beside it. @throws SyncError `usage` */
export function checkMirror(path: string): void {
  guarded(path, () => {
    refuseReadOnly(path);
    if (!mirrorExists(path)) return;
    const mirror = connect(path, { readonly: true });
    try {
      refuseForeign(mirror);
    } finally {
      mirror.connection.close();
    }
  });
}

export function mirrorExists(path: string): boolean {
  return existsSync(path) && (!statSync(path).isFile() || statSync(path).size > 0);
}

function connect(path: string, options: Database.Options, quietMs = 0): MirrorFile {
  return mirrorOn(new Database(path, { timeout: 10_000, ...options }), path, quietMs);
}

/** What is needed of a connection. */
export function mirrorOn(connection: Database.Database, path: string, quietMs = 0): MirrorFile {
  const prepare = preparing(connection);
  const notedKeys: NotedKeys = { pages: [] };
  const transactions = transacting(connection, {
    mostMs: quietMs,
    finish: () => perform(prepare, writeNoted(notedKeys)),
    undone: () => {
      notedKeys.pages = [];
    },
  });
  return { path, connection, db: drizzle(connection), prepare, noted: notedKeys, transactions };
}

/** SQLite would open such a file all the same, and fail at the first write. */
function refuseReadOnly(path: string): void {
  try {
    if (existsSync(path)) accessSync(path, constants.W_OK);
  } catch (cause) {
    throw new SyncError('usage', `${path} cannot be written: check the permissions of the file and of its folder`, {
      cause,
    });
  }
}

/** Refuses a file that is another program's, or a mirror made by a later version. */
function refuseForeign(mirror: MirrorFile): void {
  const { tables, ours } = mirror.connection.prepare(TABLES).get() as { tables: number; ours: number };
  if (tables > 0 && ours === 0) {
    throw new SyncError(
      'usage',
      `${mirror.path} is not a mirror but another SQLite database: name another file with --db`,
    );
  }
  if (version(mirror.connection) > newestVersion()) {
    throw new SyncError(
      'usage',
      `${mirror.path} was made by a newer obsync: update obsync, or name another file with --db`,
    );
  }
}

/** Another program may use drizzle as well; and a crash while the file was made leaves drizzle's own table alone in it. */
const TABLES = `select count(*) tables, coalesce(sum(name = 'sync_checkpoints'), 0) ours from sqlite_schema
  where type = 'table' and name <> '__drizzle_migrations'`;

/** @throws SyncError `usage` where no mirror could be made */
export function refuseNoFolder(path: string): void {
  if (!existsSync(dirname(path)))
    throw new SyncError('usage', `${dirname(path)} does not exist: make the folder, or name another file with --db`);
}

function guarded<T>(path: string, open: () => T): T {
  refuseNoFolder(path);
  if (existsSync(path) && statSync(path).isDirectory())
    throw new SyncError('usage', `${path} is a folder: name a file with --db`);
  try {
    return open();
  } catch (error) {
    throw fileError(path, error);
  }
}
