import { and, eq, isNull, notInArray, sql } from 'drizzle-orm';
import { accountEnvironments, accounts } from '../../schema/accounts.ts';
import type { ListedEnvironment } from '../core/schedule/environments.ts';
import { dueSince, LIST_EVERY_SECONDS, type NextTick } from '../core/schedule/schedule.ts';
import { noSuchEnvironment, wantedOf } from '../core/schedule/wanted-environments.ts';
import type { Instant } from '../core/time/instant.ts';
import type { SyncAccount } from './account-store.ts';
import type { WorkDatabase, WorkTransaction } from './database.ts';
import { databaseTime, dueAfter, inSeconds, instantOfDate, queuePosition } from './due-time.ts';
import type { JobDeferral } from './job-queue.ts';

/** Records an account's environments and when each is due. Returns the problem with its selected ones, or null. */
export async function recordEnvironments(
  transaction: WorkTransaction,
  account: SyncAccount,
  { listed, next }: { listed: readonly ListedEnvironment[]; next: NextTick },
): Promise<string | null> {
  const { drizzle } = transaction;
  const { chosen, unknown } = wantedOf(listed, (account.options['env'] as readonly string[] | undefined) ?? []);
  const now = await databaseTime(transaction);
  const known = await drizzle.select().from(accountEnvironments).where(eq(accountEnvironments.account, account.name));
  const before = new Map(known.map((row) => [row.env_id, row]));
  for (const environment of chosen) {
    const row = before.get(environment.id);
    const lastStart = instantOfDate(row?.started_at ?? row?.last_started_at);
    const scheduled = dueAfter(account, environment, lastStart, { now, next });
    // A sync in flight stays due until its end is recorded, because its worker may be killed.
    const due = row?.worker == null ? dueSince(scheduled, instantOfDate(row?.due_at), now) : instantOfDate(row.due_at);
    await recordEnvironment(transaction, account.name, { ...environment, due, row });
  }
  const { account: of, env_id, worker } = accountEnvironments;
  const isUnlisted = notInArray(
    env_id,
    chosen.map(({ id }) => id),
  );
  // An environment that is no longer listed stays while a sync of it is in flight.
  await drizzle.delete(accountEnvironments).where(and(eq(of, account.name), isUnlisted, isNull(worker)));
  return unknown.length > 0 ? noSuchEnvironment(unknown, listed).message : null;
}

async function recordEnvironment(
  { drizzle }: WorkTransaction,
  account: string,
  { id, name, cron, due, row }: ListedEnvironment & { due: Instant | null; row: EnvironmentRow | undefined },
): Promise<void> {
  const isMoved = row === undefined || instantOfDate(row.due_at) !== due;
  if (!isMoved && row.name === name && row.cron === cron) return;
  const dueAt = due === null ? null : new Date(due);
  const moved = isMoved ? { due_at: dueAt, queue_at: queuePosition(account, id, due) } : {};
  const columns = { name, cron, ...moved };
  await drizzle
    .insert(accountEnvironments)
    .values({ account, env_id: id, ...columns })
    .onConflictDoUpdate({ target: [accountEnvironments.account, accountEnvironments.env_id], set: columns });
}

type EnvironmentRow = typeof accountEnvironments.$inferSelect;

/**
 * Records that the environments of an account were listed, or why not. The next listing is due after the usual time;
 * after a failure in a minute, then with exponential backoff up to the usual time.
 */
export async function recordListing(
  { drizzle }: WorkTransaction,
  account: string,
  { error, isListed }: { error: string | null; isListed: boolean },
): Promise<void> {
  const again = isListed ? inSeconds(LIST_EVERY_SECONDS) : sql`now() + ${BACKOFF}`;
  const listed = isListed ? { listed_at: sql`now()` } : {};
  const recorded = { listing_error: error, listing_due_at: again, worker: null, ...listed };
  await drizzle.update(accounts).set(recorded).where(eq(accounts.name, account));
}

/** Locks the account; false if another worker claimed the listing, or the account was changed or removed. */
export async function isStillListing({ drizzle }: WorkTransaction, account: string, worker: string): Promise<boolean> {
  const listing = drizzle.select({ name: accounts.name }).from(accounts).where(whereListing(account, worker));
  return (await listing.for('update')).length > 0;
}

/** Releases a listing that could not be performed: it becomes due again later. */
export async function deferListing(
  { drizzle }: WorkDatabase,
  account: string,
  { worker, afterSeconds, error }: JobDeferral,
): Promise<void> {
  const deferred = { worker: null, listing_due_at: inSeconds(afterSeconds), listing_error: error };
  await drizzle.update(accounts).set(deferred).where(whereListing(account, worker));
}

function whereListing(account: string, worker: string) {
  return and(eq(accounts.name, account), eq(accounts.worker, worker));
}

/** Doubles the time for which the listing has been failing, starting at one minute. */
const BACKOFF = sql`least(make_interval(secs => ${sql.raw(String(LIST_EVERY_SECONDS))}), greatest(interval '1 minute',
  now() - coalesce(${accounts.listed_at} + make_interval(secs => ${sql.raw(String(LIST_EVERY_SECONDS))}), ${accounts.added_at})))`;
