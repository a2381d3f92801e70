import type { Socket } from 'node:net';
import type { ClientBase } from 'pg';

/** The socket of a connected client; its types don't name it. */
export function socketOf(client: ClientBase): Socket {
  return (client as unknown as { connection: { stream: Socket } }).connection.stream;
}
