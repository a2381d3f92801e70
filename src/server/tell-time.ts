import type { FastifyReply } from 'fastify';
import { rememberingLast } from './remember.ts';
import type { View } from './store.ts';

/** Carries the whole instant, and no proxy replaces it as some do `Date`. */
export const TIME_HEADER = 'Obsync-Mirrored-At';

/** Both headers are the time of the state that is shown: a reader who goes on from there misses nothing. */
export function tellTime(reply: FastifyReply, { now }: Pick<View, 'now'>): void {
  reply.headers(headersOf(now));
}

const headersOf = rememberingLast((now: View['now']) => ({ date: new Date(now).toUTCString(), [TIME_HEADER]: now }));
