import { Client } from 'pg';
import type { PostgresAddress } from './address.ts';
import { breakOff } from './break-off.ts';
import { driverError } from './lost-connection.ts';
import { connectionOf, PIPELINE } from './pool.ts';
import { processIdOf } from './process-id.ts';
import { inTransaction, type PostgresDatabase } from './transaction.ts';
import { SQLITE_TYPES } from './type-parsers.ts';

/** A connection that stays, whose end tells others at once that its process has gone. */
export interface LastingConnection extends Pick<PostgresDatabase, 'transaction' | 'close'> {
  /** The number of its backend, as the server, or a pooler before it, gave it at the start. */
  readonly processId: number | null;
  /** Ends the connection without a word to the server, which may not answer any more. */
  breakOff(): void;
  /** Calls a function when the connection has ended, unless it was closed here. */
  onEnd(act: () => void): void;
}

export async function openLastingConnection({ client: config, schema }: PostgresAddress): Promise<LastingConnection> {
  const client = new Client({ ...config, ...PIPELINE, types: SQLITE_TYPES });
  let act = (): void => {};
  // What breaks between two transactions ends the connection as well.
  client.on('error', () => {});
  client.once('end', () => act());
  await client.connect().catch((error: unknown) => {
    throw driverError(error);
  });
  const connection = connectionOf(client);
  return {
    processId: processIdOf(client),
    transaction: (work, use) => inTransaction(connection, { schema, use }, work),
    onEnd: (given) => {
      act = given;
    },
    breakOff: () => breakOff(client),
    async close() {
      act = () => {};
      await client.end();
    },
  };
}
