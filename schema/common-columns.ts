import { sql } from 'drizzle-orm';
import { type AnySQLiteColumn, index, primaryKey } from 'drizzle-orm/sqlite-core';
import { type DescribedBuilder, integer, json, text, time } from './column-types.ts';
import { table } from './table.ts';

/** The environment of a row. It comes first in every key, so a distributed database can shard by it. */
export const envId = () => text('the environment, `environments.id`').notNull();

export const assetId = () => text('the asset, `assets.id`');
export const testId = () => text('the test, `tests.id`');

/** What the mirror adds to each row: its time of the last change (R21), and unknown fields as JSON (R19). */
export const kept = () => ({
  mirrored_at: time("the mirror's own time of the last change of this row").notNull(),
  extra: json('fields of the source that this version of obsync does not know, as JSON; NULL if there are none'),
});

/** The columns of a feed table: those that every one has stand around its own. */
export const feedColumns = <Own extends object>(noun: string, own: Own) => ({
  env_id: envId(),
  id: text(`the id of the ${noun}`).notNull(),
  ...own,
  synced_at: time('when the source created the object or last changed it'),
  /** When and how (`tombstone` or `absent`) the row was deleted (R11); both are NULL while it is live. */
  deleted_at: time('when the row was deleted; NULL while it is live'),
  deletion: text(
    '`tombstone`: the source reported the deletion; `absent`: a full scan no longer showed the row; NULL while it is live',
    { enum: ['tombstone', 'absent'] },
  ),
  ...kept(),
});

/** Columns that more than one table has. */
export const sourceType = () => text('the integration that the object comes from, such as `dbt`');
export const objectDescription = () => text('its description, for people');
export const owners = () => json('JSON array of owners');
export const tags = () => json('JSON array of tags');
export const projectPath = () => text('its place in the project tree, with `/` between the parts');
export const updatedAt = () => time('when it was last updated in the platform that it comes from');

/** SQLite uses an index of live rows only in a statement that contains exactly this condition. */
export const whereNotDeleted = sql`deleted_at is null`;

type FollowedColumns = Record<'env_id' | 'mirrored_at' | 'id', AnySQLiteColumn>;

/** A feed table's key, and indexes of live and of deleted rows in the order of their changes, for readers (R21). */
export const feedKeys = (name: string, { env_id, mirrored_at, id }: FollowedColumns) => [
  primaryKey({ columns: [env_id, id] }),
  index(`${name}_live`).on(env_id, mirrored_at, id).where(whereNotDeleted),
  index(`${name}_gone`).on(env_id, mirrored_at, id).where(sql`deleted_at is not null`),
];

/**
 * The staged copy of a table. Each row has the number of the read, within its round, that fetched it (R7, R16). The
 * copy has no key, so that rows are appended one after the other. By its index an environment finds its own rows,
 * however many another has left there in an unfinished round.
 */
export const stagedTable = <Columns extends Record<'env_id' | 'mirrored_at', DescribedBuilder>>(
  name: string,
  { mirrored_at: _, ...columns }: Columns,
) =>
  table(
    `${name}_staged`,
    `The rows of \`${name}\` while its list is read, until they take their place in one transaction.`,
    { ...columns, read_number: integer('the number of the read in its round').notNull() },
    ({ env_id }: { readonly env_id: AnySQLiteColumn }) => [index(`${name}_staged_by_env`).on(env_id)],
  );

/** Whether a table holds rows of an unfinished round, which are not mirrored yet (R16). */
export const isStaged = ({ name }: { readonly name: string }): boolean => name.endsWith('_staged');
