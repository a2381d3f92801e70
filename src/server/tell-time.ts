import type { FastifyReply } from 'fastify';
import type { View } from './store.ts';

/** `Date` is the time of the state that is shown: a reader who goes on from there misses nothing. */
export function tellTime(reply: FastifyReply, { now }: Pick<View, 'now'>): void {
  reply.header('date', new Date(now).toUTCString());
}
