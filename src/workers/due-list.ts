import { and, eq, isNull, lte, or, sql } from 'drizzle-orm';
import { accountEnvironments, accounts } from '../../schema/accounts.ts';
import type { ListedEnvironment } from '../core/schedule/environments.ts';
import { LEASE_MS } from '../core/schedule/lease.ts';
import { QUEUE_AGAIN_SECONDS, turnOf } from '../core/schedule/queue-priority.ts';
import { type NextTick, timetable } from '../core/schedule/schedule.ts';
import { type Instant, instantOfMs } from '../core/time/instant.ts';
import { accountOf, type SyncAccount } from './account-store.ts';
import type { WorkDatabase, WorkTransaction } from './database.ts';
import type { QueuedJob, QueuedWork } from './job-queue.ts';
import { afterSetBack } from './set-back.ts';

/** A sync that a worker has begun. */
export interface BegunSync {
  readonly account: SyncAccount;
  readonly environment: ListedEnvironment;
  /** When it began, by the clock of the database. */
  readonly startedAt: Instant;
  /** The worker that had begun it before, and has not noted its end: it was killed, or is still at it. */
  readonly before: { readonly worker: string | null; readonly startedAt: Date | null };
}

/** How a sync ended. */
export interface SyncOutcome {
  /** As in `sync_runs`. */
  readonly status: string;
  readonly error: string | null;
}

/**
 * Chooses what is due and not in the queue yet: syncs, and listings of environments. What another worker chooses at the same time is left out.
 */
export async function chooseDue(transaction: WorkTransaction): Promise<QueuedJob[]> {
  const { query } = transaction;
  const { rows: held } = await query(
    `select pg_try_advisory_xact_lock(hashtextextended('obsync due list', 0)) as mine`,
  );
  if (held[0]?.['mine'] !== true) return [];
  await afterSetBack(transaction);
  const { rows: syncs } = await query(DUE_SYNCS, [QUEUE_AGAIN_SECONDS]);
  const { rows: listings } = await query(DUE_LISTINGS, [QUEUE_AGAIN_SECONDS]);
  return [
    ...listings.map(({ name, due }): QueuedJob => {
      const turn = turnOf({ dueSeconds: Number(due), ahead: 0 });
      return { work: { list: String(name) }, turn };
    }),
    ...syncs.map(({ account, env_id, due, ahead }): QueuedJob => {
      const turn = turnOf({ dueSeconds: Number(due), ahead: Number(ahead) });
      return { work: { account: String(account), environment: String(env_id) }, turn };
    }),
  ];
}

const DUE_SYNCS = `with due as (
    select account, env_id, row_number() over (partition by account order by due_at, env_id) - 1 as ahead
    from obsync_accounts.account_environments where due_at <= now())
  update obsync_accounts.account_environments e set queue_at = now() + make_interval(secs => $1)
  from due where e.account = due.account and e.env_id = due.env_id and e.queue_at <= now()
  returning e.account, e.env_id, extract(epoch from e.due_at)::float8 as due, due.ahead`;

const DUE_LISTINGS = `update obsync_accounts.accounts set queue_at = now() + make_interval(secs => $1)
  where listing_due_at <= now() and queue_at <= now()
  returning name, extract(epoch from listing_due_at)::float8 as due`;

/** Notes that a worker begins a sync. @returns null if it is not due any more, or not wanted */
export async function beginSync(
  { drizzle }: WorkDatabase,
  { account, environment }: { readonly account: string; readonly environment: string },
  worker: string,
): Promise<BegunSync | null> {
  const isThisOne = and(eq(accountEnvironments.account, account), eq(accountEnvironments.env_id, environment));
  const before = drizzle
    .select({ had: sql<string | null>`${accountEnvironments.worker}`.as('had'), since: accountEnvironments.started_at })
    .from(accountEnvironments)
    .where(isThisOne)
    .for('update')
    .as('before');
  const [row] = await drizzle
    .update(accountEnvironments)
    // The milliseconds of a `Date` tell this sync from every other one of the worker.
    .set({ worker, started_at: sql`date_trunc('milliseconds', now())` })
    .from(accounts)
    .innerJoin(before, sql`true`)
    .where(and(eq(accounts.name, accountEnvironments.account), isThisOne, sql`${accountEnvironments.due_at} <= now()`))
    .returning();
  if (row === undefined) return null;
  const { env_id: id, name, cron, started_at } = row;
  return {
    account: accountOf(row.accounts),
    environment: { id, name, cron },
    startedAt: instantOfMs((started_at as Date).getTime()),
    before: { worker: row.before.had, startedAt: row.before.since },
  };
}

/**
 * Notes how a sync ended, and when the next one is due. A good end counts also if the queue has given the job to another worker meanwhile; any other
 * end is then left to that one.
 */
