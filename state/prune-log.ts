import { and, desc, eq, inArray, sql } from 'drizzle-orm';
import { syncRuns, syncStreamRuns } from '../schema/sync.ts';
import type { Instant } from '../src/core/time/instant.ts';
import { all, first, queryBuilder, type StateStatements } from './state-statements.ts';

/** How many of the oldest runs are checked: enough for any schedule, yet cheap. */
const PRUNED_AT_ONCE = 10;

/**
 * Deletes older runs from the log, except the last entry of each stream and the last run that ended well.
 */
export function* pruneLog(before: Instant): StateStatements<void> {
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
    .filter((run) => (run.server_time ?? run.started_at) < before && run.id !== lastDone?.id)
    .map((run) => run.id);
  if (ids.length === 0) return;
  const { run_id, env_id, stream } = syncStreamRuns;
  yield sql`delete from ${syncStreamRuns} where ${inArray(run_id, ids)} and exists (
    select 1 from ${syncStreamRuns} later where later.env_id = ${env_id} and later.stream = ${stream} and later.run_id > ${run_id})`;
  yield sql`delete from ${syncRuns} where ${inArray(syncRuns.id, ids)}`;
}
