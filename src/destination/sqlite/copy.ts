import { renameSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { Database } from 'better-sqlite3';
import { MIRRORED_TABLES, STATE_TABLES } from '../../../schema/tables.ts';
import { takeLock } from '../../../state/lock.ts';
import { SyncError } from '../../core/errors.ts';
import type { CopiedRow, CopiedTable, CopySource, CopyTarget } from '../sql/copied-tables.ts';
import { inPortions } from '../sql/portions.ts';
import { list, quote } from '../sql/tables.ts';
import { flush } from './backup.ts';
import { closeWritten } from './close.ts';
import { fileError } from './file-error.ts';
import { buildSecondaryIndexes, dropSecondaryIndexes } from './migrations.ts';
import { mirrorExists, openForReading, openForWriting, refuseNoFolder } from './open.ts';

/** Opens a mirror file for copying, as of one instant. @throws SyncError `usage` */
export function openSqliteSource(path: string): CopySource {
  const { connection } = openForReading(path);
  // All reads of one transaction see the same state, whatever is committed meanwhile.
  connection.exec('begin');
  return {
    async *rows(table) {
      try {
        yield* inPortions(readTable(connection, table));
      } catch (error) {
        throw fileError(path, error);
      }
    },
    async close() {
      connection.close();
    },
  };
}

function readTable(connection: Database, { name, columns }: CopiedTable): IterableIterator<CopiedRow> {
  const names = list(columns.map((column) => column.name));
  // In insertion order: of two staged rows with one key, the later one counts (R16).
  return connection
    .prepare<[], CopiedRow>(`select ${names} from ${quote(name)} order by rowid`)
    .raw()
    .iterate();
}

/** Starts a new mirror file next to its final path. @throws SyncError `locked`, or `usage` if there is a file */
export function openSqliteTarget(path: string): CopyTarget {
  refuseNoFolder(path);
  refuseTaken(path);
  const lock = takeLock(path);
  const beside = join(dirname(path), `.${basename(path)}.copy`);
  const remove = (): void => {
    for (const end of ['', '-wal', '-shm', '-journal']) rmSync(`${beside}${end}`, { force: true });
  };
  const attempt = <Made>(step: () => Made): Made => {
    try {
      return step();
    } catch (error) {
      throw fileError(path, error);
    }
  };
  try {
    remove();
    const connection = attempt(() => openNew(beside));
    return {
      async write(table, rows) {
        attempt(() => writeRows(connection, table, rows));
      },
      async finish() {
        attempt(() => finish(connection));
        connection.close();
        attempt(() => putInPlace(beside, path));
        lock.release();
      },
      async abandon() {
        connection.close();
        remove();
        lock.release();
      },
    };
  } catch (error) {
    remove();
    lock.release();
    throw error;
  }
}

function refuseTaken(path: string): void {
  if (mirrorExists(path))
    throw new SyncError('usage', `${path} exists already: name a new file, or move it away first`);
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

function writeRows(connection: Database, { name, columns }: CopiedTable, rows: readonly CopiedRow[]): void {
  const names = list(columns.map((column) => column.name));
  const one = `(${columns.map(() => '?').join(', ')})`;
  const insert = (count: number) =>
    connection.prepare(`insert into ${quote(name)} (${names}) values ${Array(count).fill(one).join(', ')}`);
  const whole = rows.length >= ROWS_AT_ONCE ? insert(ROWS_AT_ONCE) : null;
  for (let at = 0; at < rows.length; at += ROWS_AT_ONCE) {
    const some = rows.slice(at, at + ROWS_AT_ONCE);
    (some.length === ROWS_AT_ONCE && whole !== null ? whole : insert(some.length)).run(some.flat());
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

function putInPlace(from: string, to: string): void {
  flush(from);
  refuseTaken(to);
  renameSync(from, to);
  // Like a sync, leaves -wal and -shm beside the mirror, for readers that may not create them.
  closeWritten(openForWriting(to));
}
