import type { RemovalCount, RoundEnd, RoundEndCommit } from '../../core/ports/destination.ts';
import type { Stream } from '../../core/stream.ts';
import type { Instant } from '../../core/time/instant.ts';
import {
  fromMarked,
  WHERE_UNSETTLED,
  whereExplained,
  whereHeldBack,
  whereRemovable,
  whereSeen,
  whereStream,
  whereUncleared,
  whereUnfilled,
} from './conditions.ts';
import { liveRows } from './lookups.ts';
import { findMissing, loadSeenKeys, type WorkTables, whereMissing } from './seen-keys.ts';
import { replace, whereToDelete } from './staged.ts';
import { type CommitScope, execute, type SqlStatements, type SqlValues, value } from './statements.ts';
import { type ChangedRows, holdBack, leaveMarksOf, pruneHeldRemovals, remove, reopenStream } from './write-rows.ts';

interface EndedRound {
  readonly changed: ChangedRows;
  readonly tables: WorkTables;
}

/** Ends a round: sweeps or replaces rows, then clears the marks and rejected rows that the round has handled. */
export function* endRound(scope: CommitScope, end: RoundEndCommit['roundEnd']): SqlStatements<EndedRound> {
  const { stream } = scope;
  const { sweep: swept, replace: replaced, through, isWhole } = end;
  const load = swept !== null || replaced === 'all' ? findMissing : loadSeenKeys;
  const tables = yield* load(scope, stream);
  const { hasMarks } = tables;
  const isHeld = end.isHeld(yield* weighRemovals(scope, end, tables));
  const values = valuesOf(end);
  let changed: ChangedRows = { written: 0, deleted: 0 };
  const isContradicted = isWhole && through !== null && stream.staged !== undefined;
  if (end.marksThrough !== null && stream.parentTable !== undefined && (hasMarks || isContradicted))
    yield* leaveUnconfirmed(scope, values, isContradicted);
  if (end.isReleased) changed = yield* release(scope, end);
  if (swept !== null) changed = yield* sweep(scope, isHeld, values, swept.at ?? scope.mirroredAt);
  else if (replaced !== null) changed = yield* replace(scope, replaced, { isHeld, values }, tables);
  const makesMarks = isWhole && stream.subtype !== undefined;
  if (stream.parentTable !== undefined && (hasMarks || makesMarks)) yield* leaveUnsettled(scope, values, makesMarks);
  // The marks that this commit has made need no clearing.
  if (hasMarks) yield* clearMarks(scope, values);
  // What a read of the whole stream did not return again is gone from the source (R20).
  const rejected = `rejected_rows as r where ${whereStream(stream, 'r')}`;
  if (isWhole) yield* execute(scope, `delete from ${rejected} and r.run_id < @since`, { since: end.run });
  return { changed, tables };
}

/** How many rows the end of a round would remove, without those already held back (R14). */
function* weighRemovals(scope: CommitScope, end: RoundEnd, { hasMissing }: WorkTables): SqlStatements<RemovalCount> {
  const { stream } = scope;
  const gone = whereRemoved(stream, end);
  if (gone === null || (end.replace !== 'marked' && !hasMissing)) return { live: 0, toRemove: 0 };
  const values = valuesOf(end);
  const rows = liveRows(stream);
  const held = whereHeldBack(stream);
  const unexplained = `${rows} and ${gone} and not ${whereExplained(stream)} and not ${held}`;
  const toRemove = Number(yield* value(scope, `select count(*) ${unexplained}`, values));
  if (toRemove === 0) return { live: 0, toRemove };
  const enough = `select count(*) from (
    select 1 ${rows} and not ${held} and not (${gone} and ${whereExplained(stream)}) limit @limit) enough`;
  return { live: Number(yield* value(scope, enough, { ...values, limit: 2 * toRemove })), toRemove };
}

/** The fields of a round's end that its statements have as parameters. */
function valuesOf({ lastMark, marksThrough, run, settledBefore, through }: RoundEnd) {
  return { lastMark, marksThrough, run, settledBefore, through };
}

