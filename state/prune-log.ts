import { and, desc, eq, exists, gt, inArray } from 'drizzle-orm';
import type { BetterSQLite3Database } from 'drizzle-orm/better-sqlite3';
import { alias } from 'drizzle-orm/sqlite-core';
import { syncRuns, syncStreamRuns } from '../schema/sync.ts';
import { addDays, type Instant } from '../src/core/instant.ts';

/** For how many days runs are kept in the log. */
const KEPT_DAYS = 90;

/** How many of the oldest runs are checked: enough for any schedule, few enough to cost nothing. */
const PRUNED_AT_ONCE = 10;

/**
 * Deletes old runs from the log, except the last entry of each stream and the last run that ended well. `now` is T, so that a wrong
 * clock of the machine deletes nothing (R1).
 */
export function pruneLog(db: BetterSQLite3Database, now: Instant): void {
  const oldest = db.select().from(syncRuns).orderBy(syncRuns.id).limit(PRUNED_AT_ONCE).all();
  const lastDone = db
    .select({ id: syncRuns.id })
    .from(syncRuns)
    .where(and(eq(syncRuns.command, 'sync'), eq(syncRuns.status, 'done')))
    .orderBy(desc(syncRuns.id))
    .limit(1)
    .get();
  const ids = oldest
    .filter((run) => (run.server_time ?? run.started_at) < addDays(now, -KEPT_DAYS) && run.id !== lastDone?.id)
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
