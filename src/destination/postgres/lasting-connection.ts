import { translateErrors } from '../../core/errors.ts';
import type { PostgresAddress } from './address.ts';
import { destroyConnection, processIdOf } from './driver-internals.ts';
import { driverError } from './lost-connection.ts';
import { closeClient, openClient } from './open-client.ts';
import { connectionOf } from './pool.ts';
import { inTransaction, type PostgresDatabase } from './transaction.ts';

/** A connection that stays open. When it ends, others know at once that its process is gone. */
export interface LastingConnection extends Pick<PostgresDatabase, 'transaction' | 'close'> {
  /** The process id of its backend, as the server, or a pooler in front of it, reported it at the start. */
  readonly processId: number | null;
  /** Drops the connection without notifying the server, which may no longer respond. */
  destroy(): void;
  /** Calls a function when the connection has ended, unless it was closed here. */
  onEnd(act: () => void): void;
}

export async function openLastingConnection({ schema, ...address }: PostgresAddress): Promise<LastingConnection> {
  const client = await translateErrors(openClient(address), driverError);
  let act = (): void => {};
  client.once('end', () => act());
  const connection = connectionOf(client);
  return {
    processId: processIdOf(client),
    transaction: (work, use) => inTransaction(connection, { schema, use }, work),
    onEnd: (given) => {
      act = given;
    },
    destroy: () => destroyConnection(client),
    async close() {
      act = () => {};
      await closeClient(client);
    },
  };
}
