import { sql } from 'drizzle-orm';
import { LEASE_MS } from '../core/schedule/lease.ts';
import type { WorkDatabase } from './database.ts';

export interface WorkerIdentity {
  readonly worker: string;
  readonly host: string;
  readonly pid: number;
  readonly concurrency: number;
}

/** SQL for whether a worker is alive. One that has been silent for the duration of a lease is presumed dead. */
export const whereAlive = sql.raw(`workers.seen_at > now() - interval '${LEASE_MS} ms'`);

/** Records that a worker is alive, and deletes workers that have been silent for a day. */
export async function recordHeartbeat(
  { query }: WorkDatabase,
  { worker, host, pid, concurrency }: WorkerIdentity,
): Promise<void> {
  await query(
    `with gone as (delete from obsync_accounts.workers where seen_at < now() - interval '1 day')
      insert into obsync_accounts.workers (worker, host, pid, concurrency, seen_at) values ($1, $2, $3, $4, now())
      on conflict (worker) do update set seen_at = now()`,
    [worker, host, pid, concurrency],
  );
}

export async function releaseWorker({ query }: WorkDatabase, worker: string): Promise<void> {
  await query(
    `with syncs as (
        update obsync_accounts.account_environments set worker = null, started_at = null where worker = $1),
      listings as (update obsync_accounts.accounts set worker = null where worker = $1)
      delete from obsync_accounts.workers where worker = $1`,
    [worker],
  );
}
