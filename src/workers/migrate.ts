import { findPackageJSON } from 'node:module';
import { dirname, join } from 'node:path';
import { type MigrationMeta, readMigrationFiles } from 'drizzle-orm/migrator';
import { usageError } from '../core/errors.ts';
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
  const [first, latest] = [all[0]?.folderMillis ?? 0, all.at(-1)?.folderMillis ?? 0];
  if ((await accountsVersion(database)) === latest) return;
  await database.transaction(async (transaction) => {
    // A transaction-level lock: behind a pooler, the next transaction may use another session.
    await transaction.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [SCHEMA]);
    const from = await accountsVersion(transaction);
    if (from > latest)
      throw usageError(`the accounts in schema ${SCHEMA} were created by a newer obsync: update this one`);
    if (from > 0 && from < first)
      throw usageError(
        `the accounts in schema ${SCHEMA} were created by an unreleased build of obsync: drop the schema and add them again`,
      );
    const ahead = all.filter(({ folderMillis }) => folderMillis > from);
    await apply(transaction, ahead);
  });
}

async function apply({ query }: WorkTransaction, ahead: readonly MigrationMeta[]): Promise<void> {
  const { rows } = await query('select 1 from pg_namespace where nspname = $1', [SCHEMA]);
  // Creating a schema needs a privilege, so an existing one is not created again.
  const isNeeded = (statement: string): boolean => rows.length === 0 || !/^create schema/i.test(statement);
  for (const statement of ahead.flatMap(({ sql }) => sql).filter(isNeeded)) await query(statement);
  await query(
    `create table if not exists ${JOURNAL} (id bigint generated always as identity primary key, hash text not null, created_at bigint not null)`,
  );
  for (const { hash, folderMillis } of ahead)
    await query(`insert into ${JOURNAL} (hash, created_at) values ($1, $2)`, [hash, folderMillis]);
}

/** When the last migration of the accounts was created, in milliseconds; 0 if there are no accounts. */
export async function accountsVersion({ query }: WorkTransaction): Promise<number> {
  // Not `to_regclass`, which may use what this session cached before it waited for another one.
  const { rows } = await query(
    'select 1 from pg_class c join pg_namespace n on n.oid = c.relnamespace where n.nspname = $1 and c.relname = $2',
    [SCHEMA, JOURNAL_TABLE],
  );
  if (rows.length === 0) return 0;
  const { rows: latest } = await query(`select max(created_at) as version from ${JOURNAL}`);
  return Number(latest[0]?.['version'] ?? 0);
}
