import { historyFailures, rejectedRows, testExecutionGaps, testReadings } from '../../../schema/sync.ts';
import { type DecodedRow, joinKey } from '../../core/decode.ts';
import type { Commit, RowCounts } from '../../core/destination.ts';
import type { Row, Stream } from '../../core/stream.ts';
import { firstKey, isOf, isSeenKey, live, tableOf } from './conditions.ts';
import { finishRound, release } from './finish-round.ts';
import { findAnew, forgetSeen, loadSeenKeys, noteSeen, remember } from './seen-keys.ts';
import { forgetStaged, hasTable, stage } from './staged.ts';
import { type CommitScope, run, value } from './statements.ts';
import { quote } from './tables.ts';
import { isMuch } from './transactions.ts';
import {
  type ChangedRows,
  leaveMarksOf,
  remove,
  reopenStream,
  upsert,
  writeChanges,
  writeMarks,
} from './write-rows.ts';

/**
 * Writes the parts of a commit but its checkpoint. The order matters in that
 * - a row given twice, once unusable, is rejected in the end: `shown` before `rejected`
 * - rows are disowned, and rounds settled, by what is changed, seen and gathered, this page's share included
 * - what a round saw and gathered is forgotten only once that has settled it
 */
export function apply(commitScope: CommitScope, stream: Stream, commit: Commit): AppliedCommit {
  const gathered = commit.staged && stage(commitScope, stream, commit.staged, isCompared(commitScope, stream, commit));
  const changed = [...applyPage(commitScope, stream, commit, gathered), ...applyEnd(commitScope, stream, commit)];
  const written = changed.reduce((sum, counts) => sum + counts.written, 0);
  const deleted = changed.reduce((sum, counts) => sum + counts.deleted, 0);
  const rejected = commit.rejected?.length ?? 0;
  if (stream.reopens !== undefined && written > 0) reopenStream(commitScope, [stream.reopens]);
  const isQuiet = written + deleted + rejected + (gathered?.length ?? 0) === 0 && !isMuch(commitScope.noted);
  return { counts: { written, deleted, rejected }, isQuiet };
}

interface AppliedCommit {
  readonly counts: RowCounts;
  /** It brought nothing but that something was looked at: nobody waits for it. */
  readonly isQuiet: boolean;
}

/** What a page shows. */
function applyPage(
  commitScope: CommitScope,
  stream: Stream,
  commit: Commit,
  gathered: readonly DecodedRow[] | undefined,
): ChangedRows[] {
  const changed = [writeChanges(commitScope, stream, commit.changes ?? [])];
  if (commit.changes?.length) findAnew(commitScope, stream);
  writeMarks(commitScope, commit.marks ?? []);
  // A row that the table has as shown was archived with the page that brought it there (R17).
  if (commit.archived) changed.push(archive(commitScope, stream, gathered ?? commit.archived));
  if (commit.seen) noteSeen(commitScope, stream, commit.seen);
  if (commit.returnedKeys?.length) clearReturned(commitScope, stream, commit.returnedKeys);
  if (commit.rejected?.length) reject(commitScope, stream, commit.rejected);
  return changed;
}

/** What the end of a read or of a round does. */
function applyEnd(commitScope: CommitScope, stream: Stream, commit: Commit): ChangedRows[] {
  const changed: ChangedRows[] = [];
  if (commit.sweptParents) changed.push(sweepParents(commitScope, stream, commit.sweptParents));
  if (commit.notShown) dropRejected(commitScope, stream, commit.notShown);
  if (commit.clearedMarks) clearMarks(commitScope, stream, commit.clearedMarks);
  if (commit.leftMarks) leaveMarks(commitScope, stream, commit.leftMarks);
  if (commit.historyRead) noteHistoryRead(commitScope, commit.historyRead);
  if (commit.unreadHistory) noteUnreadHistory(commitScope, commit.unreadHistory);
  if (commit.roundEnd) changed.push(finishRound(commitScope, stream, commit.roundEnd));
  // What a scan has seen that waits does so with it (R9).
  const ended = commit.checkpoint.waitingScan ? undefined : 'all';
  const forgotten = commit.roundEnd ? ended : commit.forget;
  if (commit.roundEnd && commit.roundEnd.rememberFrom !== null)
    remember(commitScope, stream, commit.roundEnd.rememberFrom);
  else if (forgotten !== undefined) forget(commitScope, stream, forgotten);
  if (commit.release) changed.push(release(commitScope, stream));
  return changed;
}

