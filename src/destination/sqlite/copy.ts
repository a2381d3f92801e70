import { closeSync, fsyncSync, openSync, renameSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { Database } from 'better-sqlite3';
import { MIRRORED_TABLES, STATE_TABLES } from '../../../schema/tables.ts';
import { takeLock } from '../../../state/lock.ts';
import { SyncError } from '../../core/errors.ts';
import type { CopiedRow, CopiedTable, CopySource, CopyTarget } from '../sql/copied-tables.ts';
import { inPortions } from '../sql/portions.ts';
import { list, quote } from '../sql/tables.ts';
import { closeWritten } from './close.ts';
import { fileError } from './file-error.ts';
import { buildSecondaryIndexes, dropSecondaryIndexes } from './migrations.ts';
import { mirrorExists, openForReading, openForWriting, refuseNoFolder } from './open.ts';

/** Opens a mirror file to be copied, as of one instant. @throws SyncError `usage` */
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
  // In the order in which they were written: of two staged rows with one key, the later one holds (R16).
  return connection
    .prepare<[], CopiedRow>(`select ${names} from ${quote(name)} order by rowid`)
    .raw()
    .iterate();
}

/**
 * Begins a new mirror file, beside the place where it belongs.
 * @throws SyncError `usage` if there is a file already, or `locked`
 */
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

/** Nobody reads this file before it is whole, and it is made anew after a crash: it needs no log. */
function openNew(path: string): Database {
  const { connection } = openForWriting(path);
  connection.pragma('journal_mode = OFF');
  connection.pragma('synchronous = OFF');
  dropSecondaryIndexes(connection, TABLES);
  connection.exec('begin');
  return connection;
}

const TABLES = [...STATE_TABLES, ...MIRRORED_TABLES];

/** More rows in a statement save no time. */
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

/** What a sync does at the end of a run. */
function finish(connection: Database): void {
  buildSecondaryIndexes(connection, TABLES);
  connection.pragma('analysis_limit = 400');
  connection.exec('analyze; commit');
  connection.pragma('synchronous = FULL');
  connection.pragma('journal_mode = WAL');
}

/** The file is on the disk before it has its name, so that a power loss leaves no half of it. */
function putInPlace(from: string, to: string): void {
  const file = openSync(from, 'r+');
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  refuseTaken(to);
  renameSync(from, to);
  // A sync leaves -wal and -shm beside a mirror, for readers that may not make them.
  closeWritten(openForWriting(to));
}
