import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { findPackageJSON } from 'node:module';
import { dirname, join } from 'node:path';
import { type MigrationMeta, readMigrationFiles } from 'drizzle-orm/migrator';
import { escapeIdentifier } from 'pg';
import { SyncError, usageError } from '../../core/errors.ts';
import type { MirrorChange, MirrorVersion } from '../mirror-store.ts';
import { type MigrationTimes, migrationTimesIn, refuseNewer, refuseUnreleased } from '../sql/mirror-version.ts';
import { codeOf, LOCK_NOT_AVAILABLE } from './server-error.ts';
import { inTransaction, type PostgresConnection } from './transaction.ts';

/** The migrations are part of the package, wherever this file has been compiled to. */
const MIGRATIONS = join(dirname(findPackageJSON(import.meta.url) ?? ''), 'schema', 'migrations-postgres');

/** The hash of this version's views: making them takes more CPU than reading the mirror's. */
export const VIEWS_HASH = join(MIGRATIONS, 'views.sha256');

/**
 * Creates the tables and views of a new mirror in its schema, or migrates those of an older version, in one
 * transaction. Another process doing the same waits. For an up-to-date mirror nothing is changed, which needs no
 * permission.
 * @throws SyncError `usage` if the mirror was made by a newer version or an unreleased build, if the schema holds
 * something else, or if other users' views are in the way; `run` if another program reads them for too long
 */
export async function migratePostgres(
  connection: PostgresConnection,
  schema: string,
  lockTimeoutMs = LOCK_TIMEOUT_MS,
): Promise<MirrorChange> {
  if (await isUpToDate(connection, schema)) return 'none';
  try {
    return await inTransaction(connection, { schema }, (inside) => migrateInside(inside, schema, lockTimeoutMs));
  } catch (error) {
    throw codeOf(error) === LOCK_NOT_AVAILABLE ? await readMeanwhile(connection, schema, error) : error;
  }
}

/** A pending lock on a table blocks everyone else, so the wait is short. */
const LOCK_TIMEOUT_MS = 10_000;

/** Like `migratePostgres`, within a transaction whose search path is the mirror's. */
export async function migrateInside(
  connection: PostgresConnection,
  schema: string,
  lockTimeoutMs = LOCK_TIMEOUT_MS,
): Promise<MirrorChange> {
  // Waits for any other process that creates this mirror, however long it takes.
  await lockMigrations(connection, schema);
  if (await isUpToDate(connection, schema)) return 'none';
  await connection.query(`set local lock_timeout to ${lockTimeoutMs}`);
  const from = await postgresVersion(connection, schema);
  if (from === 0) await refuseTaken(connection, schema);
  await enterSchema(connection, schema);
  const ahead = allMigrations().filter(({ folderMillis }) => folderMillis > from);
  const { aroundViews } = await import('./views.ts');
  await aroundViews(connection, schema, () => apply(connection, ahead));
  return from === 0 ? 'made' : 'updated';
}

/** Names the sessions that use the tables. */
async function readMeanwhile(connection: PostgresConnection, schema: string, cause: unknown): Promise<SyncError> {
  const { rows } = await connection.query(HOLDERS, [escapeIdentifier(schema)]);
  const names = rows.length === 0 ? '' : ` (${rows.map(({ name }) => name).join(', ')})`;
  const text = `the mirror in schema ${schema} cannot be brought up to date while another program uses its tables${names}`;
  return new SyncError('run', `${text}: end its transaction and run again; nothing is lost`, { cause });
}

/** The sessions that hold a lock on a table or view of the schema. */
const HOLDERS = `select distinct concat(nullif(a.application_name, '') || ' ', 'of ', a.usename, ', process ', a.pid) as name
  from pg_locks l join pg_class c on c.oid = l.relation join pg_stat_activity a on a.pid = l.pid
  where l.granted and l.pid <> pg_backend_pid() and c.relnamespace = to_regnamespace($1)
    and l.database = (select oid from pg_database where datname = current_database())
  order by 1`;

function allMigrations(): MigrationMeta[] {
  return readMigrationFiles({ migrationsFolder: MIGRATIONS });
}

/**
 * Waits for other processes that change the mirror's tables. The lock belongs to the transaction, because behind a
 * pooler the next transaction may get another session.
 */
