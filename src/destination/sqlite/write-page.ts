import { historyFailures, rejectedRows, testExecutionGaps, testReadings } from '../../../schema/sync.ts';
import { type DecodedRow, joinKey } from '../../core/decode.ts';
import type { Commit } from '../../core/destination.ts';
import type { Row, Stream } from '../../core/stream.ts';
import { upsert } from './bulk-upsert.ts';
import { firstKey, isOf, isSeenKey, live, type SqlCondition, tableOf } from './conditions.ts';
import { type CommitScope, run, value } from './mirror-scope.ts';
import { remove } from './remove.ts';
import { forgetSeen, loadSeenKeys } from './seen.ts';
import { forgetStaged } from './stage.ts';
import { quote } from './table-sql.ts';
import type { ChangedRows } from './write-changes.ts';

type CommitPart<Name extends keyof Commit> = NonNullable<Commit[Name]>;

/** Into the archive tables, or for a stream that is itself one, into its own (R17). */
export function archive(commitScope: CommitScope, stream: Stream, rows: readonly DecodedRow[]): ChangedRows {
  const own = rows.map((row) => row.row);
  const way = { conflict: 'keep-newer' } as const;
  if (stream.historyTables === undefined) return { written: upsert(commitScope, stream.table, own, way), deleted: 0 };
  const parts = rows.flatMap((row) => row.parts.flat());
  for (const { table, constants = {} } of stream.historyTables) {
    upsert(commitScope, table, own, { ...way, added: constants });
    upsert(commitScope, table, parts, way);
  }
  return { written: 0, deleted: 0 };
}

/** A row that is shown is neither rejected any more nor held back (R14, R20). */
export function clearReturned(commitScope: CommitScope, stream: Stream, keys: CommitPart<'returnedKeys'>): void {
  for (const [table, key] of [
    ['rejected_rows', 'row_key'],
    ['held_removals', 'key_1'],
  ] as const) {
    const own = `${table} as x where ${isOf(stream, 'x')}`;
    if (value(commitScope, `select 1 from ${own} limit 1`) === undefined) continue;
    const joined = JSON.stringify(keys.map(joinKey));
    run(commitScope, `delete from ${own} and x.${key} in (select value from json_each(@joined))`, { joined });
  }
}

export function reject(commitScope: CommitScope, stream: Stream, rejected: CommitPart<'rejected'>): void {
  const rows = rejected.map(({ rowKey, reason, payload }): Row => ({ row_key: rowKey, reason, payload }));
  const added = { stream: stream.name, run_id: commitScope.run, seen_at: commitScope.mirroredAt };
  upsert(commitScope, rejectedRows, rows, { added });
}

/** Of what was asked for by id and not shown, nothing stands rejected any more but what is held live (R20). */
export function dropRejected(commitScope: CommitScope, stream: Stream, { ids, since }: CommitPart<'notShown'>): void {
  const sql = `delete from rejected_rows as r where ${isOf(stream, 'r')} and r.run_id < @since
    and r.row_key in (select value from json_each(@ids))
    and not exists (select 1 from ${tableOf(stream)} t
      where t.env_id = r.env_id and t.${firstKey(stream)} = r.row_key and ${live(stream)})`;
  run(commitScope, sql, { ids: JSON.stringify(ids), since });
}

export function clearMarks(
  commitScope: CommitScope,
  stream: Stream,
  { ids, lastMark }: CommitPart<'clearedMarks'>,
): void {
  const sql = `delete from marks as m where ${isOf(stream, 'm')}
    and m.id in (select value from json_each(@ids)) and m.number <= @lastMark`;
  run(commitScope, sql, { ids: JSON.stringify(ids), lastMark: lastMark ?? Number.MAX_SAFE_INTEGER });
}

/** Marks that wait for another run (R13, R18). */
export function leaveMarks(
  commitScope: CommitScope,
  stream: Stream,
  { ids, makes, ...values }: CommitPart<'leftMarks'>,
): void {
  const listed = 'select value id from json_each(@ids)';
  const sql = makes ? listed : `select m.id from marks m where ${isOf(stream, 'm')} and m.id in (${listed})`;
  leaveMarksOf(commitScope, stream, { sql, values: { ...values, ids: JSON.stringify(ids) } });
}

/** The same of the ids of a select; a mark made after `@lastMark` is still owed. */
export function leaveMarksOf(commitScope: CommitScope, stream: Stream, { sql, values }: SqlCondition): void {
  run(
    commitScope,
    `insert into marks (env_id, stream, id, number, left_by_run)
      select @env, '${stream.name}', id, @lastMark, @run from (${sql}) where true
      on conflict do update set left_by_run = excluded.left_by_run where number <= @lastMark`,
    values,
  );
}

/** Rows of each owner that no read from the given one on has seen are absent (R13). */
export function sweepParents(
  commitScope: CommitScope,
  stream: Stream,
  { by, ids, sinceRead, at }: CommitPart<'sweptParents'>,
): ChangedRows {
  loadSeenKeys(commitScope, stream);
  const sql = `t.${quote(by)} = @owner and not ${isSeenKey(stream, '@sinceRead')}`;
  const removal = { sql, at: at ?? commitScope.mirroredAt, few: true } as const;
  const removed = ids.map((owner) => remove(commitScope, stream, { ...removal, values: { owner, sinceRead } }));
  return { written: 0, deleted: removed.reduce((sum, { deleted }) => sum + deleted, 0) };
}

/** Asked for again after all others, in pages that may be smaller (R22, R24). */
export function noteUnreadHistory(commitScope: CommitScope, { testId, pageLimit }: CommitPart<'unreadHistory'>): void {
  const sql = 'select page_limit from history_failures where env_id = @env and test_id = @testId';
  const limit = pageLimit ?? (value(commitScope, sql, { testId }) as number | undefined) ?? null;
  upsert(commitScope, historyFailures, [{ test_id: testId, page_limit: limit }], {
    added: { run_id: commitScope.run },
  });
}

/** A test's history was read to its end. */
export function noteHistoryRead(
  commitScope: CommitScope,
  { testId, readAt, mirroredAt, gap, since }: CommitPart<'historyRead'>,
): void {
  run(commitScope, FORGET_UNMET, { testId, since });
  run(commitScope, 'update history_failures set run_id = null where env_id = @env and test_id = @testId', { testId });
  const row = { test_id: testId, read_at: readAt, mirrored_at: mirroredAt };
  upsert(commitScope, testReadings, [row], { added: { mirrored_at: mirroredAt } });
  const gaps = gap === null ? [] : [{ test_id: testId, gap_from: gap.from, gap_to: gap.to }];
  upsert(commitScope, testExecutionGaps, gaps, { conflict: 'ignore' });
}

/** Rejected rows of this history that its reading has not met again, and those of no history that is ever read (R20). */
const FORGET_UNMET = `delete from rejected_rows as r
  where r.env_id = @env and r.stream = 'test_executions' and r.run_id < @since and not exists (
    select 1 from tests t
    where t.env_id = r.env_id and t.id = r.payload ->> 'test_id' and t.id <> @testId and t.deleted_at is null)`;

/** Drops what a read, or all of a round, saw and gathered (R7). */
export function forget(commitScope: CommitScope, stream: Stream, which: CommitPart<'forget'>): void {
  forgetStaged(commitScope, stream, which);
  forgetSeen(commitScope, stream, which);
}
