import { marks as marksTable } from '../../../schema/sync.ts';
import type { RowCounts } from '../../core/destination.ts';
import type { FollowUpMark } from '../../core/marks.ts';
import type { RowChange } from '../../core/newest-wins.ts';
import type { Stream, StreamName } from '../../core/stream.ts';
import { upsert } from './bulk-upsert.ts';
import { lastMark } from './lookups.ts';
import { type CommitScope, column, run } from './mirror-scope.ts';
import { nameOf, quote } from './table-sql.ts';

/** What became of rows. */
export type ChangedRows = Pick<RowCounts, 'written' | 'deleted'>;

/** Rows of a stream's own table, and what goes along with those that went (R18). */
export function writeChanges(commitScope: CommitScope, stream: Stream, changes: readonly RowChange[]): ChangedRows {
  upsert(
    commitScope,
    stream.table,
    changes.map((change) => change.row),
  );
  const gone = changes.filter((change) => change.kind === 'deleted').map((change) => change.row['id']);
  if (gone.length > 0) cascadeDelete(commitScope, stream, gone);
  if (gone.length > 0) cascadeMark(commitScope, stream, gone);
  return { written: changes.length - gone.length, deleted: gone.length };
}

function cascadeDelete(commitScope: CommitScope, { cascade }: Stream, ids: readonly unknown[]): void {
  if (cascade === undefined) return;
  const sql = `delete from ${nameOf(cascade.table)} where env_id = @env and ${quote(cascade.by)} in (select value from json_each(@ids))`;
  run(commitScope, sql, { ids: JSON.stringify(ids) });
}

/** What the rows that went may have ended is read again: the service tells of no such end by itself (R18). */
function cascadeMark(commitScope: CommitScope, { cascadeMarks }: Stream, ids: readonly unknown[]): void {
  if (cascadeMarks === undefined || !commitScope.marking.has(cascadeMarks.stream)) return;
  const sql = `select distinct ${quote(cascadeMarks.id)} from ${nameOf(cascadeMarks.table)}
    where env_id = @env and ${quote(cascadeMarks.by)} in (select value from json_each(@ids))`;
  const doubted = column(commitScope, sql, { ids: JSON.stringify(ids) }) as string[];
  writeMarks(
    commitScope,
    doubted.map((id) => ({ stream: cascadeMarks.stream, id })),
  );
}

/** Marks in the order in which they are made: each has the next number. */
export function writeMarks(commitScope: CommitScope, marks: readonly FollowUpMark[]): void {
  if (marks.length === 0) return;
  const last = lastMark(commitScope);
  upsert(
    commitScope,
    marksTable,
    marks.map((mark, i) => ({ ...mark, number: last + i + 1, left_by_run: null })),
  );
  run(commitScope, 'update mirror_environments set last_mark = @last where env_id = @env', {
    last: last + marks.length,
  });
  reopenStream(commitScope, [...new Set(marks.map((mark) => mark.stream))]);
}

/** A stream that owes a read has not finished its cycle (R9). */
export function reopenStream(commitScope: CommitScope, owing: readonly StreamName[]): void {
  run(commitScope, UNFINISH, { owing: JSON.stringify(owing) });
}

const UNFINISH = `update sync_checkpoints set finished_cycle = null
  where env_id = @env and stream in (select value from json_each(@owing)) and finished_cycle is not null`;
