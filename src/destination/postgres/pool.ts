import { Client, type ClientBase, type ClientConfig, DatabaseError, Pool, type PoolClient } from 'pg';
import type { Row } from '../../core/stream.ts';
import { breakOff } from './break-off.ts';
import type { PostgresConnection } from './connection.ts';
import { driverError, isLost, LostConnection, UnknownOutcome } from './lost-connection.ts';
import { processIdOf } from './process-id.ts';
import { sqlStateOf } from './server-error.ts';
import { socketOf } from './socket.ts';
import { inTransaction, type PostgresDatabase } from './transaction.ts';
import { SQLITE_TYPES } from './type-parsers.ts';

/** Where a mirror is, and how many connections may be open at the same time. */
interface PoolOptions {
  readonly client: ClientConfig;
  readonly schema: string;
  readonly mostConnections: number;
  /** After so long without a statement the server ends a transaction; left out for the time of a lease. */
  readonly idleTimeoutMs?: number;
}

export interface PostgresPool extends PostgresDatabase {
  /** Ends all connections at once: whatever is under way fails as lost. */
  breakOff(): void;
  /** Cancels what is under way. Not behind a pooler, where the number of a backend may be that of another one. */
  cancel(): Promise<void>;
}

/** A mirror's schema of a server, over several connections: each transaction has one for itself. */
export function openPool({ client, mostConnections, ...settings }: PoolOptions): PostgresPool {
  const open = new Set<PoolClient>();
  const pool = new Pool({
    ...client,
    ...PIPELINE,
    max: mostConnections,
    types: SQLITE_TYPES,
  });
  // A lost connection also fails the statement under way. One that was idle is replaced by the pool.
  pool.on('error', () => undefined);
  pool.on('connect', (connected) => {
    connected.on('error', () => undefined);
    open.add(connected);
  });
  pool.on('remove', (removed) => open.delete(removed));
  const busy = new Set<PoolClient>();
  const session: PostgresDatabase['session'] = async (work) => {
    const connected = await connect(pool);
    busy.add(connected);
    try {
      const done = await work(connectionOf(connected));
      connected.release();
      return done;
    } catch (error) {
      // A connection that is gone, or in which a transaction may still be open, is not used again.
      connected.release(error instanceof UnknownOutcome || isLost(error));
      throw error;
    } finally {
      busy.delete(connected);
    }
  };
  return {
    session,
    transaction: (work, use) => session((connection) => inTransaction(connection, { ...settings, use }, work)),
    breakOff: () => open.forEach(breakOff),
    async cancel() {
      const backends = [...busy].map(processIdOf);
      if (backends.length > 0) await cancelBackends(client, backends);
    },
    close: () => pool.end(),
  };
}

/** Over a connection of its own, as all others may be busy. */
async function cancelBackends(config: ClientConfig, backends: readonly (number | null)[]): Promise<void> {
  const client = new Client(config);
  client.on('error', () => undefined);
  await client.connect();
  await client.query('select pg_cancel_backend(backend) from unnest($1::int[]) as backend', [backends]);
  await client.end();
}

async function connect(pool: Pool): Promise<PoolClient> {
  try {
    return await pool.connect();
  } catch (error) {
    // In the middle of a run, others may soon give back theirs.
    throw sqlStateOf(error) === TOO_MANY ? new LostConnection(error) : driverError(error);
  }
}

/** The code of PostgreSQL for too many connections. */
const TOO_MANY = '53300';

/** A statement is sent before the one in front of it is answered. */
export const PIPELINE = { pipeline: true } as const;

export function connectionOf(client: ClientBase): PostgresConnection {
  return {
    async query(sql, values) {
      try {
        const socket = socketOf(client);
        // What is sent at the same time goes by one call of the system.
        socket.cork();
        process.nextTick(() => socket.uncork());
        const asked = values === undefined ? { text: sql } : { text: sql, values: [...values] };
        // Several statements give a list of answers, which the types of the driver do not know.
        const [last] = [await client.query<Row>(asked)].flat().slice(-1);
        return { rows: last?.rows ?? [], changes: last?.rowCount ?? 0 };
      } catch (error) {
        // What the driver did not send must not be missing between what it sent.
        if (!(error instanceof DatabaseError)) breakOff(client);
        throw driverError(error);
      }
    },
  };
}
