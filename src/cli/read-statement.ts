import Database from 'better-sqlite3';
import { SyncError } from '../core/errors.ts';
import { fileError } from '../destination/sqlite/file-error.ts';
import type { MirrorFile } from '../destination/sqlite/open.ts';

/** A statement that only reads, by its rows. */
export interface Reading {
  readonly columns: readonly string[];
  /** To be gone through once; whole numbers are bigints. */
  readonly rows: Iterable<readonly unknown[]>;
  /** Lets go of the file, read to the end or not. */
  close(): void;
}

/**
 * Begins to read: what fails at once fails here, before anything is printed.
 * @throws SyncError `usage` for what is no SQL, is more than one statement, writes, or returns no rows
 */
export function readStatement({ connection, path }: MirrorFile, sql: string): Reading {
  const statement = attempt(path, () => connection.prepare<[], readonly unknown[]>(sql));
  if (!statement.readonly) throw new SyncError('usage', 'query only reads, and this statement writes: use a SELECT');
  if (!statement.reader) throw new SyncError('usage', 'this statement returns no rows: use a SELECT');
  const iterator = attempt(path, () => statement.raw().safeIntegers().iterate());
  const first = attempt(path, () => iterator.next());
  return {
    columns: statement.columns().map((column) => column.name),
    rows: rowsFrom(path, first, iterator),
    close: () => void iterator.return?.(),
  };
}

function* rowsFrom<T>(path: string, first: IteratorResult<T>, iterator: Iterator<T>): Generator<T> {
  for (let next = first; !next.done; next = attempt(path, () => iterator.next())) yield next.value;
}

function attempt<T>(path: string, step: () => T): T {
  try {
    return step();
  } catch (error) {
    throw sqlError(path, error);
  }
}

/** Troubles of the file itself; any other comes from the statement. */
const OF_THE_FILE = /^SQLITE_(CORRUPT|NOTADB|CANTOPEN|PERM|FULL|BUSY|IOERR)/;

function sqlError(path: string, error: unknown): unknown {
  if (error instanceof Database.SqliteError) {
    return OF_THE_FILE.test(error.code)
      ? fileError(path, error)
      : new SyncError('usage', `the statement cannot be run: ${error.message}`, { cause: error });
  }
  // The driver's own words: no statement, more than one, or parameters without values.
  if (!(error instanceof RangeError || error instanceof TypeError)) return error;
  const advice = /parameter/i.test(error.message)
    ? 'the statement has parameters: write their values into it'
    : 'query takes one SQL statement';
  return new SyncError('usage', advice, { cause: error });
}
