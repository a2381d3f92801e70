import { and, desc, eq, inArray, sql } from 'drizzle-orm';
import { syncRuns, syncStreamRuns } from '../schema/sync.ts';
import { addDays, type Instant } from '../src/core/time/instant.ts';
import { all, first, queryBuilder, type StateStatements } from './state-statements.ts';

/** How many days runs are kept in the log. */
const KEPT_DAYS = 90;

/** How many of the oldest runs are checked: enough for any schedule, yet cheap. */
const PRUNED_AT_ONCE = 10;

/**
 * Deletes old runs from the log, except the last entry of each stream and the last run that ended well. `now` is T, so
 * a wrong machine clock deletes nothing (R1).
 */
export function* pruneLog(now: Instant): StateStatements<void> {
  const oldest = yield* all(queryBuilder.select().from(syncRuns).orderBy(syncRuns.id).limit(PRUNED_AT_ONCE));
  const lastDone = yield* first(
    queryBuilder
      .select({ id: syncRuns.id })
      .from(syncRuns)
      .where(and(eq(syncRuns.command, 'sync'), eq(syncRuns.status, 'done')))
      .orderBy(desc(syncRuns.id))
      .limit(1),
  );
  const ids = oldest
    .filter((run) => (run.server_time ?? run.started_at) < addDays(now, -KEPT_DAYS) && run.id !== lastDone?.id)
    .map((run) => run.id);
  if (ids.length === 0) return;
  const { run_id, env_id, stream } = syncStreamRuns;
  yield sql`delete from ${syncStreamRuns} where ${inArray(run_id, ids)} and exists (
    select 1 from ${syncStreamRuns} later where later.env_id = ${env_id} and later.stream = ${stream} and later.run_id > ${run_id})`;
  yield sql`delete from ${syncRuns} where ${inArray(syncRuns.id, ids)}`;
}
