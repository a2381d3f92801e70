import { sql } from 'drizzle-orm';
import { type AnySQLiteColumn, customType, index, integer, text } from 'drizzle-orm/sqlite-core';

/** The environment a row belongs to: first in every key, so that a distributed database could shard on it. */
export const envId = () => text('env_id').notNull();

/** JSON text as the source sent it: compared by value, whatever the order of members (R21). */
export const json = customType<{ data: string }>({ dataType: () => 'text' });

/** What the mirror adds to a row: its own time of the last change (R21) and the fields it does not know (R19), as JSON. */
export const kept = () => ({ mirrored_at: text('mirrored_at').notNull(), extra: json('extra') });

/** How a row of a feed stream went (R11): when, and by `tombstone` or `absent`; both NULL while it lives. */
export const soft = () => ({
  deleted_at: text('deleted_at'),
  deletion: text('deletion', { enum: ['tombstone', 'absent'] }),
  ...kept(),
});

/** A statement reaches an index of live rows alone only if it says so in these words. */
export const isLive = sql`deleted_at is null`;

type Followed = Record<'env_id' | 'mirrored_at' | 'id', AnySQLiteColumn>;

/** For those who follow the mirror: its live rows, and those that went, in the order in which it changed them (R21). */
export const changes = (table: string, { env_id, mirrored_at, id }: Followed) => [
  index(`${table}_live`).on(env_id, mirrored_at, id).where(isLive),
  index(`${table}_gone`).on(env_id, mirrored_at, id).where(sql`deleted_at is not null`),
];

/**
 * The columns of a staged copy of a table, which has no key, so that rows are written one after the other: with each the number of
 * the read, within its round, that gathered it (R7, R16).
 */
export const staged = <Columns extends { mirrored_at: unknown }>({ mirrored_at: _, ...columns }: Columns) => ({
  ...columns,
  read_number: integer('read_number').notNull(),
});