/** The first scan of an empty table finds nothing to compare with; with a table that has rows, or marks to pay, what is shown counts. */
function isCompared(commitScope: CommitScope, stream: Stream, { checkpoint: { round } }: Commit): boolean {
  return round === null || round.mode === 'marked' || round.sweeps || hasTable(commitScope, stream);
}

type CommitPart<Name extends keyof Commit> = NonNullable<Commit[Name]>;

/** Into the archive tables, or for a stream that is itself one, into its own (R17). */
function archive(commitScope: CommitScope, stream: Stream, rows: readonly DecodedRow[]): ChangedRows {
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
function clearReturned(commitScope: CommitScope, stream: Stream, keys: CommitPart<'returnedKeys'>): void {
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

function reject(commitScope: CommitScope, stream: Stream, rejected: CommitPart<'rejected'>): void {
  const rows = rejected.map(({ rowKey, reason, payload }): Row => ({ row_key: rowKey, reason, payload }));
  const added = { stream: stream.name, run_id: commitScope.run, seen_at: commitScope.mirroredAt };
  upsert(commitScope, rejectedRows, rows, { added });
}

/** Of what was asked for by id and not shown, nothing stands rejected any more but what is held live (R20). */
function dropRejected(commitScope: CommitScope, stream: Stream, { ids, since }: CommitPart<'notShown'>): void {
  const sql = `delete from rejected_rows as r where ${isOf(stream, 'r')} and r.run_id < @since
    and r.row_key in (select value from json_each(@ids))
    and not exists (select 1 from ${tableOf(stream)} t
      where t.env_id = r.env_id and t.${firstKey(stream)} = r.row_key and ${live(stream)})`;
  run(commitScope, sql, { ids: JSON.stringify(ids), since });
}

function clearMarks(commitScope: CommitScope, stream: Stream, { ids, lastMark }: CommitPart<'clearedMarks'>): void {
  const sql = `delete from marks as m where ${isOf(stream, 'm')}
    and m.id in (select value from json_each(@ids)) and m.number <= @lastMark`;
  run(commitScope, sql, { ids: JSON.stringify(ids), lastMark: lastMark ?? Number.MAX_SAFE_INTEGER });
}

/** Marks that wait for another run (R13, R18). */
function leaveMarks(
  commitScope: CommitScope,
  stream: Stream,
  { ids, makes, ...values }: CommitPart<'leftMarks'>,
): void {
  const listed = 'select value id from json_each(@ids)';
  const sql = makes ? listed : `select m.id from marks m where ${isOf(stream, 'm')} and m.id in (${listed})`;
  leaveMarksOf(commitScope, stream, { sql, values: { ...values, ids: JSON.stringify(ids) } });
}

/** Rows of each owner that no read from the given one on has seen are absent (R13). */
function sweepParents(
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
function noteUnreadHistory(commitScope: CommitScope, { testId, pageLimit }: CommitPart<'unreadHistory'>): void {
  const sql = 'select page_limit from history_failures where env_id = @env and test_id = @testId';
  const limit = pageLimit ?? (value(commitScope, sql, { testId }) as number | undefined) ?? null;
  upsert(commitScope, historyFailures, [{ test_id: testId, page_limit: limit }], {
    added: { run_id: commitScope.run },
  });
}

/** A test's history was read to its end. */
function noteHistoryRead(
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
function forget(commitScope: CommitScope, stream: Stream, which: CommitPart<'forget'>): void {
  forgetStaged(commitScope, stream, which);
  forgetSeen(commitScope, stream, which);
}
