import { translateErrors } from '../../core/errors.ts';
import type { PostgresAddress } from './address.ts';
import { destroyConnection, processIdOf } from './driver-internals.ts';
import { driverError } from './lost-connection.ts';
import { closeClient, openClient } from './open-client.ts';
import { connectionOf } from './pool.ts';
import { inTransaction, type PostgresDatabase } from './transaction.ts';

export type LastingConnection = Awaited<ReturnType<typeof openLastingConnection>>;

/** A connection that stays open. When it ends, others know at once that its process is gone. */
export async function openLastingConnection({ schema, ...address }: PostgresAddress) {
  const client = await translateErrors(openClient(address), driverError);
  let act = (): void => {};
  client.once('end', () => act());
  const connection = connectionOf(client);
  const transaction: PostgresDatabase['transaction'] = (work, use) => inTransaction(connection, { schema, use }, work);
  return {
    processId: processIdOf(client),
    transaction,
    /** Calls a function when the connection has ended, unless it was closed here. */
    onEnd(given: () => void): void {
      act = given;
    },
    /** Drops the connection without notifying the server, which may no longer respond. */
    destroy: () => destroyConnection(client),
    async close(): Promise<void> {
      act = () => {};
      await closeClient(client);
    },
  };
}
