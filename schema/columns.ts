import { integer, text } from 'drizzle-orm/sqlite-core';

/** The environment a row belongs to: first in every key, so that a distributed database could shard on it. */
export const envId = () => text('env_id').notNull();

/** What the mirror adds to a row: its own time of the last change (R21) and the fields it does not know (R19), as JSON. */
export const kept = () => ({ mirrored_at: text('mirrored_at').notNull(), extra: text('extra') });

/** How a row of a feed stream went (R11): when, and by `tombstone` or `absent`; both NULL while it lives. */
export const soft = () => ({
  deleted_at: text('deleted_at'),
  deletion: text('deletion', { enum: ['tombstone', 'absent'] }),
  ...kept(),
});

/** In a staged copy of a table: the number of the read, within its round, that gathered the row (R7, R16). */
export const readNumber = () => integer('read_number').notNull();
