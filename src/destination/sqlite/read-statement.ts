import Database from 'better-sqlite3';
import { SyncError } from '../../core/errors.ts';
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
  const statement = attempt(path, () => connection.prepare<unknown[], readonly SqlValue[]>(sql), textError);
  if (!statement.readonly) throw new SyncError('usage', 'query only reads, but this statement writes: use a SELECT');
  if (!statement.reader) throw new SyncError('usage', 'this statement returns no rows: use a SELECT');
  const values = Array.isArray(parameters) ? parameters : [parameters];
  statement.raw().safeIntegers();
  const iterator = attempt(path, () => statement.iterate(...values), values.length === 0 ? noValueError : valueError);
  const first = attempt(path, () => iterator.next(), sqlError);
  const columns = statement.columns().map((column) => column.name);
  const close = (): void => {
    // It would keep the connection busy.
    iterator.return?.();
    unfinished.delete(close);
  };
  if (first.done !== true) unfinished.add(close);
  const exact = rowsFrom(path, { first, iterator, close });
  const rows = bigints ? exact : withNumbers(exact);
  return {
    columns,
    rows,
    close,
    [Symbol.iterator]: () => objectsFrom(columns, rows),
  };
}

function* withNumbers(rows: Iterable<readonly SqlValue[]>): Generator<readonly SqlValue[]> {
  for (const row of rows) yield row.map(asNumber);
}

function asNumber(value: SqlValue): SqlValue {
  if (typeof value !== 'bigint') return value;
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}

function* objectsFrom(
  columns: readonly string[],
  rows: Iterable<readonly SqlValue[]>,
): Generator<Readonly<Record<string, SqlValue>>> {
  for (const row of rows) yield rowObject(columns, row);
}

interface OpenStatement<Row> extends Pick<ReadResult, 'close'> {
  readonly first: IteratorResult<Row>;
  readonly iterator: Iterator<Row>;
}

function* rowsFrom<Row>(path: string, { first, iterator, close }: OpenStatement<Row>): Generator<Row> {
  try {
    for (let next = first; !next.done; next = attempt(path, () => iterator.next(), sqlError)) yield next.value;
  } finally {
    close();
  }
}

/** Errors of the file itself; all others come from the statement. */
const OF_THE_FILE = /^SQLITE_(CORRUPT|NOTADB|CANTOPEN|PERM|FULL|BUSY|IOERR)/;

function sqlError(path: string, error: unknown): unknown {
  if (!(error instanceof Database.SqliteError)) return error;
  return OF_THE_FILE.test(error.code)
    ? fileError(path, error)
    : new SyncError('usage', `the statement cannot be run: ${error.message}`, { cause: error });
}

/** The driver itself refuses an empty text and several statements when it prepares them. */
const textError = refusedByDriver('query takes one SQL statement');

/** The driver itself refuses values that do not fit the parameters when it binds them. */
const valueError = refusedByDriver('the values do not fit the parameters of the statement');

/** The same without any values. */
const noValueError = refusedByDriver('the statement has parameters: write their values into it');

function refusedByDriver(advice: string): typeof sqlError {
  return (path, error) =>
    error instanceof RangeError || error instanceof TypeError
      ? new SyncError('usage', advice, { cause: error })
      : sqlError(path, error);
}
