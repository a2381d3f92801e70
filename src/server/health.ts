import type { FastifyBaseLogger, FastifyInstance } from 'fastify';
import { httpErrorParts, mirrorDamaged } from './errors.ts';
import type { MirrorReads } from './mirror-reads.ts';
import { setDateHeader } from './set-date-header.ts';
import { syncAgeSeconds } from './sync-age.ts';

/** Notes an error that another request was answered with, for `/healthz`. */
export type NoteError = (error: unknown, log: FastifyBaseLogger) => void;

/**
 * Adds `/healthz`, for monitoring the process. It needs no token and costs no quota. It reads too little to notice
 * damage itself, so it reports damage that another request has found.
 */
export function addHealth(server: FastifyInstance, reads: MirrorReads, nowMs: () => number): NoteError {
  const damaged = mirrorDamaged();
  let isDamaged = false;
  server.get('/healthz', { schema: { hide: true } }, (_request, reply) => {
    setDateHeader(reply, reads.state());
    if (isDamaged) throw damaged;
    return reads.read((view) => ({ status: 'up', last_sync_age_seconds: syncAgeSeconds(view, nowMs()) }));
  });
  return (error, log) => {
    if (isDamaged || httpErrorParts(error)?.code !== damaged.code) return;
    isDamaged = true;
    log.error(damaged.message);
  };
}
