import { eq } from 'drizzle-orm';
import { workers } from '../../schema/accounts.ts';
import type { WorkDatabase } from './database.ts';

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
