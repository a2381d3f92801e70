import type { PostgresAddress } from '../destination/postgres/address.ts';
import { openForReading } from '../destination/sqlite/open.ts';
import { addressOf, givenAddress } from '../settings/addresses/mirror-address.ts';
import { checkOptions } from '../settings/check-options.ts';
import { DEFAULTS } from '../settings/defaults.ts';
import { inRange, OptionError } from '../settings/option-error.ts';
import { batches } from './batches.ts';
import type { QueryOptions } from './query.ts';
import { readStatement, type SqlValue } from './read-statement.ts';

export interface QueryStreamOptions extends QueryOptions {
  /** Seconds that the statement may take in PostgreSQL, 0 for as long as it takes; 600 by default. */
  readonly statementTimeout?: number | undefined;
}

/** The rows of a read-only statement, wherever the mirror is. They are read during the iteration, which is possible only once. */
export interface StreamedResult extends AsyncIterable<Readonly<Record<string, SqlValue>>> {
  readonly columns: readonly string[];
  /** The rows as lists, in the order of the columns, in portions of a bounded size. */
  readonly portions: AsyncIterable<readonly (readonly SqlValue[])[]>;
  /** Closes the mirror. Not needed after all rows are read. */
  close(): Promise<void>;
}

/** Runs one read-only SQL statement on a mirror in a file or in PostgreSQL, in the SQL of either. @throws SyncError */
export async function queryStream(options: QueryStreamOptions): Promise<StreamedResult> {
  checkOptions(options);
  const address = addressOf(givenAddress(options));
  const { columns, portions, close } =
    address.kind === 'file' ? queryFile(address.path, options) : await queryServer(address, options);
  return { columns, portions, close, [Symbol.asyncIterator]: () => objectsFrom(columns, portions) };
}

type ReadResult = Pick<StreamedResult, 'columns' | 'portions' | 'close'>;

function queryFile(path: string, options: QueryStreamOptions): ReadResult {
  const { connection, ...mirror } = openForReading(path);
  try {
    const result = readStatement({ ...mirror, connection }, options.sql, options);
    const close = async (): Promise<void> => {
      result.close();
      connection.close();
    };
    return { columns: result.columns, portions: portionsOf(result.rows, close), close };
  } catch (error) {
    connection.close();
    throw error;
  }
}

/** Enough to be fast, few enough to use little memory. */
const PORTION_ROWS = 1000;

async function* portionsOf<Row>(rows: Iterable<Row>, close: () => Promise<void>): AsyncGenerator<readonly Row[]> {
  try {
    yield* batches(rows, PORTION_ROWS);
  } finally {
    await close();
  }
}

async function queryServer(address: PostgresAddress, options: QueryStreamOptions): Promise<ReadResult> {
  const { sql, parameters = [], bigints = false, statementTimeout = DEFAULTS.statementTimeout } = options;
  if (!isList(parameters))
    throw new OptionError('parameters', 'PostgreSQL takes parameters by position: write $1, $2, … and give an array');
  const timeoutSeconds = inRange('statementTimeout', statementTimeout, { min: 0, max: 86_400, whole: false });
  const { queryPostgres } = await import('../destination/postgres/query.ts');
  return queryPostgres(address, { sql, parameters, bigints, timeoutSeconds });
}

const isList = (parameters: QueryOptions['parameters']): parameters is readonly SqlValue[] => Array.isArray(parameters);

async function* objectsFrom(
  columns: readonly string[],
  portions: StreamedResult['portions'],
): AsyncGenerator<Readonly<Record<string, SqlValue>>> {
  for await (const portion of portions)
    for (const row of portion) yield Object.fromEntries(columns.map((name, i) => [name, row[i] ?? null]));
}
