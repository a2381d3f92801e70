import { Client, type ClientBase, Pool, type PoolClient, type PoolConfig } from 'pg';
import { type AnswerTimeout, endWhenSilent, hasten } from './end-when-silent.ts';
import { driverError } from './lost-connection.ts';
import { socketOf } from './socket.ts';
import { SQLITE_TYPES } from './type-parsers.ts';

/** A statement is sent before the one in front of it is answered. */
export const PIPELINE = { pipeline: true } as const;

/**
 * Opens one connection to the server.
 * @throws LostConnection if the server was reached and then said no more; of a server that cannot be reached, the error
 * of its socket
 */
export async function openClient(timeout: AnswerTimeout): Promise<Client> {
  const client = new Client({ ...PIPELINE, ...timeout.client, types: SQLITE_TYPES });
  // What breaks between two statements is said by the next one.
  client.on('error', () => {});
  let isReached = false;
  socketOf(client).once('connect', () => {
    isReached = true;
  });
  await client.connect().catch((error: unknown) => {
    throw isReached || isReset(error) ? driverError(error) : error;
  });
  endWhenSilent(client, timeout);
  return client;
}

/** Says goodbye to the server, and waits only a moment for it to hang up. */
export function closeClient(client: ClientBase & { end(): Promise<void> }): Promise<void> {
  hasten(client);
  return client.end();
}

/** Something at the address hung up before it was known to be there. */
function isReset(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ECONNRESET';
}

/** Several connections to the server, each of which is opened when it is needed. */
export interface ClientPool {
  readonly pool: Pool;
  /** Those that are open. */
  readonly open: ReadonlySet<PoolClient>;
  close(): Promise<void>;
}

/**
 * `onLost` is told of connections that end while nothing uses them, `onSilent` when one is given up because an answer
 * is overdue.
 */
export function openClientPool(
  { client, answerTimeoutMs }: AnswerTimeout,
  options: PoolConfig,
  { onLost, onSilent }: { onLost?: ((error: Error) => void) | undefined; onSilent?: () => void } = {},
): ClientPool {
  const open = new Set<PoolClient>();
  const pool = new Pool({ ...client, ...options });
  // What is lost is replaced by the pool; what was under way fails.
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
  return { pool, open, close };
}
