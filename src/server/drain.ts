import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { Server } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { FastifyInstance } from 'fastify';

/** A request that is on its way when the server begins to close has so long to arrive. */
const LINGER_MS = 100;

/**
 * A server that closes takes no connection any more, answers what was sent before its clients could know, tells them so
 * (`Connection: close`), and lets every answer under way be read to its end.
 */
export function drainOnClose(server: FastifyInstance): void {
  const underWay = new Set<ServerResponse>();
  let closing = false;
  server.server.prependListener('request', (_request, answer: ServerResponse) => {
    underWay.add(answer);
    if (closing) answer.shouldKeepAlive = false;
    answer.once('close', () => underWay.delete(answer));
  });
  server.addHook('preClose', async () => {
    closing = true;
    for (const answer of underWay) answer.shouldKeepAlive = false;
    // Not an HTTP server's own way: to it a connection is idle once its answer is written, though the reader is not there yet.
    Server.prototype.close.call(server.server);
    if ((await promisify(server.server.getConnections).call(server.server)) > 0) await sleep(LINGER_MS);
    for (const answer of underWay) await once(answer, 'close');
  });
}
