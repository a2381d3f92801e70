import { openForReading } from '../destination/sqlite/open.ts';
import { givenFile } from '../settings/addresses/mirror-address.ts';
import { checkOptions } from '../settings/check-options.ts';
import type { MirrorOptions } from '../settings/options.ts';
import { type QueryResult, readStatement, type StatementOptions } from './read-statement.ts';

export interface QueryOptions extends MirrorOptions, StatementOptions {
  /** One read-only statement. */
  readonly sql: string;
}

/** Runs one read-only SQL statement. The file is closed when all rows are read. @throws SyncError */
export async function query(options: QueryOptions): Promise<QueryResult> {
  checkOptions(options);
  const mirror = openForReading(givenFile(options, 'query (unlike queryStream)'));
  try {
    return closing(readStatement(mirror, options.sql, options), () => mirror.connection.close());
  } catch (error) {
    mirror.connection.close();
    throw error;
  }
}

/** The same result, which also closes the file: after its last row is read, or when it is closed. */
function closing(result: QueryResult, closeFile: () => void): QueryResult {
  let isOpen = true;
  const close = (): void => {
    if (!isOpen) return;
    isOpen = false;
    result.close();
    closeFile();
  };
  return {
    columns: result.columns,
    rows: readToEnd(result.rows, close),
    close,
    [Symbol.iterator]: () => readToEnd(result, close),
  };
}

function* readToEnd<Row>(rows: Iterable<Row>, close: () => void): Generator<Row> {
  try {
    yield* rows;
  } finally {
    close();
  }
}
