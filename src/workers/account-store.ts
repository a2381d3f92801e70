import { and, asc, eq, ne, sql } from 'drizzle-orm';
import { accountEnvironments, accounts, workers } from '../../schema/accounts.ts';
import { SyncError, usageError } from '../core/errors.ts';
import { instantOfMs } from '../core/time/instant.ts';
import type { WorkDatabase, WorkTransaction } from './database.ts';
import { whereAlive } from './worker-identity.ts';

type AccountRow = typeof accounts.$inferSelect;

/** An account whose environments workers sync, with the names of its table. It says where its token is (R25). */
export interface SyncAccount
  extends Pick<
    Readonly<AccountRow>,
    'name' | 'base_url' | 'token_env' | 'token_file' | 'mirror_schema' | 'cron' | 'delay_seconds'
  > {
  /** The options of its syncs, named as in the library. */
  readonly options: Readonly<Record<string, unknown>>;
}

export function accountOf(row: AccountRow): SyncAccount {
  return { ...row, options: JSON.parse(row.options) };
}

/**
 * Adds an account, or changes it if `replace` allows; a listing of its environments is then due.
 * @returns whether it existed before
 * @throws SyncError `usage` if the name or the schema is taken
 */
export async function storeAccount(
  database: WorkDatabase,
  account: SyncAccount,
  { replace }: { replace: boolean },
): Promise<boolean> {
  return database.transaction(async (transaction) => {
    // Two accounts that are added at the same time must see each other's schema.
    await transaction.query('lock table obsync_accounts.accounts in share row exclusive mode');
    const before = await findAccount(transaction, account.name);
    if (before !== null && !replace)
      throw usageError(`the account ${account.name} already exists: change it with --replace`);
    await refuseTakenSchema(transaction, account);
    const isMoved = before?.mirror_schema !== account.mirror_schema || before.base_url !== account.base_url;
    // What is recorded of its environments belongs to the previous mirror.
    if (isMoved) await deleteEnvironments(transaction, account.name);
    const row = { ...account, options: JSON.stringify(account.options) };
    await transaction.drizzle
      .insert(accounts)
      .values(row)
      .onConflictDoUpdate({ target: accounts.name, set: { ...row, ...DUE_NOW, ...(isMoved ? NEW : {}) } });
    return before !== null;
  });
}

async function refuseTakenSchema(
  transaction: WorkTransaction,
  { name, mirror_schema: schema }: SyncAccount,
): Promise<void> {
  const isTaken = and(eq(accounts.mirror_schema, schema), ne(accounts.name, name));
  const [taken] = await transaction.drizzle.select({ name: accounts.name }).from(accounts).where(isTaken);
  if (taken === undefined) return;
  throw usageError(`account ${taken.name} already uses the schema ${schema}: name another one with --schema`);
}

/** Makes a listing of the account's environments due now. */
export async function requestListing({ drizzle }: WorkDatabase, name: string): Promise<void> {
  await drizzle.update(accounts).set(DUE_NOW).where(eq(accounts.name, name));
}

/** A listing in flight may not know of the change, so its result isn't recorded. */
const DUE_NOW = { listing_due_at: sql`now()`, worker: null };

const NEW = { added_at: sql`now()`, listed_at: null };

/** @returns null if there is no such account */
export async function findAccount({ drizzle }: WorkTransaction, name: string): Promise<SyncAccount | null> {
  const [row] = await drizzle.select().from(accounts).where(eq(accounts.name, name));
  return row === undefined ? null : accountOf(row);
}

/** The accounts with what is known about them. */
export async function loadAccounts({ drizzle }: WorkDatabase) {
  const environments = drizzle.$count(accountEnvironments, eq(accountEnvironments.account, accounts.name));
  const rows = await drizzle.select({ account: accounts, environments }).from(accounts).orderBy(asc(accounts.name));
  return rows.map(({ account, environments: found }) => ({
    ...accountOf(account),
    added_at: instantOfMs(account.added_at.getTime()),
    /** How many environments it has; null until they are listed. */
    environments: account.listed_at === null ? null : found,
    listing_error: account.listing_error,
  }));
}

/**
 * Deletes an account. Its mirror stays unless `drop` is given, which drops it or throws.
 * @throws SyncError `usage` if there is no such account or its schema contains anything else, `locked` if a worker is
 * syncing it
 */
export async function deleteAccount(
  database: WorkDatabase,
  name: string,
  drop: ((query: WorkTransaction['query'], schema: string) => Promise<void>) | null,
): Promise<SyncAccount> {
  return database.transaction(async (transaction) => {
    // If two processes delete it, the second one waits and then finds nothing.
    const [row] = await transaction.drizzle.select().from(accounts).where(eq(accounts.name, name)).for('update');
    if (row === undefined) throw noAccount(name);
    const account = accountOf(row);
    if (drop !== null) await refuseBusy(transaction, name);
    await deleteEnvironments(transaction, name);
    await transaction.drizzle.delete(accounts).where(eq(accounts.name, name));
    await drop?.(transaction.query, account.mirror_schema);
    return account;
  });
}

async function deleteEnvironments({ drizzle }: WorkTransaction, account: string): Promise<void> {
  await drizzle.delete(accountEnvironments).where(eq(accountEnvironments.account, account));
}

export function noAccount(name: string): SyncError {
  return usageError(`there is no account ${name}: see obsync accounts list`);
}

async function refuseBusy({ drizzle }: WorkTransaction, name: string): Promise<void> {
  const [busy] = await drizzle
    .select({ host: workers.host, pid: workers.pid })
    .from(accountEnvironments)
    .innerJoin(workers, eq(workers.worker, accountEnvironments.worker))
    .where(and(eq(accountEnvironments.account, name), whereAlive))
    .limit(1);
  if (busy === undefined) return;
  throw new SyncError(
    'locked',
    `a worker is syncing account ${name} (${busy.host}, process ${busy.pid}): wait until it has ended`,
  );
}
