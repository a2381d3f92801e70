import type { ServerResponse } from 'node:http';
import { Server } from 'node:net';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { FastifyInstance } from 'fastify';
import type { OpenConnections } from './connections.ts';

/** A request, or a connection, that is on its way when the server begins to close has so long to arrive. */
const LINGER_MS = 100;

/**
 * A server that closes answers what was sent before its clients could know, tells them so (`Connection: close`), then takes no
 * connection any more, and lets every answer under way be read to its end.
 */
export function drainOnClose(server: FastifyInstance, openConnections: OpenConnections): void {
  let closing = false;
  server.server.prependListener('request', (_request, answer: ServerResponse) => {
    if (closing) answer.shouldKeepAlive = false;
  });
  server.addHook('preClose', async () => {
    closing = true;
    for (const answers of openConnections.values()) for (const answer of answers.keys()) answer.shouldKeepAlive = false;
    if ((await promisify(server.server.getConnections).call(server.server)) > 0) await sleep(LINGER_MS);
    // A long answer may have kept the server from reading meanwhile.
    await nextTurn();
    // Not an HTTP server's own way: to it a connection is idle once its answer is written, though the reader is not there yet.
    Server.prototype.close.call(server.server);
    for (const answers of openConnections.values()) for (const over of answers.values()) await over.promise;
    // What is left are connections without a request, or with half of one.
    server.server.closeAllConnections();
  });
}
