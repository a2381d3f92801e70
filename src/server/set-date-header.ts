import type { FastifyReply } from 'fastify';
import type { MirrorSnapshot } from './mirror-reads.ts';
import { rememberingLast } from './remember.ts';

/** Carries the whole instant, and no proxy replaces it as some do `Date`. */
export const TIME_HEADER = 'Obsync-Mirrored-At';

/** Both headers are the time of the state that is shown: a reader who goes on from there misses nothing. */
export function setDateHeader(reply: FastifyReply, { now }: Pick<MirrorSnapshot, 'now'>): void {
  reply.headers(headersOf(now));
}

const headersOf = rememberingLast((now: MirrorSnapshot['now']) => ({
  date: new Date(now).toUTCString(),
  [TIME_HEADER]: now,
}));
