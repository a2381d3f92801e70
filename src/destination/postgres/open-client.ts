import { Client, type ClientBase, type ClientConfig, Pool, type PoolClient, type PoolConfig } from 'pg';
import { errorCode, translateErrors } from '../../core/errors.ts';
import { socketOf } from './driver-internals.ts';
import { type AnswerTimeout, endWhenSilent, hasten } from './end-when-silent.ts';
import { driverError } from './lost-connection.ts';
import { SQLITE_TYPES } from './values.ts';

/** Statements are sent before the previous one is answered. */
export const PIPELINE = { pipeline: true } as const;

/**
 * Opens one connection to the server.
 * @throws LostConnection if the server was reached and then fell silent; the socket's error if it cannot be reached
 */
export async function openClient(timeout: AnswerTimeout): Promise<Client> {
  const { Watched, connectingError } = watchedClient();
  const client = new Watched({ ...PIPELINE, ...timeout.client, types: SQLITE_TYPES });
  // An error between two statements is reported by the next one.
  client.on('error', () => {});
  await translateErrors(client.connect(), connectingError);
  endWhenSilent(client, timeout);
  return client;
}

/** Closes the connection, waiting only briefly for the server to hang up. */
export function closeClient(client: ClientBase & { end(): Promise<void> }): Promise<void> {
  hasten(client);
  return client.end();
}

/** Clients, and what an error means while one connects: until something at the address was reached, it is not lost. */
function watchedClient() {
  let isReached = false;
  const Watched = class extends Client {
    constructor(config?: string | ClientConfig) {
      super(config);
      socketOf(this).once('connect', () => {
        isReached = true;
      });
    }
  };
  const connectingError = (error: unknown): unknown => {
    // Something at the address may also hang up before it is identified.
    return isReached || errorCode(error) === 'ECONNRESET' ? driverError(error) : error;
  };
  return { Watched, connectingError };
}

/**
 * Several connections to the server, opened on demand. Calls `onLost` for an idle connection that ends, and `onSilent`
 * when one is dropped because an answer is overdue.
 */
export function openClientPool(
  { client, answerTimeoutMs }: AnswerTimeout,
  options: PoolConfig,
  { onLost, onSilent }: { onLost?: ((error: Error) => void) | undefined; onSilent?: () => void } = {},
) {
  const open = new Set<PoolClient>();
  const { Watched, connectingError } = watchedClient();
  const pool = new Pool({ ...client, ...options, Client: Watched });
  // The pool replaces lost connections; their outstanding statements fail.
  pool.on('error', (error) => onLost?.(error));
  pool.on('connect', (connected) => {
    connected.on('error', () => {});
    open.add(connected);
    endWhenSilent(connected, { client, answerTimeoutMs }, onSilent);
  });
  pool.on('remove', (removed) => open.delete(removed));
  const close = (): Promise<void> => {
    open.forEach(hasten);
    return pool.end();
  };
  /** @throws LostConnection if the server was reached before; the socket's error if it never was */
  const connect = (): Promise<PoolClient> => translateErrors(pool.connect(), connectingError);
  return { pool, open, connect, close };
}
