import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';

/** A client that sends more requests than this on one connection without reading an answer is disconnected. */
export const MOST_UNANSWERED = 16;

/**
 * The number of connections that may be open without a request. Each may hold up to 272 KB of unfinished headers in memory, 34 MiB
 * in all. One more connection ends the one that has waited longest.
 */
export const MOST_WAITING_CONNECTIONS = 128;

/** All connections, also those with a request: without a token nobody keeps one open for long. */
const MOST_CONNECTIONS = 1024;

/** The unfinished answers of a connection, the oldest first. Each has a promise that resolves when it ends, read or not. */
type PendingAnswers = Map<ServerResponse, PromiseWithResolvers<void>>;

/** The connections that have sent a request. */
export type OpenConnections = ReadonlyMap<Socket, PendingAnswers>;

/**
 * Bounds the number of connections, and of requests on each. The requests of a connection are answered one by one, each after the
 * client has read the answer before, so only one answer waits in memory. A connection with too many requests is ended.
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
      // Node sends no event to an answer whose turn has not come.
      for (const over of pendingAnswers.values()) over.resolve();
    });
    return pendingAnswers;
  };
  const handle = server.server.listeners('request') as RequestListener[];
  server.server.removeAllListeners('request');
  server.server.on('request', (request: IncomingMessage, answer: ServerResponse) => {
    const { socket } = request;
    // One packet may hold thousands of further requests, which Node reads even after the connection was ended.
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
  // Each request waits for a promise: requests that come in one packet are counted before the first one is answered.
  server.addHook('onRequest', async ({ raw }, reply) => {
    await answersBefore.get(reply.raw);
    if (raw.socket.destroyed) reply.hijack();
  });
  return connections;
}

/** The connections without a request. The one that has waited longest is first. */
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
