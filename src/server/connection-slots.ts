import type { Socket } from 'node:net';
import { networkOf } from './network.ts';

/** How many connections there may be, and how long they may be silent. */
export interface ConnectionLimits {
  /** All connections. */
  readonly max: number;
  /**
   * Those without a request. Each may hold up to 272 KB of unfinished headers in memory, 34 MiB in all. One more ends
   * the one that has waited longest.
   */
  readonly maxIdle: number;
  /**
   * Those of one network that are being answered and have shown no valid token. One more ends the one whose client has
   * read nothing for longest.
   */
  readonly maxUnauthenticated: number;
  /**
   * Without traffic for this long a connection is ended; if its answer is not read, when Node finds it silent for the
   * second time.
   */
  readonly timeoutMs: number;
  /** The same while an answer is sent to a client that has shown no valid token. */
  readonly unauthenticatedTimeoutMs: number;
}

export const CONNECTION_LIMITS: ConnectionLimits = {
  max: 1024,
  maxIdle: 128,
  maxUnauthenticated: 32,
  timeoutMs: 60_000,
  unauthenticatedTimeoutMs: 5000,
};

/**
 * Counts the connections. When there are too many, one gives way to the newest; strangers never take a place from a
 * valid token.
 */
export interface ConnectionSlots {
  /** A new connection. */
  opened(socket: Socket): void;
  /** A request has come. Its client is a stranger until `admitted` is called. */
  requested(socket: Socket): void;
  /** The request has a valid token. */
  authenticated(socket: Socket): void;
  /** The connection has no request. */
  answered(socket: Socket): void;
}

export function createConnectionSlots(limits: ConnectionLimits): ConnectionSlots {
  // In each set, the connection that has made no progress for longest is first.
  const [unauthenticated, idle, readers] = [new Set<Socket>(), new Set<Socket>(), new Set<Socket>()];
  const networks = new WeakMap<Socket, string>();
  const leave = (socket: Socket): void => {
    for (const slots of [unauthenticated, idle, readers]) slots.delete(socket);
  };
  const move = (socket: Socket, slots: Set<Socket>): void => {
    leave(socket);
    if (!socket.destroyed) slots.add(socket);
  };
  const end = (socket: Socket | undefined): void => {
    if (socket === undefined) return;
    leave(socket);
    socket.destroy();
  };
  const wait = (socket: Socket): void => {
    move(socket, idle);
    if (idle.size > limits.maxIdle) end(first(idle));
  };
  return {
    opened(socket) {
      networks.set(socket, networkOf(socket.remoteAddress ?? ''));
      socket.once('close', () => leave(socket));
      socket.on('drain', () => unauthenticated.has(socket) && move(socket, unauthenticated));
      wait(socket);
      const open = unauthenticated.size + idle.size + readers.size;
      if (open > limits.max) end(first(unauthenticated) ?? first(idle));
    },
    requested(socket) {
      if (readers.has(socket)) return;
      move(socket, unauthenticated);
      socket.setTimeout(limits.unauthenticatedTimeoutMs);
      const network = networks.get(socket);
      const neighbours = [...unauthenticated].filter((each) => networks.get(each) === network);
      if (neighbours.length > limits.maxUnauthenticated) end(neighbours[0]);
    },
    authenticated(socket) {
      if (!unauthenticated.has(socket)) return;
      move(socket, readers);
      socket.setTimeout(limits.timeoutMs);
    },
    answered: wait,
  };
}

const first = (sockets: ReadonlySet<Socket>): Socket | undefined => sockets.values().next().value;
