import type { ClientBase } from 'pg';
import { socketOf } from './socket.ts';

/** Closes a client's connection at once; its outstanding statements fail. */
export function destroyConnection(client: ClientBase): void {
  socketOf(client).destroy();
}
