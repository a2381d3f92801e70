import { closeSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { Database } from 'better-sqlite3';
import { MIRRORED_TABLES, STATE_TABLES } from '../../../schema/tables.ts';
import { realPath, takeLock } from '../../../state/lock.ts';
import { usageError } from '../../core/errors.ts';
import type { CopiedRow, CopiedTable, CopySource, CopyTarget } from '../sql/copied-tables.ts';
import { inPortions } from '../sql/portions.ts';
import { list, quote } from '../sql/tables.ts';
import { closeWritten, orClose, release } from './close.ts';
import { attempt, fileError } from './file-error.ts';
import { buildSecondaryIndexes, dropSecondaryIndexes } from './migrations.ts';
import { mirrorExists, openForReading, openForWriting, refuseLeftLog, refuseNoFolder } from './open.ts';

/** Opens a mirror file for copying, as of one instant. @throws SyncError `usage` */
export function openSqliteSource(path: string): CopySource {
  const { connection } = openForReading(path);
  // All reads of one transaction see the same state, whatever is committed meanwhile.
  connection.exec('begin');
  return {
    async *rows({ name, columns }) {
      // In insertion order: of two staged rows with one key, the later one counts (R16).
      const sql = `select ${list(columns)} from ${quote(name)} order by rowid`;
      try {
        yield* inPortions(connection.prepare<[], CopiedRow>(sql).raw().iterate());
      } catch (error) {
        throw fileError(path, error);
      }
    },
    async close() {
      connection.close();
    },
  };
}

/** Starts a new mirror file next to its final path. @throws SyncError `locked`, or `usage` if there is a file */
export function openSqliteTarget(path: string): CopyTarget {
  refuseNoFolder(path);
  refuseTaken(path);
  return orClose(takeLock(path), release, (lock) => {
    const made = startFile(path);
    return {
      async write(table, rows) {
        attempt(path, () => insertRows(made.connection, table, rows));
      },
      async finish() {
        made.finish(() => refuseTaken(path));
        // Like a sync, leaves -wal and -shm beside the mirror, for readers that may not create them.
        attempt(path, () => closeWritten(openForWriting(path)));
        lock.release();
      },
      async abandon() {
        made.abandon();
        lock.release();
      },
    };
  });
}

/** Flushes a file to disk before it is renamed, so a power loss leaves no partial file. */
export function flush(path: string): void {
  writeFileSync(path, '', { flag: 'r+', flush: true });
}

/** A mirror file that nobody sees before it is complete. Its one transaction is open. */
interface UnfinishedFile {
  readonly connection: Database;
  /** Commits, and moves the file to its final path, following links. `beforeMove` is called just before. */
  finish(beforeMove: () => void): void;
  abandon(): void;
}

/** Starts a file next to its final path; what an earlier attempt left there is removed. */
export function startFile(path: string, mode?: number): UnfinishedFile {
  const real = realPath(path);
  return orClose(join(dirname(real), `.${basename(real)}.copy`), unlinkFiles, (beside) => {
    unlinkFiles(beside);
    if (mode !== undefined) closeSync(openSync(beside, 'wx', mode));
    const connection = attempt(path, () => openNew(beside));
    return {
      connection,
      finish(beforeMove) {
        attempt(path, () => finish(connection));
        connection.close();
        attempt(path, () => {
          flush(beside);
          beforeMove();
          renameSync(beside, real);
        });
      },
      abandon() {
        connection.close();
        unlinkFiles(beside);
      },
    };
  });
}

/** Removes an SQLite file and those that SQLite puts beside it. A symbolic link to the file stays. */
export const removeFile = (path: string): void => unlinkFiles(realPath(path));

/** Removes a name and those that SQLite puts beside it. If one is a symbolic link, what it points to stays. */
function unlinkFiles(path: string): void {
  for (const end of ['', '-wal', '-shm', '-journal']) rmSync(`${path}${end}`, { force: true });
}

function refuseTaken(path: string): void {
  refuseLeftLog(path);
  if (!mirrorExists(path)) return;
  const text = `${path} exists already: name a new file, or move it away first, with its -wal if there is one`;
  throw usageError(text);
}

/** It needs no log: the file is not read before it is complete, and is created again after a crash. */
function openNew(path: string): Database {
  const { connection } = openForWriting(path);
  connection.pragma('journal_mode = OFF');
  connection.pragma('synchronous = OFF');
  dropSecondaryIndexes(connection, TABLES);
  connection.exec('begin');
  return connection;
}

const TABLES = [...STATE_TABLES, ...MIRRORED_TABLES];

/** More rows per statement save no time. */
const ROWS_AT_ONCE = 64;

export function insertRows(
  connection: Database,
  { name, columns }: CopiedTable,
  rows: readonly CopiedRow[],
  rowsAtOnce = ROWS_AT_ONCE,
): void {
  const one = `(${columns.map(() => '?').join(', ')})`;
  const insert = (count: number) =>
    connection.prepare(`insert into ${quote(name)} (${list(columns)}) values ${Array(count).fill(one).join(', ')}`);
  const whole = rows.length >= rowsAtOnce ? insert(rowsAtOnce) : null;
  for (let at = 0; at < rows.length; at += rowsAtOnce) {
    const some = rows.slice(at, at + rowsAtOnce);
    (some.length === rowsAtOnce && whole !== null ? whole : insert(some.length)).run(some.flat());
  }
}

/** Does the same as a sync at the end of a run. */
function finish(connection: Database): void {
  buildSecondaryIndexes(connection, TABLES);
  connection.pragma('analysis_limit = 400');
  connection.exec('analyze; commit');
  connection.pragma('synchronous = FULL');
  connection.pragma('journal_mode = WAL');
}
