import Database from 'better-sqlite3';
import { usageError } from '../../core/errors.ts';
import type { ReadStatement, SqlValue } from '../mirror-store.ts';
import { rowObject } from '../sql/portions.ts';
import { attempt, fileError } from './file-error.ts';
import type { MirrorFile } from './open.ts';

/** The parameters of a statement, and the types of its results. */
export type StatementOptions = Pick<ReadStatement, 'parameters' | 'bigints'>;

/** The rows of a read-only statement. They are read while iterating, which is possible only once. */
export interface ReadResult extends Iterable<Readonly<Record<string, SqlValue>>> {
  readonly columns: readonly string[];
  /** The rows as lists in column order. Iterating over the result itself yields objects. */
  readonly rows: Iterable<readonly SqlValue[]>;
  /** Closes the file. Not needed once all rows are read. */
  close(): void;
}

/**
 * Runs the statement up to its first row, so an error is thrown before anything is printed. Until its rows are read,
 * `unfinished` has the function that closes it.
 * @throws SyncError `usage` if it is not SQL, is more than one statement, writes, or returns no rows
 */
export function readStatement(
  { connection, path }: MirrorFile,
  sql: string,
  { parameters = [], bigints = false }: StatementOptions = {},
  unfinished: Set<() => void> = new Set(),
): ReadResult {
  const statement = attempt(path, () => connection.prepare<unknown[], readonly SqlValue[]>(sql), NOT_ONE);
  if (!statement.readonly) throw usageError('query only reads, but this statement writes: use a SELECT');
  if (!statement.reader) throw usageError('this statement returns no rows: use a SELECT');
  const values = Array.isArray(parameters) ? parameters : [parameters];
  statement.raw().safeIntegers();
  const iterator = attempt(path, () => statement.iterate(...values), values.length === 0 ? NO_VALUES : WRONG_VALUES);
  const first = attempt(path, () => iterator.next(), sqlError);
  const columns = statement.columns().map((column) => column.name);
  const close = (): void => {
    // It would keep the connection busy.
    iterator.return?.();
    unfinished.delete(close);
  };
  if (first.done !== true) unfinished.add(close);
  const rows = (function* () {
    try {
      for (let next = first; !next.done; next = attempt(path, () => iterator.next(), sqlError))
        yield bigints ? next.value : next.value.map(asNumber);
    } finally {
      close();
    }
  })();
  return {
    columns,
    rows,
    close,
    *[Symbol.iterator]() {
      for (const row of rows) yield rowObject(columns, row);
    },
  };
}

function asNumber(value: SqlValue): SqlValue {
  if (typeof value !== 'bigint') return value;
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}

/** Errors of the file itself; all others come from the statement. */
const OF_THE_FILE = /^SQLITE_(CORRUPT|NOTADB|CANTOPEN|PERM|FULL|BUSY|IOERR)/;

function sqlError(path: string, error: unknown): unknown {
  if (!(error instanceof Database.SqliteError)) return error;
  return OF_THE_FILE.test(error.code)
    ? fileError(path, error)
    : usageError(`the statement cannot be run: ${error.message}`, { cause: error });
}

/** What the driver itself refuses: an empty text, several statements, and values that do not fit the parameters. */
function refusedByDriver(advice: string): typeof sqlError {
  return (path, error) =>
    error instanceof RangeError || error instanceof TypeError
      ? usageError(advice, { cause: error })
      : sqlError(path, error);
}

const NOT_ONE = refusedByDriver('query takes one SQL statement');
const WRONG_VALUES = refusedByDriver('the values do not fit the parameters of the statement');
const NO_VALUES = refusedByDriver('the statement has parameters: write their values into it');
