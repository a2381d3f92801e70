import Database, { type Statement } from 'better-sqlite3';
import { SyncError } from '../core/errors.ts';
import { fileError } from '../destination/sqlite/file-error.ts';
import type { MirrorFile } from '../destination/sqlite/open.ts';

/** A statement that only reads, by its rows. */
export interface Reading {
  readonly columns: readonly string[];
  /** Whole numbers are bigints. */
  rows(): Iterable<readonly unknown[]>;
}

/** @throws SyncError `usage` for what is no SQL, is more than one statement, writes, or returns no rows */
export function readStatement({ connection, path }: MirrorFile, sql: string): Reading {
  const statement = attempt(path, () => connection.prepare(sql));
  if (!statement.readonly) throw new SyncError('usage', 'query only reads, and this statement writes: use a SELECT');
  if (!statement.reader) throw new SyncError('usage', 'this statement returns no rows: use a SELECT');
  statement.raw().safeIntegers();
  return {
    columns: statement.columns().map((column) => column.name),
    rows: () => iterate(path, statement as Statement<[], readonly unknown[]>),
  };
}

function* iterate(path: string, statement: Statement<[], readonly unknown[]>): Generator<readonly unknown[]> {
  const rows = attempt(path, () => statement.iterate());
  try {
    for (;;) {
      const next = attempt(path, () => rows.next());
      if (next.done) return;
      yield next.value;
    }
  } finally {
    rows.return?.();
  }
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
      : new SyncError('usage', error.message, { cause: error });
  }
  // The driver's own words: no statement, more than one, or parameters without values.
  if (!(error instanceof RangeError || error instanceof TypeError)) return error;
  const advice = /parameter/i.test(error.message)
    ? 'the statement has parameters: write their values into it'
    : 'query takes one SQL statement';
  return new SyncError('usage', advice, { cause: error });
}
