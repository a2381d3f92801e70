import { type Column, sql } from 'drizzle-orm';
import { type AnySQLiteColumn, customType, index, integer, primaryKey, text } from 'drizzle-orm/sqlite-core';

/**
 * What a column holds. SQLite stores each kind as text, integer or real; PostgreSQL has a type for each (see
 * `postgres.ts`).
 */
export type ColumnKind = 'text' | 'integer' | 'real' | 'time' | 'day' | 'flag' | 'json';

const columnOf = <Data>(kind: ColumnKind, stored: 'text' | 'integer') => {
  const make = customType<{ data: Data; config: { kind: ColumnKind } }>({ dataType: () => stored });
  return <Name extends string>(name: Name) => make(name, { kind });
};

/** An instant, as the engine writes it (R4). */
export const time = columnOf<string>('time', 'text');

/** A UTC day such as `2026-11-20`. */
export const dayColumn = columnOf<string>('day', 'text');

/** 0 or 1. */
export const flag = columnOf<number>('flag', 'integer');

/** JSON text as the source sent it. It is compared by value; the order of members does not count (R21). */
export const json = columnOf<string>('json', 'text');

export function kindOf(column: Column): ColumnKind {
  const { fieldConfig } = column['config'] as { fieldConfig?: { kind: ColumnKind } };
  return fieldConfig?.kind ?? (column.getSQLType() as 'text' | 'integer' | 'real');
}

/**
 * The environment that a row belongs to. It comes first in every key, so that a distributed database can shard by it.
 */
export const envId = () => text('env_id').notNull();

/**
 * What the mirror adds to each row: its own time of the last change (R21), and as JSON the fields that it does not know
 * (R19).
 */
export const kept = () => ({ mirrored_at: time('mirrored_at').notNull(), extra: json('extra') });

/**
 * When and how (`tombstone` or `absent`) a row of a feed stream was deleted (R11); both are NULL while the row lives.
 */
const soft = () => ({
  deleted_at: time('deleted_at'),
  deletion: text('deletion', { enum: ['tombstone', 'absent'] }),
  ...kept(),
});

/** The columns of a feed table: those that every one has stand around its own. */
export const feedColumns = <Own extends object>(own: Own) => ({
  env_id: envId(),
  id: text('id').notNull(),
  ...own,
  synced_at: time('synced_at'),
  ...soft(),
});

/** SQLite uses an index of live rows only in a statement that contains exactly this condition. */
export const isLive = sql`deleted_at is null`;

type FollowedColumns = Record<'env_id' | 'mirrored_at' | 'id', AnySQLiteColumn>;

/**
 * The key of a feed table, and for readers that follow the mirror: its live rows, and its deleted rows, in the order in
 * which it changed them (R21).
 */
export const feedKeys = (table: string, { env_id, mirrored_at, id }: FollowedColumns) => [
  primaryKey({ columns: [env_id, id] }),
  index(`${table}_live`).on(env_id, mirrored_at, id).where(isLive),
  index(`${table}_gone`).on(env_id, mirrored_at, id).where(sql`deleted_at is not null`),
];

/**
 * The columns of a staged copy of a table. Each row has the number of the read, within its round, that fetched it (R7,
 * R16). The copy has no key, so that rows are appended one after the other (see also `stagedByEnvironment`).
 */
export const staged = <Columns extends { mirrored_at: unknown }>({ mirrored_at: _, ...columns }: Columns) => ({
  ...columns,
  read_number: integer('read_number').notNull(),
});

/**
 * The index of a staged copy: an environment finds its own rows, however many another has left there in an unfinished
 * round.
 */
export const stagedByEnvironment =
  (table: string) =>
  ({ env_id }: Pick<FollowedColumns, 'env_id'>) => [index(`${table}_by_env`).on(env_id)];