/** The condition that the end of a round removes row `t`; null if it removes none. */
function whereRemoved(stream: Stream, { sweep: swept, replace: replaced }: RoundEnd): string | null {
  if (swept !== null) return whereSwept(stream);
  return replaced === null ? null : whereToDelete(stream, replaced);
}

/**
 * Leaves the marks of rows that no read returned and that were not looked up in the parent's list (R18). A contradicted
 * scan of edges also makes marks for the columns that would lose their last edge.
 */
function* leaveUnconfirmed(scope: CommitScope, values: SqlValues, isContradicted: boolean): SqlStatements<void> {
  const { stream } = scope;
  const isStaged = stream.staged !== undefined;
  const shown = isStaged ? whereSeen(stream, 'm.id') : 'false';
  const marked = `select m.env_id, m.id ${fromMarked(stream)} and m.number <= @lastMark and m.id > @marksThrough and not ${shown}`;
  const losing = `select m.env_id, m.key_1 from missing_keys m where ${whereStream(stream, 'm')} and m.key_1 > @marksThrough
    and not ${whereSeen(stream, 'm.key_1')}`;
  const sql = isContradicted ? `${marked} union ${losing}` : marked;
  yield* leaveMarksOf(scope, { sql, values });
}

/**
 * Leaves the marks of rows to be read once more: those younger than the overlap (R18), and those without the fields of
 * their kind, because the typed list may lag (R22). A read of the whole list makes marks for the latter.
 */
function* leaveUnsettled(scope: CommitScope, values: SqlValues, makesMarks: boolean): SqlStatements<void> {
  const { stream } = scope;
  const whereOpen = stream.subtype !== undefined ? `(${WHERE_UNSETTLED} or ${whereUnfilled(stream)})` : WHERE_UNSETTLED;
  const marked = `select m.env_id, m.id ${fromMarked(stream)} and m.number <= @lastMark and ${whereOpen}`;
  const whole = `select t.env_id, t.id ${liveRows(stream)} and ${whereUnfilled(stream)}`;
  yield* leaveMarksOf(scope, { sql: makesMarks ? `${marked} union ${whole}` : marked, values });
}

/** Clears the marks that the round has handled. Later ones reopen the stream. */
function* clearMarks(scope: CommitScope, values: SqlValues): SqlStatements<void> {
  const { stream } = scope;
  const uncleared = `marks as m where ${whereStream(stream, 'm')} and ${whereUncleared('m')}`;
  yield* execute(scope, `delete from ${uncleared} and m.number <= @lastMark`, values);
  const one = yield* value(scope, `select 1 from ${uncleared} limit 1`, values);
  if (one !== undefined) yield* reopenStream(scope, [stream.name]);
}

function* sweep(scope: CommitScope, isHeld: boolean, values: SqlValues, at: Instant): SqlStatements<ChangedRows> {
  const { stream } = scope;
  const sql = whereSwept(stream);
  if (isHeld) yield* holdBack(scope, { sql, values, at });
  const removed = yield* remove(scope, { sql: `${sql} and ${whereRemovable(stream)}`, values, at });
  yield* pruneHeldRemovals(scope, { sql: whereMissing(stream) });
  return removed;
}

/** The condition that a scan did not see row `t`, up to the last row that may be deleted (R12). */
function whereSwept(stream: Stream): string {
  return `${whereMissing(stream)} and (cast(@through as text) is null or t.id <= @through)`;
}

/** Applies held-back removals: without a scan, up to the last confirmed row (R14). A full read decides for itself. */
function* release(scope: CommitScope, { sweep: swept, isWhole, through }: RoundEnd): SqlStatements<ChangedRows> {
  const { stream } = scope;
  const held = `held_removals as h where ${whereStream(stream, 'h')} and (cast(@through as text) is null or h.key_1 <= @through)`;
  const at =
    isWhole || swept !== null ? null : yield* value(scope, `select max(h.absent_at) from ${held}`, { through });
  const sql = `${whereHeldBack(stream)} and (cast(@through as text) is null or t.id <= @through)`;
  const released =
    at === null || at === undefined || stream.method !== 'feed'
      ? { written: 0, deleted: 0 }
      : yield* remove(scope, { sql, values: { through }, at: String(at) });
  yield* execute(scope, `delete from ${held}`, { through });
  return released;
}
