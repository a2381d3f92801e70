import { type ClientBase, DatabaseError, type Pool, type PoolClient } from 'pg';
import type { Row } from '../../core/stream.ts';
import type { PostgresConnection } from './connection.ts';
import { destroyConnection } from './destroy-connection.ts';
import type { AnswerTimeout } from './end-when-silent.ts';
import { driverError, isLost, LostConnection, UnknownOutcome } from './lost-connection.ts';
import { closeClient, openClient, openClientPool, PIPELINE } from './open-client.ts';
import { processIdOf } from './process-id.ts';
import { sqlStateOf, TOO_MANY_CONNECTIONS } from './server-error.ts';
import { socketOf } from './socket.ts';
import { inTransaction, type PostgresDatabase } from './transaction.ts';
import { SQLITE_TYPES } from './type-parsers.ts';

/** Where a mirror is, and how many connections may be open at the same time. */
interface PoolOptions extends AnswerTimeout {
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
export function openPool({ client, answerTimeoutMs, mostConnections, ...settings }: PoolOptions): PostgresPool {
  const busy = new Set<PoolClient>();
  // What silenced one connection most likely silenced those beside it: a new one costs less than to find out.
  const onSilent = (): void => {
    for (const each of open) if (!busy.has(each)) destroyConnection(each);
  };
  const options = { ...PIPELINE, max: mostConnections, types: SQLITE_TYPES };
  const { pool, open, close } = openClientPool({ client, answerTimeoutMs }, options, { onSilent });
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
    breakOff: () => open.forEach(destroyConnection),
    async cancel() {
      const backends = [...busy].map(processIdOf);
      if (backends.length > 0) await cancelBackends({ client, answerTimeoutMs }, backends);
    },
    close,
  };
}

/** Over a connection of its own, as all others may be busy. */
async function cancelBackends(timeout: AnswerTimeout, backends: readonly (number | null)[]): Promise<void> {
  const client = await openClient(timeout);
  await client.query('select pg_cancel_backend(backend) from unnest($1::int[]) as backend', [backends]);
  await closeClient(client);
}

async function connect(pool: Pool): Promise<PoolClient> {
  try {
    return await pool.connect();
  } catch (error) {
    // In the middle of a run, others may soon give back theirs.
    throw sqlStateOf(error) === TOO_MANY_CONNECTIONS ? new LostConnection(error) : driverError(error);
  }
}

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
        if (!(error instanceof DatabaseError)) destroyConnection(client);
        throw driverError(error);
      }
    },
  };
}
