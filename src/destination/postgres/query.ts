/// <reference path="./pg-cursor.d.ts" />
import { type Client, type Connection, DatabaseError, type Submittable } from 'pg';
import Cursor from 'pg-cursor';
import { SyncError, usageError } from '../../core/errors.ts';
import type { ReadStatement, SqlValue, StatementRows } from '../mirror-store.ts';
import { FIRST_PORTION, nextPortion } from '../sql/portions.ts';
import type { PostgresAddress } from './address.ts';
import { refuseOtherVersion } from './copy.ts';
import { beginIn, closeOnError, type OpenConnection, openConnection } from './open-connection.ts';
import { serverError, sqlStateOf } from './server-error.ts';
import { exactTypes } from './values.ts';

type ResultRow = readonly SqlValue[];

/**
 * Runs one read-only statement up to its first rows, so an error is thrown before anything is printed.
 * @throws SyncError `usage` if it is not SQL, is more than one statement, writes, or returns no rows
 */
export async function queryPostgres(address: PostgresAddress, query: ReadStatement): Promise<StatementRows> {
  // A cursor blocks all other statements.
  const unpipelined = { ...address, client: { ...address.client, ...{ pipeline: false } } };
  return closeOnError(await openConnection(unpipelined), async (connection) => {
    await beginIn(connection, address.schema, 'isolation level repeatable read, read only');
    await refuseOtherVersion(connection, address);
    await connection.query(`set local statement_timeout to ${Math.round(query.timeoutSeconds * 1000)}`);
    return startQuery(connection, address, query);
  });
}

async function startQuery(
  connection: OpenConnection,
  { display }: PostgresAddress,
  query: ReadStatement,
): Promise<StatementRows> {
  // A statement without rows is not run at all: COPY would write files on the server even in a read-only transaction.
  const described = returnsRows(connection.client, query.sql);
  const hasRows = await described.catch(async (error: unknown) => {
    throw await statementError(display, query, error);
  });
  if (!hasRows) throw usageError('query only reads, and this statement returns no rows: use a SELECT');
  const { sql, parameters = [], bigints = false } = query;
  const cursor = connection.client.query(
    new Cursor<ResultRow>(sql, parameters as readonly SqlValue[], { rowMode: 'array', types: exactTypes(bigints) }),
  );
  const read = (count: number) =>
    new Promise<{ rows: ResultRow[]; columns: string[] }>((resolve, reject) => {
      cursor.read(count, (error, rows, result) => {
        if (error) statementError(display, query, error).then(reject, reject);
        else resolve({ rows, columns: result?.fields.map(({ name }) => name) ?? [] });
      });
    });
  const first = await read(FIRST_PORTION);
  // Settings that the statement made for its session end with the transaction, which is never committed.
  const close = (): Promise<void> => connection.close();
  return { columns: first.columns, portions: readOn(first.rows, read, close), close };
}

async function* readOn(
  first: readonly ResultRow[],
  read: (count: number) => Promise<{ readonly rows: readonly ResultRow[] }>,
  close: () => Promise<void>,
): AsyncGenerator<readonly ResultRow[]> {
  try {
    for (let rows = first; rows.length > 0; rows = (await read(nextPortion(rows, MAX_ROWS))).rows) yield rows;
  } finally {
    await close();
  }
}

/** A result is printed or passed on one portion at a time. */
const MAX_ROWS = 2000;

/** Classes of SQLSTATE that are not about the statement. */
const OF_THE_SERVER = /^(08(?!P01)|28|3D|53|57P|58|XX)/;

async function statementError(
  display: string,
  { sql, timeoutSeconds }: ReadStatement,
  error: unknown,
): Promise<unknown> {
  const state = sqlStateOf(error);
  if (!(error instanceof DatabaseError) || state === null || OF_THE_SERVER.test(state))
    return serverError(display, error);
  if (state === '57014')
    return new SyncError(
      'run',
      `the statement was cancelled: it took longer than ${timeoutSeconds} seconds, or an administrator cancelled it; make it cheaper, or allow more with --statement-timeout`,
      { cause: error },
    );
  return usageError(await adviceFor(state, sql, error), { cause: error });
}

async function adviceFor(state: string, sql: string, { message, position, hint }: DatabaseError): Promise<string> {
  if (state === '25006') return 'query only reads, but this statement writes: use a SELECT';
  // The parser reports a position, unless the error is a second statement.
  if (state === '42601' && position === undefined) return 'query takes one SQL statement';
  // A parameter without a value.
  if (state === '08P01' || state === '42P02') return 'the statement has parameters: write their values into it';
  const place = position === undefined ? '' : ` (${placeOf(sql, Number(position))})`;
  const advice = state === NOT_SUPPORTED ? await adviceForCitus(sql) : '';
  return `the statement cannot be run: ${message}${place}${hint === undefined ? '' : `; ${hint}`}${advice}`;
}

/** PostgreSQL's code for what a server, or Citus, does not support. */
const NOT_SUPPORTED = '0A000';

/** Citus reads a recursive view only through its function. */
async function adviceForCitus(sql: string): Promise<string> {
  const { functionOf, recursiveViews } = await import('./views.ts');
  const read = recursiveViews().filter((name) => new RegExp(`\\b${name}\\b`, 'i').test(sql));
  const functions = read.map((name) => `${functionOf(name)}('ENVIRONMENT_ID') instead of ${name}`);
  return functions.length === 0 ? '' : `; on Citus, read ${functions.join(' and ')}`;
}

/** Where a character of the statement is, counted from 1. */
function placeOf(sql: string, position: number): string {
  const before = [...sql]
    .slice(0, position - 1)
    .join('')
    .split('\n');
  return `line ${before.length}, column ${[...(before.at(-1) ?? '')].length + 1}`;
}

/** Whether a statement returns rows; the server tells without running any of it. */
function returnsRows(client: Client, text: string): Promise<boolean> {
  const { promise, resolve, reject } = Promise.withResolvers<boolean>();
  let hasRows = false;
  // The driver has no call to describe a statement, so this object implements what it expects of a query.
  client.query({
    submit(connection: Connection) {
      connection.parse({ name: '', text, types: [] }, true);
      connection.describe({ type: 'S', name: '' }, true);
      connection.sync();
    },
    handleRowDescription() {
      hasRows = true;
    },
    handleReadyForQuery: () => resolve(hasRows),
    handleError: reject,
  } satisfies Submittable & Readonly<Record<string, unknown>>);
  return promise;
}
