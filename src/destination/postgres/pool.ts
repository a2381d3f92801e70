import PQueue from 'p-queue';
import { type ClientBase, DatabaseError, type PoolClient } from 'pg';
import type { Row } from '../../core/stream.ts';
import { destroyConnection, processIdOf, socketOf } from './driver-internals.ts';
import type { AnswerTimeout } from './end-when-silent.ts';
import { driverError, isLost, LostConnection, UnknownOutcome } from './lost-connection.ts';
import { closeClient, openClient, openClientPool, PIPELINE } from './open-client.ts';
import { sqlStateOf, TOO_MANY_CONNECTIONS } from './server-error.ts';
import { shareReads } from './shared-reads.ts';
import { inTransaction, type PostgresConnection, type PostgresDatabase } from './transaction.ts';
import { SQLITE_TYPES } from './values.ts';

/** Where a mirror is, and how many connections may be open at a time. */
interface PoolOptions extends AnswerTimeout {
  readonly schema: string;
  readonly maxConnections: number;
}

export interface PostgresPool extends PostgresDatabase {
  /** Drops all connections at once: their outstanding statements fail as lost. */
  destroy(): void;
  /** Cancels running statements. Not behind a pooler, where the process id may be another client's. */
  cancel(): Promise<void>;
}

/** A mirror's schema, accessed over several connections, one per transaction. */
export function openPool({ client, answerTimeoutMs, schema, maxConnections }: PoolOptions): PostgresPool {
  const busy = new Set<PoolClient>();
  // Whatever silenced one connection probably silenced the idle ones too; opening new ones is cheaper than finding out.
  const onSilent = (): void => {
    for (const each of open) if (!busy.has(each)) destroyConnection(each);
  };
  const options = { ...PIPELINE, max: maxConnections, types: SQLITE_TYPES };
  const { open, connect, close } = openClientPool({ client, answerTimeoutMs }, options, { onSilent });
  const inTurn = createTurns(maxConnections);
  const useConnection: PostgresDatabase['session'] = async (work) => {
    const connected = await connect().catch((error: unknown) => {
      // Other processes may soon release theirs.
      throw sqlStateOf(error) === TOO_MANY_CONNECTIONS ? new LostConnection(error) : error;
    });
    busy.add(connected);
    try {
      const done = await work(connectionOf(connected));
      connected.release();
      return done;
    } catch (error) {
      // A connection that is gone, or that may still have an open transaction, is not reused.
      connected.release(error instanceof UnknownOutcome || isLost(error));
      throw error;
    } finally {
      busy.delete(connected);
    }
  };
  const session: PostgresDatabase['session'] = (work) => inTurn(() => useConnection(work));
  const transaction: PostgresDatabase['transaction'] = (work, use) =>
    session((connection) => inTransaction(connection, { schema, use }, work));
  const read = shareReads((work) => transaction(work, 'read'));
  return {
    session,
    transaction: (work, use) => (use === 'read' ? read(work) : transaction(work, use)),
    destroy: () => open.forEach(destroyConnection),
    async cancel() {
      const backends = [...busy].map(processIdOf);
      if (backends.length > 0) await cancelBackends({ client, answerTimeoutMs }, backends);
    },
    close,
  };
}

/** How long work waits for a busy connection: opening another takes longer than most transactions. */
const PATIENCE_MS = 200;

/** Runs work one at a time, and more at a time each time that work has waited for long. */
function createTurns(most: number): <Done>(work: () => Promise<Done>) => Promise<Done> {
  const turns = new PQueue({ concurrency: 1 });
  const widen = (): void => {
    turns.concurrency = Math.min(most, turns.concurrency + 1);
  };
  return (work) => {
    const waiting = setTimeout(widen, PATIENCE_MS);
    return turns.add(() => {
      clearTimeout(waiting);
      return work();
    });
  };
}

/** Uses a connection of its own, because all others may be busy. */
async function cancelBackends(timeout: AnswerTimeout, backends: readonly (number | null)[]): Promise<void> {
  const client = await openClient(timeout);
  await client.query('select pg_cancel_backend(backend) from unnest($1::int[]) as backend', [backends]);
  await closeClient(client);
}

export function connectionOf(client: ClientBase): PostgresConnection {
  return {
    async query(sql, values) {
      try {
        const socket = socketOf(client);
        // Statements sent at the same time go out in one system call.
        socket.cork();
        process.nextTick(() => socket.uncork());
        const asked = values === undefined ? { text: sql } : { text: sql, values: [...values] };
        // Several statements return a list of results, which the driver's types don't cover.
        const [last] = [await client.query<Row>(asked)].flat().slice(-1);
        return { rows: last?.rows ?? [], changes: last?.rowCount ?? 0 };
      } catch (error) {
        // If the driver failed to send a statement, later ones must not run without it.
        if (!(error instanceof DatabaseError)) destroyConnection(client);
        throw driverError(error);
      }
    },
  };
}
