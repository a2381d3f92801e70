import { and, eq, isNull, lte, notInArray, or, sql } from 'drizzle-orm';
import { accountEnvironments, accounts, workers } from '../../schema/accounts.ts';
import type { ListedEnvironment } from '../core/environments.ts';
import { type Instant, instantOfMs } from '../core/instant.ts';
import { LEASE_MS } from '../core/lease.ts';
import { LIST_EVERY_SECONDS, type NextTick, timetable } from '../core/schedule.ts';
import { dueSince, QUEUE_AGAIN_SECONDS, turnOf } from '../core/turn.ts';
import { noSuchEnvironment, wantedOf } from '../core/wanted-environments.ts';
import { accountOf, type SyncAccount } from './account-store.ts';
import type { WorkDatabase, WorkTransaction } from './database.ts';
import type { QueuedJob, QueuedWork } from './job-queue.ts';

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
export async function chooseDue({ query }: WorkTransaction): Promise<QueuedJob[]> {
  const { rows: held } = await query(
    `select pg_try_advisory_xact_lock(hashtextextended('obsync due list', 0)) as mine`,
  );
  if (held[0]?.['mine'] !== true) return [];
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

function inSeconds(seconds: number) {
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
function dueAfter(
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

/** Notes which environments an account has now, and when each is due. @returns what is wrong with its choice of environments, if anything is */
export async function noteListed(
  workTransaction: WorkTransaction,
  account: SyncAccount,
  { listed, next }: { listed: readonly ListedEnvironment[]; next: NextTick },
): Promise<string | null> {
  const { drizzle } = workTransaction;
  const { chosen, unknown } = wantedOf(listed, (account.options['env'] as readonly string[] | undefined) ?? []);
  const now = await databaseTime(workTransaction);
  const known = await drizzle.select().from(accountEnvironments).where(eq(accountEnvironments.account, account.name));
  const before = new Map(known.map((row) => [row.env_id, row]));
  for (const environment of chosen) {
    const row = before.get(environment.id);
    const lastStart = instantOf(row?.started_at ?? row?.last_started_at);
    const scheduled = dueAfter(account, environment, lastStart, { now, next });
    await noteEnvironment(workTransaction, account.name, {
      environment,
      // What is at hand stays due until its end is noted: its worker may be killed.
      due:
        row == null || row.worker === null ? dueSince(scheduled, instantOf(row?.due_at), now) : instantOf(row.due_at),
      row,
    });
  }
  await forgetOthers(workTransaction, account.name, chosen);
  return unknown.length > 0 ? noSuchEnvironment(unknown, listed).message : null;
}

async function noteEnvironment(
  { drizzle }: WorkTransaction,
  account: string,
  {
    environment: { id, name, cron },
    due,
    row,
  }: { environment: ListedEnvironment; due: Instant | null; row: EnvironmentRow | undefined },
): Promise<void> {
  const isMoved = row === undefined || instantOf(row.due_at) !== due;
  if (!isMoved && row.name === name && row.cron === cron) return;
  const dueAt = timeOf(due);
  const said = { name, cron, due_at: dueAt, ...(isMoved && dueAt !== null ? { queue_at: dueAt } : {}) };
  await drizzle
    .insert(accountEnvironments)
    .values({ account, env_id: id, ...said })
    .onConflictDoUpdate({ target: [accountEnvironments.account, accountEnvironments.env_id], set: said });
}

type EnvironmentRow = typeof accountEnvironments.$inferSelect;

/** An environment that is not listed any more is not synced any more; what is at hand ends first. */
async function forgetOthers(
  { drizzle }: WorkTransaction,
  account: string,
  listed: readonly ListedEnvironment[],
): Promise<void> {
  const ids = listed.map(({ id }) => id);
  const { account: of, env_id, worker } = accountEnvironments;
  await drizzle.delete(accountEnvironments).where(and(eq(of, account), notInArray(env_id, ids), isNull(worker)));
}

/**
 * Notes that the environments of an account were listed, or why they were not. They are listed again after the usual time; after a failure in a minute,
 * and then after twice the time each, until it is the usual one.
 */
export async function noteListing(
  { drizzle }: Pick<WorkDatabase, 'drizzle'>,
  account: string,
  { error, isListed }: { error: string | null; isListed: boolean },
): Promise<void> {
  const again = isListed ? inSeconds(LIST_EVERY_SECONDS) : sql`now() + ${AFTER_FAILURE}`;
  await drizzle
    .update(accounts)
    .set({
      listing_error: error,
      listing_due_at: again,
      queue_at: again,
      ...(isListed ? { listed_at: sql`now()` } : {}),
    })
    .where(eq(accounts.name, account));
}

/** As long as the listing has failed already, at least a minute. */
const AFTER_FAILURE = sql`least(make_interval(secs => ${sql.raw(String(LIST_EVERY_SECONDS))}), greatest(interval '1 minute',
  now() - coalesce(${accounts.listed_at} + make_interval(secs => ${sql.raw(String(LIST_EVERY_SECONDS))}), ${accounts.added_at})))`;

/** Says that a worker lives. Workers that have been silent for a day are forgotten. */
export async function giveSign(
  { query }: WorkDatabase,
  { worker, host, pid, concurrency }: WorkerIdentity,
): Promise<void> {
  await query(
    `with gone as (delete from obsync_accounts.workers where seen_at < now() - interval '1 day')
      insert into obsync_accounts.workers (worker, host, pid, concurrency) values ($1, $2, $3, $4)
      on conflict (worker) do update set seen_at = now()`,
    [worker, host, pid, concurrency],
  );
}

/** A worker as the others know it. */
export interface WorkerIdentity {
  readonly worker: string;
  readonly host: string;
  readonly pid: number;
  readonly concurrency: number;
}

export async function forgetWorker({ drizzle }: WorkDatabase, worker: string): Promise<void> {
  await drizzle.delete(workers).where(eq(workers.worker, worker));
}

async function databaseTime({ query }: WorkTransaction): Promise<Instant> {
  const { rows } = await query('select extract(epoch from now())::float8 * 1000 as ms');
  return instantOfMs(Number(rows[0]?.['ms']));
}

function instantOf(time: Date | null | undefined): Instant | null {
  return time == null ? null : instantOfMs(time.getTime());
}

function timeOf(instant: Instant | null): Date | null {
  return instant === null ? null : new Date(instant);
}
