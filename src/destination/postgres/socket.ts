import type { Socket } from 'node:net';
import type { ClientBase } from 'pg';

/** The socket of a client that is connected. Its types do not name it. */
export function socketOf(client: ClientBase): Socket {
  return (client as unknown as { connection: { stream: Socket } }).connection.stream;
}
