import type { Socket } from 'node:net';
import type { ClientBase } from 'pg';

/** A connection that another host has forgotten is noticed. */
export const KEEP_ALIVE = { keepAlive: true, keepAliveInitialDelayMillis: 10_000 };

/** Ends the connection of a client at once: what it has asked fails. */
export function breakOff(client: ClientBase): void {
  (client as unknown as { connection: { stream: Socket } }).connection.stream.destroy();
}
