import { LEASE_MS } from '../../core/lease.ts';
import type { PostgresConnection } from './connection.ts';
import { isLost, UnknownOutcome } from './lost-connection.ts';
import { settingsIn } from './settings.ts';

/** The schema of a mirror in a PostgreSQL database. */
export interface PostgresDatabase {
  /** Does the work in a transaction, all of it or none. */
  transaction<Done>(work: (connection: PostgresConnection) => Promise<Done>): Promise<Done>;
  /** Does work that makes its own transactions. */
  session<Done>(work: (connection: PostgresConnection) => Promise<Done>): Promise<Done>;
  close(): Promise<void>;
}

/** Does the work in a transaction of this connection, all of it or none. @throws UnknownOutcome if nobody knows which */
export async function inTransaction<Done>(
  connection: PostgresConnection,
  schema: string,
  work: (connection: PostgresConnection) => Promise<Done>,
): Promise<Done> {
  const begin = async (): Promise<Done> => {
    // A process that is stopped in a transaction loses its row locks with its lease (R26).
    const { text, values } = settingsIn(schema, LEASE_MS);
    await bothEnded(connection.query('begin isolation level read committed'), connection.query(text, values));
    return work(connection);
  };
  const done = await begin().catch(async (error: unknown) => {
    if (!isLost(error)) await connection.query('rollback');
    throw error;
  });
  try {
    await connection.query('commit');
  } catch (error) {
    throw isLost(error) ? new UnknownOutcome(error) : error;
  }
  return done;
}

/**
 * Waits until both have ended, even if one fails: a transaction is not rolled back while statements are still to come, because those would
 * be outside of it. @throws the reason of the first, then that of the second
 */
export async function bothEnded<One, Other>(one: Promise<One>, other: Promise<Other>): Promise<[One, Other]> {
  await Promise.allSettled([one, other]);
  return [await one, await other];
}
