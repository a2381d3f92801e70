import { asc } from 'drizzle-orm';
import { accountEnvironments, accounts, workers } from '../../schema/accounts.ts';
import { type Instant, instantOfMs, secondsBetween } from '../core/time/instant.ts';
import type { WorkDatabase } from './database.ts';
import { databaseTime, instantOfDate } from './due-time.ts';
import { whereAlive } from './worker-identity.ts';

/** All accounts, their environments and the workers, as of one instant. */
export async function loadWorkStatus(database: WorkDatabase) {
  return database.transaction(async ({ drizzle, query }) => {
    await query('set transaction isolation level repeatable read, read only');
    const now = await databaseTime({ query });
    const alive = await drizzle.select().from(workers).where(whereAlive).orderBy(asc(workers.started_at));
    const named = new Map(alive.map(({ worker, host, pid }) => [worker, `${host} ${pid}`]));
    const known = await drizzle.select().from(accounts).orderBy(asc(accounts.name));
    const { name, env_id } = accountEnvironments;
    const environments = await drizzle.select().from(accountEnvironments).orderBy(asc(name), asc(env_id));
    const byAccount = Map.groupBy(environments, ({ account }) => account);
    const running = Map.groupBy(environments, ({ worker }) => worker);
    return {
      checked_at: now,
      accounts: known.map(({ name: account, base_url, mirror_schema: schema, listing_error: error }) => ({
        ...{ account, base_url, schema, error },
        environments: (byAccount.get(account) ?? []).map((row) => environmentStatus(row, now, named)),
      })),
      workers: alive.map(({ worker, host, pid, started_at, seen_at, concurrency }) => ({
        worker,
        host,
        pid,
        started_at: instantOfMs(started_at.getTime()),
        seen_at: instantOfMs(seen_at.getTime()),
        concurrency,
        running: running.get(worker)?.length ?? 0,
      })),
    };
  });
}

function environmentStatus(
  row: typeof accountEnvironments.$inferSelect,
  now: Instant,
  named: ReadonlyMap<string, string>,
) {
  const synced = instantOfDate(row.synced_at);
  // A worker that has ended works on nothing, whatever it recorded last.
  const worker = named.get(row.worker ?? '') ?? null;
  return {
    env_id: row.env_id,
    environment: row.name,
    synced_at: synced,
    age_seconds: synced === null ? null : Math.max(0, Math.round(secondsBetween(synced, now))),
    status: row.status,
    ended_at: instantOfDate(row.ended_at),
    error: row.error,
    next_run: instantOfDate(row.due_at),
    worker,
    working_since: worker === null ? null : instantOfDate(row.started_at),
  };
}
