import type { FastifyBaseLogger, FastifyReply, FastifyRequest } from 'fastify';
import { networkOf } from './network.ts';

/** The maximum length of a logged path: any client may send one of 256 KB. */
const MAX_LOGGED = 200;

/** The maximum number of clients counted separately. All others are counted together. */
const MAX_CLIENTS = 1000;

export type RequestLog = ReturnType<typeof openRequestLog>;

/**
 * Logs a line for each answered request. Requests without a valid token or beyond the quota could fill a disk: only
 * each client's first one per minute is logged, and the others are counted. At `debug`, every one is logged.
 */
export function openRequestLog(log: FastifyBaseLogger) {
  /** The number of requests that were only counted, by client and status. */
  const clients = new Map<string, Map<number, number>>();
  return {
    note(request: FastifyRequest, reply: FastifyReply) {
      const { reader, ip } = request;
      const { statusCode } = reply;
      const fields = fieldsOf(request, reply);
      if (reader !== null && statusCode !== 429) return request.log.info(fields, 'request');
      const name = reader?.name ?? networkOf(ip);
      const client = clients.has(name) || clients.size < MAX_CLIENTS ? name : 'others';
      const counts = clients.get(client);
      if (counts === undefined) {
        clients.set(client, new Map());
        return request.log.info({ ...fields, client }, 'request');
      }
      counts.set(statusCode, (counts.get(statusCode) ?? 0) + 1);
      request.log.debug(fields, 'request');
    },
    /** Logs a line for each client whose requests were only counted since the last call. Call it every minute. */
    writeCounts(): void {
      for (const [client, counts] of clients) {
        if (counts.size === 0) clients.delete(client);
        else {
          log.info({ client, requests_by_status: Object.fromEntries(counts) }, 'more requests');
          counts.clear();
        }
      }
    },
  };
}

/** Without the query, which may contain a token by mistake. */
function fieldsOf({ method, url, reader }: FastifyRequest, reply: FastifyReply): object {
  const path = url.split('?', 1)[0]?.slice(0, MAX_LOGGED);
  const ms = Math.round(reply.elapsedTime * 10) / 10;
  return { method, path, reader: reader?.name ?? null, status: reply.statusCode, ms };
}
