import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';

/** Who sends more requests on one connection than this, without waiting for an answer, wants no answers. */
export const MOST_UNANSWERED = 16;

/** The answers under way on a connection, the oldest first; each with a promise that it is over, read or not. */
type Answers = Map<ServerResponse, PromiseWithResolvers<void>>;

/** The connections that have asked something. */
export type Connections = ReadonlyMap<Socket, Answers>;

/**
 * Bounds what a connection may ask at once: its requests are answered one by one, each when the answer before it is read, so that
 * no more than one answer waits in memory; and a connection with too many of them is ended.
 */
export function boundConnections(server: FastifyInstance): Connections {
  const connections = new Map<Socket, Answers>();
  const answersBefore = new WeakMap<ServerResponse, Promise<void>>();
  const opened = (socket: Socket): Answers => {
    const answers: Answers = new Map();
    connections.set(socket, answers);
    socket.once('close', () => {
      connections.delete(socket);
      // An answer whose turn has not come is told nothing by Node.
      for (const over of answers.values()) over.resolve();
    });
    return answers;
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
    answer.once('close', () => {
      answers.delete(answer);
      over.resolve();
    });
    if (answers.size > MOST_UNANSWERED) socket.destroy();
    else for (const listener of handle) listener.call(server.server, request, answer);
  });
  server.addHook('onRequest', async ({ raw }, reply) => {
    await answersBefore.get(reply.raw);
    if (raw.socket.destroyed) reply.hijack();
  });
  return connections;
}
