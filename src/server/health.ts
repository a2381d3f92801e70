import type { FastifyInstance } from 'fastify';
import { syncAgeSeconds } from './freshness.ts';
import type { MirrorReads } from './mirror-reads.ts';
import { setDateHeader } from './set-date-header.ts';

/** `/healthz`, for monitoring the process. It needs no token and costs no quota. */
export function addHealth(server: FastifyInstance, mirrorReads: MirrorReads, nowMs: () => number): void {
  server.get('/healthz', { schema: { hide: true } }, (_request, reply) => {
    setDateHeader(reply, mirrorReads.state());
    return mirrorReads.read((view) => ({ status: 'up', last_sync_age_seconds: syncAgeSeconds(view, nowMs()) }));
  });
}
