import type { FastifyBaseLogger, FastifyInstance } from 'fastify';
import { DURATION_FORM, durationSeconds } from '../core/time/duration.ts';
import { SYNC_TIMES } from '../metrics/measurements.ts';
import { mirrorHealth } from '../metrics/sync-ages.ts';
import { setDateHeader } from './answer-headers.ts';
import { httpErrorParts, unprocessable } from './errors.ts';
import { type MirrorReads, readSnapshotRows } from './mirror-reads.ts';

/** Notes an error that another request was answered with, for `/healthz`. */
export type NoteError = (error: unknown, log: FastifyBaseLogger) => void;

interface HealthOptions {
  readonly reads: MirrorReads;
  readonly nowMs: () => number;
  readonly lagSeconds: ((nowMs: number) => number) | undefined;
}

function maxAgeOf(given: unknown): number | null {
  if (given === undefined) return null;
  const seconds = typeof given === 'string' ? durationSeconds(given) : null;
  if (seconds === null) throw unprocessable(`max_age must be ${DURATION_FORM}`);
  return seconds;
}

/**
 * Adds `/healthz`, for monitoring the process. It needs no token and costs no quota. It reads too little to notice
 * damage itself, so it reports damage that another request has found. With `max_age`, it answers 503 if a stream is
 * older.
 */
export function addHealth(server: FastifyInstance, { reads, nowMs, lagSeconds }: HealthOptions): NoteError {
  let damage: Error | null = null;
  server.get<{ Querystring: { max_age?: unknown } }>('/healthz', { schema: { hide: true } }, (request, reply) => {
    setDateHeader(reply, reads.state());
    if (damage !== null) throw damage;
    const maxSeconds = maxAgeOf(request.query.max_age);
    const times = reads.read((view) => readSnapshotRows(view, SYNC_TIMES));
    reads.refuseReplaced();
    const answer = mirrorHealth(times, nowMs(), maxSeconds);
    if (answer.status === 'stale') reply.code(503);
    return lagSeconds === undefined ? answer : { ...answer, replica_lag_seconds: lagSeconds(nowMs()) };
  });
  return (error, log) => {
    if (damage !== null || httpErrorParts(error)?.code !== 'mirror_damaged') return;
    damage = error as Error;
    log.error(damage.message);
  };
}
