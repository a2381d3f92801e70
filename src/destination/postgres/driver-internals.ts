import type { Socket } from 'node:net';
import type { ClientBase } from 'pg';

/** The socket of a connected client; its types don't name it. */
export function socketOf(client: ClientBase): Socket {
  return (client as unknown as { connection: { stream: Socket } }).connection.stream;
}

/** Closes a client's connection at once; its outstanding statements fail. */
export function destroyConnection(client: ClientBase): void {
  socketOf(client).destroy();
}

/** The process id of a connection's backend, as the server, or a pooler in front of it, reported it at the start. */
export function processIdOf(client: object): number | null {
  return 'processID' in client && typeof client.processID === 'number' ? client.processID : null;
}
