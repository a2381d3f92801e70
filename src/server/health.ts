import type { FastifyInstance } from 'fastify';
import { syncAgeSeconds } from './freshness.ts';
import type { Store } from './store.ts';
import { tellTime } from './tell-time.ts';

/** `/healthz`, for whoever watches over the process: needs no token and costs no quota. */
export function addHealth(server: FastifyInstance, store: Store, nowMs: () => number): void {
  server.get('/healthz', { schema: { hide: true } }, (_request, reply) =>
    store.read((view) => {
      tellTime(reply, view);
      return { status: 'up', last_sync_age_seconds: syncAgeSeconds(view, nowMs()) };
    }),
  );
}