export async function endSync(
  { drizzle }: WorkTransaction,
  begunSync: BegunSync,
  { worker, outcome, next }: { worker: string; outcome: SyncOutcome; next: NextTick },
): Promise<void> {
  const { account, environment, startedAt } = begunSync;
  const due = dueAfter(account, environment, startedAt, { now: startedAt, next });
  // With another cron expression than at its beginning it stays due: the next sync follows that one.
  const isSameCron = sql`${accountEnvironments.cron} is not distinct from ${environment.cron}
    and (select ${accounts.cron} from ${accounts} where ${accounts.name} = ${account.name}) is not distinct from ${account.cron}`;
  const { status, error } = outcome;
  await drizzle
    .update(accountEnvironments)
    .set({
      worker: null,
      started_at: null,
      last_started_at: timeOf(startedAt),
      due_at: sql`case when ${isSameCron} then ${due}::timestamptz else ${accountEnvironments.due_at} end`,
      queue_at: sql`coalesce(case when ${isSameCron} then ${due}::timestamptz else ${accountEnvironments.due_at} end, now())`,
      ended_at: sql`now()`,
      status,
      error,
      ...(status === 'done' ? { synced_at: timeOf(startedAt) } : {}),
    })
    .where(status === 'done' ? isNewest(begunSync) : isStillOf(begunSync, worker));
}

/** Notes that another process holds the environment: the sync stays due, and is tried again when a lease without a sign of life has ended (R26). */
export async function noteLocked({ drizzle }: WorkTransaction, begunSync: BegunSync, worker: string): Promise<void> {
  const { before } = begunSync;
  await drizzle
    .update(accountEnvironments)
    .set({
      worker: before.worker,
      started_at: before.startedAt,
      queue_at: inSeconds(LEASE_MS / 1000),
    })
    .where(isStillOf(begunSync, worker));
}

/** Why work is given back, and when it goes into the queue again. */
export interface GivenBack {
  readonly afterSeconds: number;
  /** What is to be told of it; null if all is well. */
  readonly error: string | null;
}

/** Gives work back that was not carried to its end: it stays due, and goes into the queue again. */
export async function giveBackWork(
  { drizzle }: WorkTransaction,
  work: QueuedWork,
  { worker, afterSeconds, error }: GivenBack & { worker: string },
): Promise<void> {
  const again = { queue_at: inSeconds(afterSeconds) };
  if ('list' in work) {
    const said = error === null ? {} : { listing_error: error };
    await drizzle
      .update(accounts)
      .set({ ...again, ...said })
      .where(eq(accounts.name, work.list));
    return;
  }
  await drizzle
    .update(accountEnvironments)
    .set({ worker: null, started_at: null, ...again, ...(error === null ? {} : { error }) })
    .where(ofWorker(work.account, work.environment, worker));
}

/** The condition that no other worker has begun the sync since. */
function isStillOf({ account, environment, startedAt }: BegunSync, worker: string) {
  return and(
    ofWorker(account.name, environment.id, worker),
    eq(accountEnvironments.started_at, timeOf(startedAt) as Date),
  );
}

/** The condition that no sync that began later has ended. */
function isNewest({ account, environment, startedAt }: BegunSync) {
  const { account: of, env_id, last_started_at } = accountEnvironments;
  return and(
    eq(of, account.name),
    eq(env_id, environment.id),
    or(isNull(last_started_at), lte(last_started_at, timeOf(startedAt) as Date)),
  );
}

/** The time of the database in so many seconds. */
export function inSeconds(seconds: number) {
  return sql`now() + make_interval(secs => ${seconds})`;
}

function ofWorker(account: string, envId: string, worker: string) {
  return and(
    eq(accountEnvironments.account, account),
    eq(accountEnvironments.env_id, envId),
    eq(accountEnvironments.worker, worker),
  );
}

/** The time of the first run after `lastStart`; null if there is none. */
export function dueAfter(
  account: SyncAccount,
  environment: ListedEnvironment,
  lastStart: Instant | null,
  scheduleClock: { readonly now: Instant; readonly next: NextTick },
): Instant | null {
  const rules = { cron: account.cron, delaySeconds: account.delaySeconds, environments: [], together: false };
  const lastStarts = new Map(lastStart === null ? [] : [[environment.id, lastStart]]);
  const [scheduledRun] = timetable([environment], rules, lastStarts, scheduleClock);
  return scheduledRun?.due ?? null;
}

export function instantOf(time: Date | null | undefined): Instant | null {
  return time == null ? null : instantOfMs(time.getTime());
}

export function timeOf(instant: Instant | null): Date | null {
  return instant === null ? null : new Date(instant);
}
