import { historyFailures, testExecutionGaps, testReadings } from '../../../schema/histories.ts';
import type { PageCommit, UnreadHistory } from '../../core/ports/destination.ts';
import { type CommitScope, execute, type SqlStatements, value } from './statements.ts';
import { upsert } from './write-rows.ts';

/** The history is requested again after all others, perhaps with smaller pages (R22, R24). */
export function* noteUnreadHistory(scope: CommitScope, { testId, pageLimit }: UnreadHistory): SqlStatements<void> {
  const sql = 'select page_limit from history_failures where env_id = @env and test_id = @testId';
  const limit = pageLimit ?? ((yield* value(scope, sql, { testId })) as number | undefined) ?? null;
  const row = { test_id: testId, page_limit: limit };
  yield* upsert(scope, historyFailures, [row], { added: { run_id: scope.run } });
}

export function* noteHistoryRead(
  scope: CommitScope,
  { testId, readAt, mirroredAt, gaps, since }: NonNullable<PageCommit['historyRead']>,
): SqlStatements<void> {
  yield* dropUnmet(scope, testId, since);
  const clear = 'update history_failures set run_id = null where env_id = @env and test_id = @testId';
  yield* execute(scope, clear, { testId });
  const row = { test_id: testId, read_at: readAt };
  yield* upsert(scope, testReadings, [row], { added: { mirrored_at: mirroredAt } });
  const unread = gaps.map(({ from, to }) => ({ test_id: testId, gap_from: from, gap_to: to }));
  yield* upsert(scope, testExecutionGaps, unread);
}

/** Deletes rejected rows that this read of the history did not return, or whose test's history is not read (R20). */
function* dropUnmet(scope: CommitScope, testId: string, since: number): SqlStatements<void> {
  const test = scope.dialect.field('r.payload', 'test_id');
  const sql = `delete from rejected_rows as r
    where r.env_id = @env and r.stream = 'test_executions' and r.run_id < @since and not exists (
      select 1 from tests t where t.env_id = r.env_id and t.id = ${test} and t.id <> @testId and t.deleted_at is null)`;
  yield* execute(scope, sql, { testId, since });
}
