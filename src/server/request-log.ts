import type { FastifyBaseLogger, FastifyReply, FastifyRequest } from 'fastify';
import { networkOf } from './network.ts';

/** The most characters of a path in the log: any client may send one of 256 KB. */
const MAX_LOGGED = 200;

/** The most clients that are told apart. Others are counted together. */
const MAX_CLIENTS = 1000;
const OTHERS = 'others';

export interface RequestLog {
  note(request: FastifyRequest, reply: FastifyReply): void;
  /**
   * Writes a line for each client with requests that were only counted since the last call. To be called every minute.
   */
  writeCounts(): void;
}

/**
 * Logs one line for each answered request. Clients could fill a disk with those that have no token, or are beyond the
 * quota: of these, only the first of each client in a minute has a line, and the others are counted. At `debug` each
 * has a line.
 */
export function openRequestLog(log: FastifyBaseLogger): RequestLog {
  /** How many requests were only counted, by client and status. */
  const clients = new Map<string, Map<number, number>>();
  return {
    note(request, reply) {
      const { reader, ip } = request;
      const { statusCode } = reply;
      const fields = fieldsOf(request, reply);
      if (reader !== null && statusCode !== 429) return request.log.info(fields, 'request');
      const own = reader?.name ?? networkOf(ip);
      const client = clients.has(own) || clients.size < MAX_CLIENTS ? own : OTHERS;
      const counts = clients.get(client);
      if (counts === undefined) {
        clients.set(client, new Map());
        return request.log.info({ ...fields, client }, 'request');
      }
      counts.set(statusCode, (counts.get(statusCode) ?? 0) + 1);
      request.log.debug(fields, 'request');
    },
    writeCounts() {
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

/** Without the query: a token may stand there by mistake. */
function fieldsOf({ method, url, reader }: FastifyRequest, reply: FastifyReply): object {
  const path = url.split('?', 1)[0]?.slice(0, MAX_LOGGED);
  const ms = Math.round(reply.elapsedTime * 10) / 10;
  return { method, path, reader: reader?.name ?? null, status: reply.statusCode, ms };
}
