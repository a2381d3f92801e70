import { drizzle, type NodePgDatabase } from 'drizzle-orm/node-postgres';
import { SyncError, translateErrors } from '../core/errors.ts';
import type { PostgresAddress } from '../destination/postgres/address.ts';
import { driverError } from '../destination/postgres/lost-connection.ts';
import { openClientPool } from '../destination/postgres/open-client.ts';
import { connectError, sqlStateOf } from '../destination/postgres/server-error.ts';

/** The database, or a transaction in it; `query` runs one statement. */
export interface WorkTransaction {
  readonly drizzle: NodePgDatabase;
  query(text: string, values?: readonly unknown[]): Promise<{ rows: Record<string, unknown>[] }>;
}

export interface WorkDatabase extends WorkTransaction {
  /** Runs the work in one transaction, all or nothing. */
  transaction<Done>(work: (transaction: WorkTransaction) => Promise<Done>): Promise<Done>;
  /** Turns an error of a statement into one that says what to do. */
  explain(error: unknown): unknown;
  close(): Promise<void>;
}

/** How many connections a worker uses for its own statements; a sync in flight has its own. */
const MAX_CONNECTIONS = 3;

/** Creates a pool that opens no connection before the first statement. `onLost`: an idle connection has ended. */
export function openWorkDatabase(
  { client, answerTimeoutMs, display }: PostgresAddress,
  onLost?: (error: Error) => void,
): WorkDatabase {
  const { pool, close } = openClientPool({ client, answerTimeoutMs }, { max: MAX_CONNECTIONS }, { onLost });
  const withDriverErrors = <Done>(done: Promise<Done>): Promise<Done> => translateErrors(done, driverError);
  const query: WorkDatabase['query'] = (text, values) => withDriverErrors(pool.query(text, values as unknown[]));
  return {
    drizzle: drizzle(pool),
    query,
    async transaction(work) {
      const connection = await withDriverErrors(pool.connect());
      let lost: Error | undefined;
      try {
        await withDriverErrors(connection.query('begin'));
        const done = await work({
          drizzle: drizzle(connection),
          query: (text, values) => withDriverErrors(connection.query(text, values as unknown[])),
        });
        await withDriverErrors(connection.query('commit'));
        return done;
      } catch (error) {
        // If a statement may be running, the connection is closed, which also rolls back.
        if (error instanceof SyncError || sqlStateOf(error) !== null) {
          // The original error explains more than a rollback that fails because the connection is gone.
          await connection.query('rollback').catch((cause: Error) => {
            lost = cause;
          });
        } else lost = error as Error;
        throw error;
      } finally {
        connection.release(lost);
      }
    },
    explain: (error) => connectError(display, error),
    close,
  };
}
