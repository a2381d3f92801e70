import type { ReadStatement, SqlValue, StatementRows } from '../destination/mirror-store.ts';
import { rowObject } from '../destination/sql/portions.ts';
import { givenAddress } from '../settings/addresses/mirror-address.ts';
import { checkOptions } from '../settings/check-options.ts';
import { OptionError, readNumber } from '../settings/option-error.ts';
import type { OptionsNamed } from '../settings/options.ts';
import { openStore } from './open-store.ts';

export interface QueryOptions
  extends OptionsNamed<'db' | 'dbFile' | 'statementTimeout'>,
    Omit<ReadStatement, 'timeoutSeconds'> {
  /** One read-only statement. */
  readonly sql: string;
}

/** The rows of a read-only statement. They are read while iterating, and can be iterated once. */
export interface QueryResult extends StatementRows, AsyncIterable<Readonly<Record<string, SqlValue>>> {}

/** Runs one read-only SQL statement on a mirror, in its database's dialect. @throws SyncError */
export async function query(options: QueryOptions): Promise<QueryResult> {
  checkOptions(options);
  const { sql, parameters, bigints, statementTimeout } = options;
  const timeoutSeconds = readNumber('statementTimeout', statementTimeout);
  const store = await openStore(givenAddress(options));
  if (store.file === null && parameters !== undefined && !Array.isArray(parameters))
    throw new OptionError('parameters', 'PostgreSQL takes parameters by position: write $1, $2, … and give an array');
  const rows = await store.query({ sql, parameters, bigints, timeoutSeconds });
  return {
    ...rows,
    async *[Symbol.asyncIterator]() {
      for await (const portion of rows.portions) for (const row of portion) yield rowObject(rows.columns, row);
    },
  };
}
