import { and, desc, eq, exists, gt, inArray } from 'drizzle-orm';
import type { BetterSQLite3Database } from 'drizzle-orm/better-sqlite3';
import { alias } from 'drizzle-orm/sqlite-core';
import { syncRuns, syncStreamRuns } from '../schema/sync.ts';
import { addDays, type Instant } from '../src/core/instant.ts';

/** Days of the run log that are kept. */
const KEPT_DAYS = 90;

/** As many of the oldest runs are looked at as keeps up with any schedule, and costs nothing. */
const PRUNED_AT_ONCE = 10;

/**
 * Drops what the log says of runs older than is kept, but the last that it says of each stream, and the last run that ended well.
 * `now` is T: a wrong clock of the machine costs no log (R1).
 */
export function pruneLog(db: BetterSQLite3Database, now: Instant): void {
  const oldest = db.select().from(syncRuns).orderBy(syncRuns.id).limit(PRUNED_AT_ONCE).all();
  const lastWell = db
    .select({ id: syncRuns.id })
    .from(syncRuns)
    .where(and(eq(syncRuns.command, 'sync'), eq(syncRuns.status, 'done')))
    .orderBy(desc(syncRuns.id))
    .limit(1)
    .get();
  const ids = oldest
    .filter((run) => (run.server_time ?? run.started_at) < addDays(now, -KEPT_DAYS) && run.id !== lastWell?.id)
    .map((run) => run.id);
  if (ids.length === 0) return;
  const later = alias(syncStreamRuns, 'later');
  const ofStream = and(eq(later.env_id, syncStreamRuns.env_id), eq(later.stream, syncStreamRuns.stream));
  const hasLater = exists(
    db
      .select()
      .from(later)
      .where(and(ofStream, gt(later.run_id, syncStreamRuns.run_id))),
  );
  db.transaction((tx) => {
    tx.delete(syncStreamRuns)
      .where(and(inArray(syncStreamRuns.run_id, ids), hasLater))
      .run();
    tx.delete(syncRuns).where(inArray(syncRuns.id, ids)).run();
  });
}
