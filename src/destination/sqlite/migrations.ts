import { findPackageJSON } from 'node:module';
import { dirname, join } from 'node:path';
import Sqlite, { type Database } from 'better-sqlite3';
import { type MigrationMeta, readMigrationFiles } from 'drizzle-orm/migrator';
import { getTableConfig, SQLiteSyncDialect, type SQLiteTable } from 'drizzle-orm/sqlite-core';
import { usageError } from '../../core/errors.ts';
import { type MigrationTimes, migrationTimesIn, migrationTimesOf, refuseUnreleased } from '../sql/mirror-version.ts';
import { list, quote } from '../sql/tables.ts';

/** The migrations are part of the package, wherever this file has been compiled to. */
const MIGRATIONS = join(dirname(findPackageJSON(import.meta.url) ?? ''), 'schema', 'migrations');

/**
 * Creates the tables of a new file, or migrates those of an older version, in one transaction.
 * @throws SyncError `usage` if a view or trigger of the user's prevents it, or if the mirror was made before the first
 * release
 */
export function migrateFile(
  connection: Database,
  all: readonly MigrationMeta[] = readMigrationFiles({ migrationsFolder: MIGRATIONS }),
): void {
  const from = sqliteVersion(connection);
  refuseUnreleased(from, migrationTimesOf(all.map(({ folderMillis }) => folderMillis)), connection.name);
  const ahead = all.filter(({ folderMillis }) => folderMillis > from);
  // A first sync that was killed has not built the secondary indexes, and a migration cannot drop an index that does
  // not exist.
  for (const name of from === 0 ? [] : droppedBy(ahead))
    connection.exec(`create index if not exists ${quote(name)} on mirror (id)`);
  try {
    if (ahead.length > 0) connection.transaction(migrate).immediate(connection, ahead);
  } catch (error) {
    throw refusedFor(connection, all, error);
  }
}

/**
 * Replaces drizzle's migrator, which hides the reason of a failed commit, such as a full disk, because its rollback
 * fails too.
 */
function migrate(connection: Database, ahead: readonly MigrationMeta[]): void {
  connection.exec(JOURNAL);
  const note = connection.prepare('insert into __drizzle_migrations (hash, created_at) values (?, ?)');
  for (const { sql, hash, folderMillis } of ahead) {
    for (const statement of sql) connection.exec(statement);
    note.run(hash, folderMillis);
  }
}

/** When a column is renamed or dropped, SQLite checks every view and trigger of the file, including the user's own. */
function refusedFor(connection: Database, all: readonly MigrationMeta[], error: unknown): unknown {
  const statements = all.flatMap(({ sql }) => sql);
  const ours = statements.flatMap((sql) => [...sql.matchAll(/CREATE VIEW `([^`]+)`/g)].map(([, view]) => view));
  const names = connection.prepare("select name from sqlite_schema where type in ('view', 'trigger')").pluck().all();
  const foreign = names.filter((name) => !ours.includes(String(name)));
  if (!(error instanceof Sqlite.SqliteError) || error.code !== 'SQLITE_ERROR' || foreign.length === 0) return error;
  const text = `${connection.name} cannot be brought up to date beside views or triggers of your own (${foreign.join(', ')})`;
  return usageError(`${text}: drop them, run \`obsync sync\`, and create them again`, { cause: error });
}

const JOURNAL =
  'create table if not exists __drizzle_migrations (id serial primary key, hash text not null, created_at numeric)';

/** Indexes of an older file that the pending migrations drop. */
function droppedBy(ahead: readonly MigrationMeta[]): Set<string> {
  const dropped = new Set<string>();
  const made = new Set<string>();
  for (const statement of ahead.flatMap(({ sql }) => sql)) {
    const [, verb, name = ''] = /^\s*(CREATE|DROP)(?: UNIQUE)? INDEX `([^`]+)`/.exec(statement) ?? [];
    if (verb === 'CREATE') made.add(name);
    if (verb === 'DROP' && !made.has(name)) dropped.add(name);
  }
  return dropped;
}

/** When the file's last migration was written, in milliseconds since 1970; 0 for an empty file. */
export function sqliteVersion(connection: Database): number {
  if (!has(connection, "sqlite_schema where name = '__drizzle_migrations'")) return 0;
  return Number(connection.prepare('select coalesce(max(created_at), 0) from __drizzle_migrations').pluck().get());
}

export const sqliteMigrationTimes = (): MigrationTimes => migrationTimesIn(MIGRATIONS);

/**
 * Drops the secondary indexes of empty tables before a first sync: building them once at its end costs half as much as
 * maintaining them row by row. After the first sync they stay, even for an empty table.
 */
export function dropSecondaryIndexes(connection: Database, tables: readonly SQLiteTable[]): void {
  if (has(connection, 'sync_checkpoints where scan_ended_cycle is not null')) return;
  for (const table of tables) {
    const { name, indexes } = getTableConfig(table);
    if (has(connection, quote(name))) continue;
    for (const { config } of indexes) connection.exec(`drop index if exists ${quote(config.name)}`);
  }
}

function has(connection: Database, rows: string): boolean {
  return connection.prepare(`select 1 from ${rows} limit 1`).get() !== undefined;
}

/** Builds missing secondary indexes, after a first sync or one that was killed. */
export function buildSecondaryIndexes(connection: Database, tables: readonly SQLiteTable[]): void {
  for (const table of tables) {
    const { name, indexes } = getTableConfig(table);
    for (const { config } of indexes) {
      const columns = config.columns.map((column) => (column as { name: string }).name);
      const where = config.where === undefined ? '' : ` where ${new SQLiteSyncDialect().sqlToQuery(config.where).sql}`;
      connection.exec(`create index if not exists ${quote(config.name)} on ${quote(name)} (${list(columns)})${where}`);
    }
  }
}
