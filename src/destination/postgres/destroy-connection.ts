import type { ClientBase } from 'pg';
import { socketOf } from './socket.ts';

/** Ends the connection of a client at once: what it has asked fails. */
export function destroyConnection(client: ClientBase): void {
  socketOf(client).destroy();
}
