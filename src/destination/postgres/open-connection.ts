import type { Client } from 'pg';
import { translateErrors, usageError } from '../../core/errors.ts';
import type { CopiedRow } from '../sql/copied-tables.ts';
import type { PostgresAddress } from './address.ts';
import { driverError } from './lost-connection.ts';
import { closeClient, openClient } from './open-client.ts';
import { connectionOf } from './pool.ts';
import { type RetryWaiting, WAITING, withRetry } from './retry.ts';
import { connectError, refuseOldServer, serverError } from './server-error.ts';
import { beginStatement, type PostgresConnection } from './transaction.ts';

/** A connection that also lists rows, for reading many of them. */
export interface ListConnection extends PostgresConnection {
  /** The rows of one statement as lists. */
  list(text: string, values?: readonly unknown[]): Promise<CopiedRow[]>;
  close(): Promise<void>;
}

/** One connection for as long as its user needs it. Every error says what is wrong with the server and what to do. */
export interface OpenConnection extends ListConnection {
  readonly client: Client;
}

/** Opens a connection, and retries if it is lost meanwhile. @throws SyncError */
export function openConnection(address: PostgresAddress, waiting: RetryWaiting = WAITING): Promise<OpenConnection> {
  return withRetry(waiting, () => openOnce(address));
}

async function openOnce(address: PostgresAddress): Promise<OpenConnection> {
  const { display } = address;
  const client = await translateErrors(openClient(address), (error) => connectError(display, error));
  const facing = <Found>(answer: Promise<Found>): Promise<Found> =>
    translateErrors(answer, (error) => serverError(display, driverError(error)));
  const connection = connectionOf(client);
  const open: OpenConnection = {
    client,
    query: (text, values) => facing(connection.query(text, values)),
    list: async (text, values = []) =>
      (await facing(client.query<string[]>({ text, values: [...values], rowMode: 'array' }))).rows,
    close: () => closeClient(client),
  };
  return closeOnError(open, async () => {
    await checkServer(open, display);
    return open;
  });
}

/** Begins to use a connection, which is closed if that fails. */
export async function closeOnError<Done>(
  connection: OpenConnection,
  work: (connection: OpenConnection) => Promise<Done>,
): Promise<Done> {
  try {
    return await work(connection);
  } catch (error) {
    await connection.close();
    throw error;
  }
}

/** @throws SyncError `usage` if the server is too old, or its database cannot hold every character */
export async function checkServer(connection: PostgresConnection, display: string): Promise<void> {
  const [{ version, encoding } = {}] = (await connection.query(SERVER_FACTS)).rows;
  refuseOldServer(display, Number(version));
  if (encoding === 'UTF8') return;
  throw usageError(
    `${display} is encoded in ${encoding}, which cannot hold every character: create a database with UTF8 (createdb --encoding=UTF8 --template=template0)`,
  );
}

/** The server's version number, such as 180004 for 18.4, and the encoding of its database. */
const SERVER_FACTS =
  "select current_setting('server_version_num')::int as version, current_setting('server_encoding') as encoding";

/** Begins a transaction in a mirror's schema with no time limit. */
export async function beginIn(connection: ListConnection, schema: string, mode: string): Promise<void> {
  await connection.query(beginStatement({ schema, mode, idleTimeoutMs: 0 }));
}
