import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { Server } from 'node:net';
import type { FastifyInstance } from 'fastify';

/** A server that closes takes no connection any more, and lets every answer under way be read to its end. */
export function drainOnClose(server: FastifyInstance): void {
  const underWay = new Set<ServerResponse>();
  server.server.on('request', (_request, answer: ServerResponse) => {
    underWay.add(answer);
    answer.once('close', () => underWay.delete(answer));
  });
  server.addHook('preClose', async () => {
    // Not an HTTP server's own way: to it a connection is idle once its answer is written, though the reader is not there yet.
    Server.prototype.close.call(server.server);
    for (const answer of underWay) await once(answer, 'close');
  });
}
