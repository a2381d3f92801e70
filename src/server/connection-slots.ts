import type { Socket } from 'node:net';
import { networkOf } from './network.ts';

/** How many connections there may be, and how long they may be silent. */
export interface ConnectionLimits {
  /** All connections. */
  readonly most: number;
  /**
   * Those without a request. Each may hold up to 272 KB of unfinished headers in memory, 34 MiB in all. One more ends
   * the one that has waited longest.
   */
  readonly mostWaiting: number;
  /**
   * Those of one network that are being answered and have shown no valid token. One more ends the one whose client has
   * read nothing for longest.
   */
  readonly mostStrangers: number;
  /**
   * Without traffic for this long a connection is ended; if its answer is not read, when Node finds it silent for the
   * second time.
   */
  readonly silenceMs: number;
  /** The same while an answer is sent to a client that has shown no valid token. */
  readonly strangerSilenceMs: number;
}

export const CONNECTION_LIMITS: ConnectionLimits = {
  most: 1024,
  mostWaiting: 128,
  mostStrangers: 32,
  silenceMs: 60_000,
  strangerSilenceMs: 5000,
};

/**
 * Counts the connections. When there are too many, one gives way to the newest; strangers never take a place from a
 * valid token.
 */
export interface ConnectionSlots {
  /** A new connection. */
  opened(socket: Socket): void;
  /** A request has come. Its client is a stranger until `admitted` is called. */
  asked(socket: Socket): void;
  /** The request has a valid token. */
  admitted(socket: Socket): void;
  /** The connection has no request. */
  answered(socket: Socket): void;
}

export function openSlots(limits: ConnectionLimits): ConnectionSlots {
  // In each set, the connection that has made no progress for longest is first.
  const [strangers, waiting, readers] = [new Set<Socket>(), new Set<Socket>(), new Set<Socket>()];
  const networks = new WeakMap<Socket, string>();
  const leave = (socket: Socket): void => {
    for (const slots of [strangers, waiting, readers]) slots.delete(socket);
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
    move(socket, waiting);
    if (waiting.size > limits.mostWaiting) end(first(waiting));
  };
  return {
    opened(socket) {
      networks.set(socket, networkOf(socket.remoteAddress ?? ''));
      socket.once('close', () => leave(socket));
      socket.on('drain', () => strangers.has(socket) && move(socket, strangers));
      wait(socket);
      const open = strangers.size + waiting.size + readers.size;
      if (open > limits.most) end(first(strangers) ?? first(waiting));
    },
    asked(socket) {
      if (readers.has(socket)) return;
      move(socket, strangers);
      socket.setTimeout(limits.strangerSilenceMs);
      const network = networks.get(socket);
      const neighbours = [...strangers].filter((each) => networks.get(each) === network);
      if (neighbours.length > limits.mostStrangers) end(neighbours[0]);
    },
    admitted(socket) {
      if (!strangers.has(socket)) return;
      move(socket, readers);
      socket.setTimeout(limits.silenceMs);
    },
    answered: wait,
  };
}

const first = (sockets: ReadonlySet<Socket>): Socket | undefined => sockets.values().next().value;
