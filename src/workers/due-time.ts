import { sql } from 'drizzle-orm';
import type { ListedEnvironment } from '../core/schedule/environments.ts';
import { type NextTick, timetable } from '../core/schedule/schedule.ts';
import { type Instant, instantOfMs } from '../core/time/instant.ts';
import type { SyncAccount } from './account-store.ts';
import type { WorkTransaction } from './database.ts';

/** When the next sync after `lastStart` is due; null if there is none. */
export function dueAfter(
  { cron, delay_seconds: delaySeconds }: SyncAccount,
  environment: ListedEnvironment,
  lastStart: Instant | null,
  clock: { readonly now: Instant; readonly next: NextTick },
): Instant | null {
  const rules = { cron, delaySeconds, environments: [], together: false };
  const lastStarts = new Map(lastStart === null ? [] : [[environment.id, lastStart]]);
  return timetable([environment], rules, lastStarts, clock)[0]?.due ?? null;
}

/**
 * SQL for the queue position of an environment that is due then. Environments due earlier come first, but those of one
 * account that are due together are a minute apart, so an account with a thousand of them delays no other.
 */
export function queuePosition(account: string, envId: string, due: Instant | null) {
  return sql`${due}::timestamptz + interval '1 minute' * (
    select count(*) from obsync_accounts.account_environments other
    where other.account = ${account} and other.env_id <> ${envId} and other.due_at = ${due}::timestamptz)`;
}

/** SQL for the database's time this many seconds from now. */
export function inSeconds(seconds: number) {
  return sql`now() + make_interval(secs => ${seconds})`;
}

/** The time of the transaction, by the clock of the database. */
export async function databaseTime({ query }: Pick<WorkTransaction, 'query'>): Promise<Instant> {
  const { rows } = await query('select extract(epoch from now())::float8 * 1000 as ms');
  return instantOfMs(Number(rows[0]?.['ms']));
}

export function instantOfDate(time: Date | null | undefined): Instant | null {
  return time == null ? null : instantOfMs(time.getTime());
}
