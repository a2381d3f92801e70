import { and, eq, isNull, lte, or, sql } from 'drizzle-orm';
import { accountEnvironments, accounts } from '../../schema/accounts.ts';
import type { ListedEnvironment } from '../core/schedule/environments.ts';
import type { NextTick } from '../core/schedule/schedule.ts';
import { type Instant, instantOfMs } from '../core/time/instant.ts';
import { accountOf, type SyncAccount } from './account-store.ts';
import type { WorkDatabase } from './database.ts';
import { dueAfter, inSeconds, queuePosition } from './due-time.ts';
import { whereAlive } from './worker-identity.ts';

export interface ClaimedSync {
  readonly account: SyncAccount;
  readonly environment: ListedEnvironment;
  /** When it was claimed, by the clock of the database. */
  readonly startedAt: Instant;
}

export type ClaimedListing = Pick<ClaimedSync, 'account'> & { readonly environment: null };

export type ClaimedJob = ClaimedSync | ClaimedListing;

/** The worker that claims a job, and the accounts it excludes: those it is working on, or has no token for. */
export interface JobClaim {
  readonly worker: string;
  readonly without: readonly string[];
}

export interface SyncOutcome {
  /** As in `sync_runs`. */
  readonly status: string;
  readonly error: string | null;
}

/** When a job that did not run may be claimed again, and the error that status shows for it. */
export interface JobDeferral {
  readonly worker: string;
  readonly afterSeconds: number;
  readonly error: string | null;
}

/** Claims the next sync in the queue whose account no other worker is syncing; null if there is none. */
export async function claimSync({ drizzle }: WorkDatabase, { worker, without }: JobClaim): Promise<ClaimedSync | null> {
  const { account, env_id } = accountEnvironments;
  const [row] = await drizzle
    .update(accountEnvironments)
    // The milliseconds of a `Date` distinguish this sync from every other one of the worker.
    .set({ worker, started_at: sql`date_trunc('milliseconds', now())`, retry_at: null })
    .from(accounts)
    .where(
      and(
        eq(accounts.name, account),
        sql`(${account}, ${env_id}) = (
          select account, env_id from obsync_accounts.account_environments due
          where due_at <= now() and coalesce(retry_at, due_at) <= now() and ${whereClaimable(worker)}
            and account <> all(${sql.param(without)}::text[])
            and not exists (select from obsync_accounts.account_environments other
              where other.account = due.account and other.worker <> ${worker} and other.worker in ${LIVE_WORKERS})
          order by queue_at limit 1 for update skip locked)`,
      ),
    )
    .returning();
  if (row === undefined) return null;
  const { env_id: id, name, cron, started_at } = row;
  return {
    account: accountOf(row.accounts),
    environment: { id, name, cron },
    startedAt: instantOfMs((started_at as Date).getTime()),
  };
}

/** Claims the listing that has been due longest; null if there is none. */
export async function claimListing(
  { drizzle }: WorkDatabase,
  { worker, without }: JobClaim,
): Promise<ClaimedListing | null> {
  const [row] = await drizzle
    .update(accounts)
    .set({ worker })
    .where(
      sql`${accounts.name} = (
        select name from obsync_accounts.accounts
        where listing_due_at <= now() and ${whereClaimable(worker)} and name <> all(${sql.param(without)}::text[])
        order by listing_due_at limit 1 for update skip locked)`,
    )
    .returning();
  return row === undefined ? null : { account: accountOf(row), environment: null };
}

const LIVE_WORKERS = sql`(select workers.worker from obsync_accounts.workers where ${whereAlive})`;

/** A worker excludes its own jobs, so another one in its name was claimed by a statement whose response was lost. */
function whereClaimable(worker: string) {
  return sql`(worker is null or worker = ${worker} or worker not in ${LIVE_WORKERS})`;
}

/** Records a sync's end and next time. If another worker claimed it meanwhile, only success still counts. */
export async function endSync(
  { drizzle }: WorkDatabase,
  claim: ClaimedSync,
  { worker, outcome, next }: { worker: string; outcome: SyncOutcome; next: NextTick },
): Promise<void> {
  const { account, environment, startedAt } = claim;
  const due = dueAfter(account, environment, startedAt, { now: startedAt, next });
  // If the cron expression has changed since the sync started, it stays due: the next sync follows the new one.
  const isSameCron = sql`${accountEnvironments.cron} is not distinct from ${environment.cron}
    and (select ${accounts.cron} from ${accounts} where ${accounts.name} = ${account.name}) is not distinct from ${account.cron}`;
  const { due_at, queue_at } = accountEnvironments;
  const { status, error } = outcome;
  await drizzle
    .update(accountEnvironments)
    .set({
      worker: null,
      started_at: null,
      last_started_at: new Date(startedAt),
      due_at: sql`case when ${isSameCron} then ${due}::timestamptz else ${due_at} end`,
      queue_at: sql`case when ${isSameCron} then ${queuePosition(account.name, environment.id, due)} else ${queue_at} end`,
      ended_at: sql`now()`,
      status,
      error,
      ...(status === 'done' ? { synced_at: new Date(startedAt) } : {}),
    })
    .where(status === 'done' ? whereNewest(claim) : whereStillClaimed(claim, worker));
}

/** Releases a sync that did not run: it stays due and keeps its queue position. */
export async function deferSync(
  { drizzle }: WorkDatabase,
  claim: ClaimedSync,
  { worker, afterSeconds, error }: JobDeferral,
): Promise<void> {
  const failure = error === null ? {} : { error };
  const deferred = { worker: null, started_at: null, retry_at: inSeconds(afterSeconds), ...failure };
  await drizzle.update(accountEnvironments).set(deferred).where(whereStillClaimed(claim, worker));
}

/** Selects the environment unless another worker has claimed it since. */
function whereStillClaimed({ account, environment, startedAt }: ClaimedSync, worker: string) {
  return and(
    eq(accountEnvironments.account, account.name),
    eq(accountEnvironments.env_id, environment.id),
    eq(accountEnvironments.worker, worker),
    eq(accountEnvironments.started_at, new Date(startedAt)),
  );
}

/** Selects the environment unless a sync that started later has ended, or the account has another mirror by now. */
function whereNewest({ account, environment, startedAt }: ClaimedSync) {
  const { account: of, env_id, last_started_at } = accountEnvironments;
  return and(
    eq(of, account.name),
    eq(env_id, environment.id),
    sql`(${account.base_url}, ${account.mirror_schema}) = (select ${accounts.base_url}, ${accounts.mirror_schema} from ${accounts}
      where ${accounts.name} = ${account.name})`,
    or(isNull(last_started_at), lte(last_started_at, new Date(startedAt))),
  );
}
