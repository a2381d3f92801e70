import type { Socket } from 'node:net';
import type { ClientBase } from 'pg';

/** Ends the connection of a client at once: what it has asked fails. */
export function breakOff(client: ClientBase): void {
  (client as unknown as { connection: { stream: Socket } }).connection.stream.destroy();
}
