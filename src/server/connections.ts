import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { Server, type Socket } from 'node:net';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { FastifyInstance } from 'fastify';
import { CONNECTION_LIMITS, type ConnectionLimits, createConnectionSlots } from './connection-slots.ts';

/** A client with more unanswered requests than this on one connection is disconnected. */
export const MAX_UNANSWERED = 16;

/** The unfinished answers of a connection, oldest first. Each has a promise that resolves when it ends, read or not. */
type PendingAnswers = Map<ServerResponse, PromiseWithResolvers<void>>;

/**
 * Limits the number of connections and the number of requests on each. A connection's requests are answered one at a
 * time, each after the client has read the previous answer, so at most one answer waits in memory. A connection with
 * too many requests is closed.
 */
export function limitConnections(server: FastifyInstance, limits: ConnectionLimits = CONNECTION_LIMITS) {
  const slots = createConnectionSlots(limits);
  server.server.on('connection', slots.opened);
  const connections = new Map<object, PendingAnswers>();
  const answersBefore = new WeakMap<ServerResponse, Promise<void>>();
  const lastRequests = new WeakMap<object, IncomingMessage>();
  const handle = server.server.listeners('request') as RequestListener[];
  server.server.removeAllListeners('request');
  server.server.on('request', (request: IncomingMessage, answer: ServerResponse) => {
    const { socket } = request;
    // One packet may hold thousands of requests, and Node still reads them after the connection is closed.
    if (socket.destroyed) return;
    const answers = connections.get(socket) ?? addConnection(connections, socket);
    const before = [...answers.values()].at(-1);
    if (before !== undefined) answersBefore.set(answer, before.promise);
    lastRequests.set(socket, request);
    const finished = Promise.withResolvers<void>();
    answers.set(answer, finished);
    slots.requested(socket);
    answer.once('close', () => {
      answers.delete(answer);
      finished.resolve();
      if (answers.size === 0) slots.answered(socket);
    });
    if (answers.size > MAX_UNANSWERED) socket.destroy();
    else for (const listener of handle) listener.call(server.server, request, answer);
  });
  // Awaiting a promise lets all requests of one packet be counted before the first is answered.
  server.addHook('onRequest', async ({ raw }, reply) => {
    await answersBefore.get(reply.raw);
    if (raw.socket.destroyed) reply.hijack();
  });
  return {
    /** Those that have sent a request. */
    open: connections,
    unfinished(socket: object): Promise<void> | null {
      const last = [...(connections.get(socket)?.values() ?? [])].at(-1);
      if (last !== undefined) return last.promise;
      return lastRequests.get(socket)?.complete === false ? Promise.resolve() : null;
    },
    /** Call this for the connection of each request with a valid token. */
    authenticated: slots.authenticated,
  };
}

function addConnection(connections: Map<object, PendingAnswers>, socket: Socket): PendingAnswers {
  const pending: PendingAnswers = new Map();
  connections.set(socket, pending);
  socket.once('close', () => {
    connections.delete(socket);
    // Node emits no event for an answer whose turn never came.
    for (const finished of pending.values()) finished.resolve();
  });
  return pending;
}

/** How long a closing server waits for requests and connections already in flight. */
const LINGER_MS = 100;

/**
 * Closes the server without losing answers. It stops accepting connections, still answers requests that clients sent
 * before they could know, announces the end (`Connection: close`), and waits until every answer is read.
 */
export function drainOnClose(server: FastifyInstance, connections: ReadonlyMap<object, PendingAnswers>): void {
  let closing = false;
  server.server.prependListener('request', (_request, answer: ServerResponse) => {
    if (closing) answer.shouldKeepAlive = false;
  });
  server.addHook('preClose', async () => {
    closing = true;
    for (const answers of connections.values()) for (const answer of answers.keys()) answer.shouldKeepAlive = false;
    if ((await promisify(server.server.getConnections).call(server.server)) > 0) await sleep(LINGER_MS);
    // While writing a long answer, the server may not have read new requests.
    await nextTurn();
    // The HTTP server's own `close` would end a connection once its answer is written, before the client has read it.
    Server.prototype.close.call(server.server);
    for (const answers of connections.values()) for (const finished of answers.values()) await finished.promise;
    // The remaining connections have no request, or an incomplete one.
    server.server.closeAllConnections();
  });
}
