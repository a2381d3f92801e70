import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';

/** Who sends more requests on one connection than this, without waiting for an answer, wants no answers. */
export const MOST_UNANSWERED = 16;

/**
 * Connections that may be open without a request under way: up to 272 KB of unfinished headers stay in memory for each, 34 MiB in
 * all. With one more, the connection that has waited longest is ended.
 */
export const MOST_WAITING_CONNECTIONS = 128;

/** With those that have a request under way: nobody keeps one open for long without a token. */
const MOST_CONNECTIONS = 1024;

/** The answers under way on a connection, the oldest first; each with a promise that it is over, read or not. */
type PendingAnswers = Map<ServerResponse, PromiseWithResolvers<void>>;

/** The connections that have asked something. */
export type OpenConnections = ReadonlyMap<Socket, PendingAnswers>;

/**
 * Bounds the connections, and what one may ask at once: its requests are answered one by one, each when the answer before it is
 * read, so that no more than one answer waits in memory; and a connection with too many of them is ended.
 */
export function boundConnections(server: FastifyInstance): OpenConnections {
  server.server.maxConnections = MOST_CONNECTIONS;
  const waiting = boundWaiting(server);
  const connections = new Map<Socket, PendingAnswers>();
  const answersBefore = new WeakMap<ServerResponse, Promise<void>>();
  const opened = (socket: Socket): PendingAnswers => {
    const pendingAnswers: PendingAnswers = new Map();
    connections.set(socket, pendingAnswers);
    socket.once('close', () => {
      connections.delete(socket);
      // An answer whose turn has not come is told nothing by Node.
      for (const over of pendingAnswers.values()) over.resolve();
    });
    return pendingAnswers;
  };
  const handle = server.server.listeners('request') as RequestListener[];
  server.server.removeAllListeners('request');
  server.server.on('request', (request: IncomingMessage, answer: ServerResponse) => {
    const { socket } = request;
    // One packet may hold thousands more: Node reads them all the same.
    if (socket.destroyed) return;
    const answers = connections.get(socket) ?? opened(socket);
    const before = [...answers.values()].at(-1);
    if (before !== undefined) answersBefore.set(answer, before.promise);
    const over = Promise.withResolvers<void>();
    answers.set(answer, over);
    waiting.leave(socket);
    answer.once('close', () => {
      answers.delete(answer);
      over.resolve();
      if (answers.size === 0) waiting.join(socket);
    });
    if (answers.size > MOST_UNANSWERED) socket.destroy();
    else for (const listener of handle) listener.call(server.server, request, answer);
  });
  // A promise for each: requests that come in one packet are counted before the first of them is answered.
  server.addHook('onRequest', async ({ raw }, reply) => {
    await answersBefore.get(reply.raw);
    if (raw.socket.destroyed) reply.hijack();
  });
  return connections;
}

/** The connections without a request under way, the one that waits for longest first. */
interface IdleConnections {
  join(socket: Socket): void;
  leave(socket: Socket): void;
}

function boundWaiting({ server }: FastifyInstance): IdleConnections {
  const waiting = new Set<Socket>();
  const join = (socket: Socket): void => {
    if (socket.destroyed) return;
    waiting.add(socket);
    const [longest] = waiting;
    if (waiting.size > MOST_WAITING_CONNECTIONS) longest?.destroy();
  };
  server.on('connection', (socket: Socket) => {
    socket.once('close', () => waiting.delete(socket));
    join(socket);
  });
  return { join, leave: (socket) => void waiting.delete(socket) };
}
