import type { ServerResponse } from 'node:http';
import { Server } from 'node:net';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { FastifyInstance } from 'fastify';
import type { OpenConnections } from './connections.ts';

/** How long a closing server waits for requests and connections already in flight. */
const LINGER_MS = 100;

/**
 * Closes the server without losing answers. It stops accepting connections, still answers requests that clients sent
 * before they could know, announces the end (`Connection: close`), and waits until every answer is read.
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
    // While writing a long answer, the server may not have read new requests.
    await nextTurn();
    // The HTTP server's own `close` would end a connection once its answer is written, before the client has read it.
    Server.prototype.close.call(server.server);
    for (const answers of connections.values()) for (const finished of answers.values()) await finished.promise;
    // The remaining connections have no request, or an incomplete one.
    server.server.closeAllConnections();
  });
}
