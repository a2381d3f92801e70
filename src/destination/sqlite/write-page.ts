import { historyFailures, rejectedRows, testExecutionGaps, testReadings } from '../../../schema/sync.ts';
import { type Decoded, joinKey } from '../../core/decode.ts';
import type { Commit } from '../../core/destination.ts';
import type { Row, Stream } from '../../core/stream.ts';
import { upsert } from './bulk-upsert.ts';
import { firstKey, isOf, isSeenKey, live, tableOf, type Where } from './conditions.ts';
import { forgetGathered } from './gather.ts';
import { run, value, type Writing } from './part.ts';
import { remove } from './remove.ts';
import { bringSeen, forgetSeen } from './seen.ts';
import { quote } from './shape.ts';
import type { Changed } from './write-changes.ts';

type Given<Name extends keyof Commit> = NonNullable<Commit[Name]>;

/** Into the archive tables, or for a stream that is itself one, into its own (R17). */
export function archive(writing: Writing, stream: Stream, rows: readonly Decoded[]): Changed {
  const own = rows.map((row) => row.row);
  const way = { conflict: 'keep-newer' } as const;
  if (stream.archives === undefined) return { written: upsert(writing, stream.table, own, way), deleted: 0 };
  const parts = rows.flatMap((row) => row.parts.flat());
  for (const { table, constants = {} } of stream.archives) {
    upsert(writing, table, own, { ...way, added: constants });
    upsert(writing, table, parts, way);
  }
  return { written: 0, deleted: 0 };
}

/** A row that is shown is neither rejected any more nor held back (R14, R20). */
export function clearShown(writing: Writing, stream: Stream, keys: Given<'shown'>): void {
  for (const [table, key] of [
    ['rejected_rows', 'row_key'],
    ['held_removals', 'key_1'],
  ] as const) {
    const own = `${table} as x where ${isOf(stream, 'x')}`;
    if (value(writing, `select 1 from ${own} limit 1`) === undefined) continue;
    const joined = JSON.stringify(keys.map(joinKey));
    run(writing, `delete from ${own} and x.${key} in (select value from json_each(@joined))`, { joined });
  }
}

export function reject(writing: Writing, stream: Stream, rejected: Given<'rejected'>): void {
  const rows = rejected.map(({ rowKey, reason, payload }): Row => ({ row_key: rowKey, reason, payload }));
  const added = { stream: stream.name, run_id: writing.run, seen_at: writing.mirroredAt };
  upsert(writing, rejectedRows, rows, { added });
}

/** Of what was asked for by id and not shown, nothing stands rejected any more but what is held live (R20). */
export function dropRejected(writing: Writing, stream: Stream, { ids, since }: Given<'notShown'>): void {
  const sql = `delete from rejected_rows as r where ${isOf(stream, 'r')} and r.run_id < @since
    and r.row_key in (select value from json_each(@ids))
    and not exists (select 1 from ${tableOf(stream)} t
      where t.env_id = r.env_id and t.${firstKey(stream)} = r.row_key and ${live(stream)})`;
  run(writing, sql, { ids: JSON.stringify(ids), since });
}

export function pay(writing: Writing, stream: Stream, { ids, lastMark }: Given<'paid'>): void {
  const sql = `delete from marks as m where ${isOf(stream, 'm')}
    and m.id in (select value from json_each(@ids)) and m.number <= @lastMark`;
  run(writing, sql, { ids: JSON.stringify(ids), lastMark: lastMark ?? Number.MAX_SAFE_INTEGER });
}

/** Marks that wait for another run (R13, R18). */
export function leave(writing: Writing, stream: Stream, { ids, makes, ...values }: Given<'left'>): void {
  const listed = 'select value id from json_each(@ids)';
  const sql = makes ? listed : `select m.id from marks m where ${isOf(stream, 'm')} and m.id in (${listed})`;
  leaveRows(writing, stream, { sql, values: { ...values, ids: JSON.stringify(ids) } });
}

/** The same of the ids of a select; a mark made after `@lastMark` is still owed. */
export function leaveRows(writing: Writing, stream: Stream, { sql, values }: Where): void {
  run(
    writing,
    `insert into marks (env_id, stream, id, number, left_by_run)
      select @env, '${stream.name}', id, @lastMark, @run from (${sql}) where true
      on conflict do update set left_by_run = excluded.left_by_run where number <= @lastMark`,
    values,
  );
}

/** Rows of each owner that no read from the given one on has seen are absent (R13). */
export function disown(writing: Writing, stream: Stream, { by, ids, sinceRead, at }: Given<'disowned'>): Changed {
  bringSeen(writing, stream);
  const sql = `t.${quote(by)} = @owner and not ${isSeenKey(stream, '@sinceRead')}`;
  const removal = { sql, at: at ?? writing.mirroredAt, few: true } as const;
  const removed = ids.map((owner) => remove(writing, stream, { ...removal, values: { owner, sinceRead } }));
  return { written: 0, deleted: removed.reduce((sum, { deleted }) => sum + deleted, 0) };
}

/** Asked for again after all others, in pages that may be smaller (R22, R24). */
export function noteUnread(writing: Writing, { testId, pageLimit }: Given<'unreadHistory'>): void {
  const sql = 'select page_limit from history_failures where env_id = @env and test_id = @testId';
  const limit = pageLimit ?? (value(writing, sql, { testId }) as number | undefined) ?? null;
  upsert(writing, historyFailures, [{ test_id: testId, page_limit: limit }], { added: { run_id: writing.run } });
}

/** A test's history was read to its end. */
export function noteReading(writing: Writing, { testId, readAt, mirroredAt, gap, since }: Given<'reading'>): void {
  run(writing, FORGET_UNMET, { testId, since });
  run(writing, 'update history_failures set run_id = null where env_id = @env and test_id = @testId', { testId });
  const row = { test_id: testId, read_at: readAt, mirrored_at: mirroredAt };
  upsert(writing, testReadings, [row], { added: { mirrored_at: mirroredAt } });
  const gaps = gap === null ? [] : [{ test_id: testId, gap_from: gap.from, gap_to: gap.to }];
  upsert(writing, testExecutionGaps, gaps, { conflict: 'ignore' });
}

/** Rejected rows of this history that its reading has not met again, and those of no history that is ever read (R20). */
const FORGET_UNMET = `delete from rejected_rows as r
  where r.env_id = @env and r.stream = 'test_executions' and r.run_id < @since and not exists (
    select 1 from tests t
    where t.env_id = r.env_id and t.id = r.payload ->> 'test_id' and t.id <> @testId and t.deleted_at is null)`;

/** Drops what a read, or all of a round, saw and gathered (R7). */
export function forget(writing: Writing, stream: Stream, which: Given<'forget'>): void {
  forgetGathered(writing, stream, which);
  forgetSeen(writing, stream, which);
}