export async function lockMigrations(connection: PostgresConnection, schema: string): Promise<void> {
  await connection.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [`obsync ${schema}`]);
}

/** Whether this version has nothing to migrate. */
async function isUpToDate(connection: PostgresConnection, schema: string): Promise<boolean> {
  const { found, last } = await comparedVersion(connection, schema);
  if (found !== last) return false;
  const journal = `${escapeIdentifier(schema)}.__obsync_views`;
  const { rows } = await connection.query(`select name, hash from ${journal} order by number`);
  return hashOfViews(rows) === readFileSync(VIEWS_HASH, 'utf8').trim();
}

/** Our views as they are in the database, in creation order. Other names in the schema are not ours. */
const VIEW_JOURNAL =
  'create table if not exists __obsync_views (number bigint primary key, name text not null, hash text not null)';

/** Changes with any view or comment. */
export function hashOfViews(views: readonly Partial<Record<'name' | 'hash', unknown>>[]): string {
  return createHash('sha256')
    .update(JSON.stringify(views.map(({ name, hash }) => [name, hash])))
    .digest('hex');
}

/** @throws SyncError `usage` if the mirror was made by a newer version or an unreleased build */
export async function comparedVersion(connection: PostgresConnection, schema: string): Promise<MirrorVersion> {
  const found = await postgresVersion(connection, schema);
  const times = postgresMigrationTimes();
  const name = `the mirror in schema ${schema}`;
  refuseNewer(found, times, name);
  refuseUnreleased(found, times, name);
  return { found, last: times.last };
}

/** A schema may hold other things too, but none with our names. */
async function refuseTaken(connection: PostgresConnection, schema: string): Promise<void> {
  const { postgresViews } = await import('./views.ts');
  const { rows } = await connection.query(
    'select relname as name from pg_class where relnamespace = to_regnamespace($1) and relname = any($2) order by 1',
    [escapeIdentifier(schema), [...mirrorTables(), ...postgresViews().map(({ name }) => name)]],
  );
  if (rows.length === 0) return;
  const text = `schema ${schema} is not a mirror but has ${rows.map(({ name }) => name).join(', ')}`;
  throw usageError(`${text}: name another with ?schema= at the end of --db`);
}

/** The names of all tables that a mirror has, or had in an earlier version. */
export function mirrorTables(): string[] {
  return allMigrations()
    .flatMap(({ sql }) => sql)
    .flatMap((sql) => [...sql.matchAll(/CREATE TABLE "([^"]+)"/g)].map(([, table]) => String(table)));
}

/** Creates the schema if it is missing; only then does the user need permission to create one. */
async function enterSchema(connection: PostgresConnection, schema: string): Promise<void> {
  const { rows } = await connection.query('select 1 as is_there from pg_namespace where nspname = $1', [schema]);
  if (rows.length === 0) await connection.query(`create schema ${escapeIdentifier(schema)}`);
  for (const journal of [JOURNAL, VIEW_JOURNAL]) await connection.query(journal);
}

async function apply(connection: PostgresConnection, ahead: readonly MigrationMeta[]): Promise<void> {
  for (const { sql, hash, folderMillis } of ahead) {
    for (const statement of sql) await connection.query(statement);
    await connection.query('insert into __drizzle_migrations (hash, created_at) values ($1, $2)', [hash, folderMillis]);
  }
}

const JOURNAL = `create table if not exists __drizzle_migrations (
  id bigint generated always as identity primary key, hash text not null, created_at bigint not null)`;

/** When the mirror's last migration was written, in milliseconds since 1970; 0 without a mirror. */
export async function postgresVersion(connection: PostgresConnection, schema: string): Promise<number> {
  const journal = `${escapeIdentifier(schema)}.__drizzle_migrations`;
  // Uses the catalog table because, after a wait, `to_regclass` may not see what another process has just created.
  const { rows } = await connection.query(
    `select 1 as is_there from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where n.nspname = $1 and c.relname = '__drizzle_migrations'`,
    [schema],
  );
  if (rows.length === 0) return 0;
  const latest = await connection.query(`select coalesce(max(created_at), 0) as version from ${journal}`);
  return Number(latest.rows[0]?.['version']);
}

export const postgresMigrationTimes = (): MigrationTimes => migrationTimesIn(MIGRATIONS);
