import { max, sql } from 'drizzle-orm';
import type { BetterSQLite3Database } from 'drizzle-orm/better-sqlite3';
import { mirrorEnvironments as table } from '../schema/sync.ts';
import { after, type Instant } from '../src/core/instant.ts';

type ClockDatabase = Pick<BetterSQLite3Database, 'select' | 'run'>;

/**
 * Moves the clocks of these environments to the time of the current transaction. That is the machine's time, or, if this is later,
 * the microsecond after the newest clock of any environment. So no two transactions have the same time, and the time never runs
 * backwards, whatever the machine's clock does (R21). The clocks of other environments are read, because a reader starts from the
 * newest clock, but they are not written. Call it once in the transaction whose rows it stamps.
 */
export function tick(db: ClockDatabase, clock: () => Instant, envIds: readonly string[]): Instant {
  const newest = db
    .select({ at: max(table.mirrored_at) })
    .from(table)
    .get();
  const mirroredAt = nextTick(clock(), newest?.at ?? null);
  // One statement, however many environments there are.
  db.run(sql`
    insert into ${table} (env_id, mirrored_at) select value, ${mirroredAt} from json_each(${JSON.stringify(envIds)}) where true
    on conflict (env_id) do update set mirrored_at = excluded.mirrored_at`);
  return mirroredAt;
}

/** `now`, or what comes right after the newest clock where that is later (R21). */
export function nextTick(now: Instant, newest: Instant | null): Instant {
  return newest === null || now > newest ? now : after(newest);
}

/** The environments that have a clock. */
export function environmentsWithClock(db: ClockDatabase): string[] {
  return db
    .select({ id: table.env_id })
    .from(table)
    .all()
    .map(({ id }) => id);
}
