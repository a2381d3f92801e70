import type { FastifyReply } from 'fastify';
import { memoizeLast } from './memoize-last.ts';
import type { MirrorSnapshot } from './mirror-reads.ts';

/** Has the time with microseconds. Some proxies replace `Date`, but none replaces this header. */
export const TIME_HEADER = 'Obsync-Mirrored-At';

/** Both headers are the time of the state that the answer shows: a reader who continues from it misses nothing. */
export function setDateHeader(reply: FastifyReply, { now }: Pick<MirrorSnapshot, 'now'>): void {
  reply.headers(headersOf(now));
}

const headersOf = memoizeLast((now: MirrorSnapshot['now']) => ({
  date: new Date(now).toUTCString(),
  [TIME_HEADER]: now,
}));
