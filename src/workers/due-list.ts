import { and, eq, isNull, notInArray, sql } from 'drizzle-orm';
import { accountEnvironments, accounts, workers } from '../../schema/accounts.ts';
import type { ListedEnvironment } from '../core/environments.ts';
import { type Instant, instantOfMs } from '../core/instant.ts';
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
}

/** How a sync ended. */
export interface SyncOutcome {
  /** As in `sync_runs`; null if another process held the environment, so that nothing was synced. */
  readonly status: string | null;
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
  const [row] = await drizzle
    .update(accountEnvironments)
    .set({ worker, started_at: sql`now()` })
    .from(accounts)
    .where(
      and(
        eq(accounts.name, accountEnvironments.account),
        eq(accountEnvironments.account, account),
        eq(accountEnvironments.env_id, environment),
        sql`${accountEnvironments.due_at} <= now()`,
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

/** Notes how a sync ended, and when the next one is due. */
export async function endSync(
  { drizzle }: WorkTransaction,
  begunSync: BegunSync,
  { worker, outcome, next }: { worker: string; outcome: SyncOutcome; next: NextTick },
): Promise<void> {
  const { account, environment, startedAt } = begunSync;
  const due = dueAfter(account, environment, startedAt, { now: startedAt, next });
  // A listing that met another cron expression meanwhile has set the time already.
  const isSameCron = sql`${accountEnvironments.cron} is not distinct from ${environment.cron}
    and (select ${accounts.cron} from ${accounts} where ${accounts.name} = ${account.name}) is not distinct from ${account.cron}`;
  const { status, error } = outcome;
  await drizzle
    .update(accountEnvironments)
    .set({
      worker: null,
      started_at: null,
      last_started_at: accountEnvironments.started_at,
      due_at: sql`case when ${isSameCron} then ${due}::timestamptz else ${accountEnvironments.due_at} end`,
      queue_at: sql`coalesce(case when ${isSameCron} then ${due}::timestamptz else ${accountEnvironments.due_at} end, now())`,
      ...(status === null ? {} : { ended_at: sql`now()`, status, error }),
      ...(status === 'done' ? { synced_at: accountEnvironments.started_at } : {}),
    })
    .where(ofWorker(account.name, environment.id, worker));
}

/** Gives work back that was not carried to its end: it stays due, and goes into the queue again. */
export async function giveBackWork({ drizzle }: WorkTransaction, work: QueuedWork, worker: string): Promise<void> {
  const queueNow = { queue_at: sql`now()` };
  if ('list' in work) {
    await drizzle.update(accounts).set(queueNow).where(eq(accounts.name, work.list));
    return;
  }
  await drizzle
    .update(accountEnvironments)
    .set({ worker: null, started_at: null, ...queueNow })
    .where(ofWorker(work.account, work.environment, worker));
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
      due: dueSince(scheduled, instantOf(row?.due_at), now),
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

/** Notes that the environments of an account were listed, or why they were not. They are listed again after the usual time. */
export async function noteListing(
  { drizzle }: Pick<WorkDatabase, 'drizzle'>,
  account: string,
  { error, isListed }: { error: string | null; isListed: boolean },
): Promise<void> {
  const again = sql`now() + make_interval(secs => ${LIST_EVERY_SECONDS})`;
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
