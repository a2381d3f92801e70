import type { ServerResponse } from 'node:http';
import { Server } from 'node:net';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { FastifyInstance } from 'fastify';
import type { OpenConnections } from './connections.ts';

/** How long the server waits for requests and connections that are still on their way when it begins to close. */
const LINGER_MS = 100;

/**
 * Closes the server without losing answers. It still answers requests that were sent before their clients could know,
 * announces the end (`Connection: close`), accepts no new connections, and waits until every unfinished answer is read.
 */
export function drainOnClose(server: FastifyInstance, connections: OpenConnections): void {
  let closing = false;
  server.server.prependListener('request', (_request, answer: ServerResponse) => {
    if (closing) answer.shouldKeepAlive = false;
  });
  server.addHook('preClose', async () => {
    closing = true;
    for (const answers of connections.values()) for (const answer of answers.keys()) answer.shouldKeepAlive = false;
    if ((await promisify(server.server.getConnections).call(server.server)) > 0) await sleep(LINGER_MS);
    // While a long answer was written, the server may not have read new requests.
    await nextTurn();
    // The HTTP server's own `close` would end a connection once its answer is written, before the client has read it.
    Server.prototype.close.call(server.server);
    for (const answers of connections.values()) for (const over of answers.values()) await over.promise;
    // The remaining connections have no request, or an unfinished one.
    server.server.closeAllConnections();
  });
}
