import { findPackageJSON } from 'node:module';
import { dirname, join } from 'node:path';
import { type MigrationMeta, readMigrationFiles } from 'drizzle-orm/migrator';
import { SyncError } from '../core/errors.ts';
import type { WorkDatabase, WorkTransaction } from './database.ts';

/** The package contains the migrations, wherever this file was compiled to. */
const MIGRATIONS = join(dirname(findPackageJSON(import.meta.url) ?? ''), 'schema', 'migrations-accounts');

const SCHEMA = 'obsync_accounts';
const JOURNAL_TABLE = '__drizzle_migrations';
const JOURNAL = `${SCHEMA}.${JOURNAL_TABLE}`;

/**
 * Creates the tables of the accounts, or migrates them from an older version, in one transaction. Other processes that
 * do the same wait.
 * @throws SyncError `usage` if a newer version or an unreleased build created them
 */
export async function migrateAccounts(database: WorkDatabase): Promise<void> {
  const all = readMigrationFiles({ migrationsFolder: MIGRATIONS });
  if ((await accountsVersion(database)) === latestOf(all)) return;
  await database.transaction(async (transaction) => {
    // A transaction-level lock: behind a pooler, the next transaction may use another session.
    await transaction.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [SCHEMA]);
    const from = await accountsVersion(transaction);
    if (from > latestOf(all))
      throw new SyncError('usage', `the accounts in schema ${SCHEMA} were created by a newer obsync: update this one`);
    if (from > 0 && from < firstOf(all))
      throw new SyncError(
        'usage',
        `the accounts in schema ${SCHEMA} were created by an unreleased build of obsync: drop the schema and add them again`,
      );
    const { rows } = await transaction.query('select 1 from pg_namespace where nspname = $1', [SCHEMA]);
    // Creating a schema needs a privilege, so an existing one is not created again.
    const statements = statementsAfter(all, from).filter((each) => rows.length === 0 || !/^create schema/i.test(each));
    for (const statement of statements) await transaction.query(statement);
    await record(transaction, all, from);
  });
}

export async function hasAccounts(database: WorkDatabase): Promise<boolean> {
  return (await accountsVersion(database)) > 0;
}

/** When the last migration of the accounts was created, in milliseconds; 0 if there are no accounts. */
async function accountsVersion(database: Pick<WorkDatabase, 'query'>): Promise<number> {
  // Not `to_regclass`, which may use what this session cached before it waited for another one.
  const { rows } = await database.query(
    'select 1 from pg_class c join pg_namespace n on n.oid = c.relnamespace where n.nspname = $1 and c.relname = $2',
    [SCHEMA, JOURNAL_TABLE],
  );
  if (rows.length === 0) return 0;
  const { rows: latest } = await database.query(`select max(created_at) as version from ${JOURNAL}`);
  return Number(latest[0]?.['version'] ?? 0);
}

async function record(transaction: WorkTransaction, all: readonly MigrationMeta[], from: number): Promise<void> {
  await transaction.query(
    `create table if not exists ${JOURNAL} (id bigint generated always as identity primary key, hash text not null, created_at bigint not null)`,
  );
  for (const { hash, folderMillis } of all.filter((each) => each.folderMillis > from))
    await transaction.query(`insert into ${JOURNAL} (hash, created_at) values ($1, $2)`, [hash, folderMillis]);
}

function statementsAfter(all: readonly MigrationMeta[], from: number): string[] {
  return all.filter(({ folderMillis }) => folderMillis > from).flatMap(({ sql }) => sql);
}

function firstOf(all: readonly MigrationMeta[]): number {
  return Math.min(...all.map(({ folderMillis }) => folderMillis));
}

function latestOf(all: readonly MigrationMeta[]): number {
  return Math.max(...all.map(({ folderMillis }) => folderMillis));
}
