import type { PostgresConnection } from './connection.ts';
import { isLost, UnknownOutcome } from './lost-connection.ts';

/** The schema of a mirror in a PostgreSQL database. */
export interface PostgresDatabase {
  /** Does the work in a transaction, all of it or none. */
  transaction<Done>(work: (connection: PostgresConnection) => Promise<Done>): Promise<Done>;
  /** Does work that makes its own transactions. */
  session<Done>(work: (connection: PostgresConnection) => Promise<Done>): Promise<Done>;
  close(): Promise<void>;
}

/**
 * What holds in a transaction: where its tables are, and how the server writes values. A pooler may give each transaction another
 * session, so nothing is set for longer.
 */
const SETTINGS = `select set_config('search_path', $1, true), set_config('timezone', 'UTC', true),
  set_config('datestyle', 'ISO', true), set_config('extra_float_digits', '1', true)`;

/** Does the work in a transaction of this connection, all of it or none. @throws UnknownOutcome if nobody knows which */
export async function inTransaction<Done>(
  connection: PostgresConnection,
  schema: string,
  work: (connection: PostgresConnection) => Promise<Done>,
): Promise<Done> {
  await Promise.all([connection.query('begin'), connection.query(SETTINGS, [`"${schema.replaceAll('"', '""')}"`])]);
  const done = await work(connection).catch(async (error: unknown) => {
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
