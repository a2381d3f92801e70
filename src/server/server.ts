import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import type { MirrorFile } from '../destination/sqlite/open.ts';
import { listEnvironments } from './environments.ts';
import { envelope, notFound, type Refusal, rateLimited, refusalOf, unauthenticated } from './errors.ts';
import { bears, openQuota, type Quota, type RateLimit } from './guard.ts';
import { listPage, type Service } from './list.ts';
import { LISTINGS, type Listing } from './listings.ts';
import type { Raw } from './parameters.ts';
import { openStore } from './store.ts';

export interface ServerOptions {
  /** Opened for reading; whoever opened it closes it. */
  readonly mirror: MirrorFile;
  /** The bearer token every request has to send; null lets all in. */
  readonly token: string | null;
  /** The greatest `limit` taken, 2000 when left out. */
  readonly pageMax?: number;
  /** The clock of bounds, quotas and the `Date` header. */
  readonly nowMs?: () => number;
  readonly rateLimit?: RateLimit | null;
  /** Told of every failure that is answered with 500. */
  readonly onCrash?: (error: unknown) => void;
}

const ROOT = '/public/beta';
/** Room for a thousand ids in a query, and for any id in a path. */
const MOST_HEADER_BYTES = 1 << 20;

/** The read API over a mirror; the caller makes it listen. */
export function createServer(options: ServerOptions): FastifyInstance {
  const { nowMs = Date.now, pageMax = 2000 } = options;
  const answer = refuser(options.onCrash);
  const admit = doorkeeper({ ...options, nowMs });
  const server = fastify({
    http: { maxHeaderSize: MOST_HEADER_BYTES },
    routerOptions: { maxParamLength: MOST_HEADER_BYTES },
    frameworkErrors: (error, request, reply) => answer(admit(request, reply) ?? error, reply),
    clientErrorHandler: refuseUnreadable,
  });
  server.addHook('onRequest', async (request, reply) => {
    const refusal = admit(request, reply);
    if (refusal !== null) throw refusal;
  });
  server.setErrorHandler((error, _request, reply) => answer(error, reply));
  server.setNotFoundHandler((_request, reply) => answer(notFound('This address'), reply));
  addRoutes(server, { store: openStore(options.mirror), pageMax, nowMs });
  return server;
}

function addRoutes(server: FastifyInstance, service: Service): void {
  server.get(`${ROOT}/environments`, () => listEnvironments(service.store));
  for (const listing of LISTINGS) {
    server.get(routeOf(listing), (request) => {
      const { env, id = null } = request.params as { env: string; id?: string };
      return listPage(service, listing, { env, id }, request.query as Raw);
    });
  }
}

function routeOf({ entry }: Listing): string {
  return [ROOT, ':env', ...entry.path.map((segment) => segment.replace('{id}', ':id'))].join('/');
}

/** Goes before every answer, 404 for unknown addresses too: tells the clock and the quota, and refuses strangers. */
function doorkeeper({ token, rateLimit, nowMs }: ServerOptions & { nowMs: () => number }) {
  const quotaAt = rateLimit ? openQuota(rateLimit) : null;
  return (request: FastifyRequest, reply: FastifyReply): Refusal | null => {
    const now = nowMs();
    const known = token === null || bears(token, request.headers.authorization);
    const quota = quotaAt?.(now, known);
    reply.header('date', new Date(now).toUTCString());
    if (quota !== undefined) tellQuota(reply, quota);
    if (!known) return unauthenticated();
    return quota?.exceeded ? rateLimited(quota.resetSeconds) : null;
  };
}

function tellQuota(reply: FastifyReply, quota: Quota): void {
  reply.headers({
    'ratelimit-limit': quota.limit,
    'ratelimit-remaining': quota.remaining,
    'ratelimit-reset': quota.resetSeconds,
  });
  if (quota.exceeded) reply.header('retry-after', quota.resetSeconds);
}

function refuser(onCrash: ServerOptions['onCrash']) {
  return (error: unknown, reply: FastifyReply) => {
    const refusal = refusalOf(error);
    if (refusal.status === 500) onCrash?.(error);
    return reply.code(refusal.status).send(envelope(refusal.code, refusal.message));
  };
}

/** Answers what is no HTTP request at all, or has headers beyond all measure. */
function refuseUnreadable(
  error: Error & { code?: string },
  socket: { writable: boolean; end(text: string): void; destroy(): void },
): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const body = JSON.stringify(envelope('invalid_request', 'The request cannot be read'));
  const head = ['HTTP/1.1 400 Bad Request', `Date: ${new Date().toUTCString()}`, 'Content-Type: application/json'];
  socket.end([...head, `Content-Length: ${Buffer.byteLength(body)}`, 'Connection: close', '', body].join('\r\n'));
}
