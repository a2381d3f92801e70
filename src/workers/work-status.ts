import { asc, eq } from 'drizzle-orm';
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
    const found = await drizzle
      .select()
      .from(accounts)
      .leftJoin(accountEnvironments, eq(accountEnvironments.account, accounts.name))
      .orderBy(asc(accounts.name), asc(accountEnvironments.name), asc(accountEnvironments.env_id));
    const byAccount = Map.groupBy(found, (row) => row.accounts.name);
    const running = Map.groupBy(found, (row) => row.account_environments?.worker);
    return {
      checked_at: now,
      accounts: [...byAccount.values()].map((group) => accountStatus(group, now, named)),
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

interface FoundRow {
  readonly accounts: typeof accounts.$inferSelect;
  readonly account_environments: typeof accountEnvironments.$inferSelect | null;
}

function accountStatus(group: readonly FoundRow[], now: Instant, named: ReadonlyMap<string, string>) {
  const { name, base_url, mirror_schema, listing_error } = (group[0] as FoundRow).accounts;
  const environments = group.flatMap((row) => row.account_environments ?? []);
  return {
    account: name,
    base_url,
    schema: mirror_schema,
    error: listing_error,
    environments: environments.map((row) => environmentStatus(row, now, named)),
  };
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
