import type { FastifyReply } from 'fastify';
import { memoizeLast } from './memoize-last.ts';
import type { MirrorSnapshot } from './mirror-reads.ts';

/** The time with microseconds. Unlike `Date`, no proxy replaces it. */
export const TIME_HEADER = 'Obsync-Mirrored-At';

/** Both headers hold the time of the state shown, so a reader who continues from it misses nothing. */
export function setDateHeader(reply: FastifyReply, { now }: Pick<MirrorSnapshot, 'now'>): void {
  reply.headers(headersOf(now));
}

const headersOf = memoizeLast((now: MirrorSnapshot['now']) => ({
  date: new Date(now).toUTCString(),
  [TIME_HEADER]: now,
}));
