import type { Socket } from 'node:net';
import { networkOf } from './network.ts';

export const CONNECTION_LIMITS = {
  max: 1024,
  /**
   * Connections without a request. Each may hold up to 272 KB of unfinished headers in memory, 34 MiB in all. Beyond
   * the limit, the one that has waited longest is closed.
   */
  maxIdle: 128,
  /**
   * Connections of one network with a request in progress but no valid token. Beyond the limit, the one whose client
   * has gone longest without reading is closed.
   */
  maxUnauthenticated: 32,
  /** A connection without traffic closes after this long, or twice as long while its answer is not read. */
  timeoutMs: 60_000,
  /** The same while answering a client without a valid token. */
  unauthenticatedTimeoutMs: 5000,
};

export type ConnectionLimits = Readonly<typeof CONNECTION_LIMITS>;

/** Counts connections. Beyond a limit an older one makes room, but never one with a valid token for one without. */
export function createConnectionSlots(limits: ConnectionLimits) {
  // In each set, the connection that has gone longest without progress comes first.
  const [unauthenticated, idle, readers] = [new Set<Socket>(), new Set<Socket>(), new Set<Socket>()];
  const networks = new WeakMap<Socket, string>();
  const slotsOf = new WeakMap<Socket, Set<Socket>>();
  const leave = (socket: Socket): void => void slotsOf.get(socket)?.delete(socket);
  const move = (socket: Socket, slots: Set<Socket>): void => {
    leave(socket);
    if (socket.destroyed) return;
    slotsOf.set(socket, slots);
    slots.add(socket);
  };
  const close = (socket: Socket | undefined): void => {
    if (socket === undefined) return;
    leave(socket);
    socket.destroy();
  };
  const markIdle = (socket: Socket): void => {
    move(socket, idle);
    if (idle.size > limits.maxIdle) close(first(idle));
  };
  return {
    opened(socket: Socket): void {
      networks.set(socket, networkOf(socket.remoteAddress ?? ''));
      socket.once('close', () => leave(socket));
      socket.on('drain', () => unauthenticated.has(socket) && move(socket, unauthenticated));
      markIdle(socket);
      const open = unauthenticated.size + idle.size + readers.size;
      if (open > limits.max) close(first(unauthenticated) ?? first(idle));
    },
    /** A request has arrived. Its client counts as unauthenticated until `authenticated` is called. */
    requested(socket: Socket): void {
      if (readers.has(socket)) return;
      move(socket, unauthenticated);
      socket.setTimeout(limits.unauthenticatedTimeoutMs);
      if (unauthenticated.size <= limits.maxUnauthenticated) return;
      const network = networks.get(socket);
      const neighbours = [...unauthenticated].filter((each) => networks.get(each) === network);
      if (neighbours.length > limits.maxUnauthenticated) close(neighbours[0]);
    },
    authenticated(socket: Socket): void {
      if (!unauthenticated.has(socket)) return;
      move(socket, readers);
      socket.setTimeout(limits.timeoutMs);
    },
    answered: markIdle,
  };
}

const first = (sockets: ReadonlySet<Socket>): Socket | undefined => sockets.values().next().value;
