import { historyFailures, rejectedRows, testExecutionGaps, testReadings } from '../../../schema/sync.ts';
import { type DecodedRow, joinKey } from '../../core/decode.ts';
import type {
  Commit,
  LeftMarks,
  PageCommit,
  RoundEndCommit,
  RowCounts,
  UnreadHistory,
} from '../../core/destination.ts';
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

/** Writes a commit, all but its checkpoint. */
export function apply(commitScope: CommitScope, stream: Stream, commit: Commit): AppliedCommit {
  switch (commit.kind) {
    case 'page':
      return applyPage(commitScope, stream, commit);
    case 'round-end':
      return applied(commitScope, stream, [applyRoundEnd(commitScope, stream, commit)]);
    case 'discard':
      if (commit.unreadHistory) noteUnreadHistory(commitScope, commit.unreadHistory);
      forget(commitScope, stream, commit.forget);
      return applied(commitScope, stream, []);
    case 'release':
      return applied(commitScope, stream, [release(commitScope, stream)]);
  }
}

interface AppliedCommit {
  readonly counts: RowCounts;
  /** It brought nothing but that something was looked at: nobody waits for it. */
  readonly isQuiet: boolean;
}

function applied(commitScope: CommitScope, stream: Stream, changed: readonly ChangedRows[]): AppliedCommit {
  const written = changed.reduce((sum, counts) => sum + counts.written, 0);
  const deleted = changed.reduce((sum, counts) => sum + counts.deleted, 0);
  if (stream.reopens !== undefined && written > 0) reopenStream(commitScope, [stream.reopens]);
  return { counts: { written, deleted, rejected: 0 }, isQuiet: written + deleted === 0 && !isMuch(commitScope.noted) };
}

/** A row that is given twice, once unusable, is rejected in the end: the returned keys come before the rejected rows. */
function applyPage(commitScope: CommitScope, stream: Stream, commit: PageCommit): AppliedCommit {
  const { changes = [], marks = [], returnedKeys = [], rejected = [] } = commit;
  const staged = commit.staged && stage(commitScope, stream, commit.staged, isCompared(commitScope, stream, commit));
  const changed = [writeChanges(commitScope, stream, changes)];
  if (changes.length > 0) findAnew(commitScope, stream);
  writeMarks(commitScope, marks);
  // A row that the table has as shown was archived with the page that brought it there (R17).
  if (commit.archived) changed.push(archive(commitScope, stream, staged ?? commit.archived));
  if (commit.seen) noteSeen(commitScope, stream, commit.seen);
  if (returnedKeys.length > 0) clearReturned(commitScope, stream, returnedKeys);
  if (rejected.length > 0) reject(commitScope, stream, rejected);
  changed.push(...applyReadEnd(commitScope, stream, commit));
  const { counts, isQuiet } = applied(commitScope, stream, changed);
  return {
    counts: { ...counts, rejected: rejected.length },
    isQuiet: isQuiet && rejected.length + (staged ?? []).length === 0,
  };
}

/** What the end of a read does. What this page has changed and shown counts for it. */
function applyReadEnd(commitScope: CommitScope, stream: Stream, commit: PageCommit): ChangedRows[] {
  const changed = commit.sweptParents ? [sweepParents(commitScope, stream, commit.sweptParents)] : [];
  if (commit.notShown) dropRejected(commitScope, stream, commit.notShown);
  if (commit.clearedMarks) clearMarks(commitScope, stream, commit.clearedMarks);
  if (commit.leftMarks) leaveMarks(commitScope, stream, commit.leftMarks);
  if (commit.historyRead) noteHistoryRead(commitScope, commit.historyRead);
  if (commit.unreadHistory) noteUnreadHistory(commitScope, commit.unreadHistory);
  return changed;
}

/** What a round saw and staged is forgotten only after its end has used it; what a waiting scan has seen waits as well (R9). */
function applyRoundEnd(commitScope: CommitScope, stream: Stream, commit: RoundEndCommit): ChangedRows {
  const { roundEnd, checkpoint, seen, leftMarks } = commit;
  if (seen) noteSeen(commitScope, stream, seen);
  if (leftMarks) leaveMarks(commitScope, stream, leftMarks);
  const changedRows = finishRound(commitScope, stream, roundEnd);
  if (roundEnd.rememberFrom !== null) remember(commitScope, stream, roundEnd.rememberFrom);
  else if (!checkpoint.waitingScan) forget(commitScope, stream, 'all');
  return changedRows;
}

/** The first scan of an empty table finds nothing to compare with; with a table that has rows, or marks to pay, what is shown counts. */
function isCompared(commitScope: CommitScope, stream: Stream, { checkpoint: { round } }: PageCommit): boolean {
  return round === null || round.mode === 'marked' || round.sweeps || hasTable(commitScope, stream);
}

type CommitPart<Name extends keyof PageCommit> = NonNullable<PageCommit[Name]>;

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
function leaveMarks(commitScope: CommitScope, stream: Stream, { ids, makes, ...values }: LeftMarks): void {
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
function noteUnreadHistory(commitScope: CommitScope, { testId, pageLimit }: UnreadHistory): void {
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
function forget(commitScope: CommitScope, stream: Stream, which: number | 'all'): void {
  forgetStaged(commitScope, stream, which);
  forgetSeen(commitScope, stream, which);
}
