import type { RemovalCount, RoundEnd } from '../../core/ports/destination.ts';
import type { Stream } from '../../core/stream.ts';
import {
  fromMarked,
  type SqlCondition,
  tableOf,
  WHERE_UNSETTLED,
  whereExplained,
  whereHeldBack,
  whereLive,
  whereRemovable,
  whereSeen,
  whereStream,
  whereUncleared,
  whereUnfilled,
} from './conditions.ts';
import { findMissing, loadSeenKeys, type WorkTables, whereMissing } from './seen-keys.ts';
import { replace, whereToDelete } from './staged.ts';
import { type CommitScope, execute, type MirrorScope, type SqlStatements, value } from './statements.ts';
import { type ChangedRows, holdBack, leaveMarksOf, pruneHeldRemovals, remove, reopenStream } from './write-rows.ts';

type SweepInput = NonNullable<RoundEnd['sweep']>;

/** Brings up to date what the statements of a round's end read: the keys that were seen, and those that are missing. */
export function* loadForRoundEnd(
  scope: MirrorScope,
  stream: Stream,
  { sweep: swept, replace: whole }: RoundEnd,
): SqlStatements<WorkTables> {
  return yield* swept !== null || whole === 'all' ? findMissing(scope, stream) : loadSeenKeys(scope, stream);
}

/**
 * How many rows the end of a round would remove, without those already held back (R14). Call `loadForRoundEnd` first.
 */
export function* weighRemovals(
  scope: MirrorScope,
  stream: Stream,
  end: RoundEnd,
  { hasMissing }: WorkTables,
): SqlStatements<RemovalCount> {
  const gone = removalsOf(stream, end);
  if (gone === null || (end.replace !== 'marked' && !hasMissing)) return { live: 0, toRemove: 0 };
  const rows = `from ${tableOf(stream)} t where t.env_id = @env and ${whereLive(stream)}`;
  const held = whereHeldBack(stream);
  const unexplained = `${rows} and ${gone.sql} and not ${whereExplained(stream)} and not ${held}`;
  const toRemove = Number(yield* value(scope, `select count(*) ${unexplained}`, gone.values));
  if (toRemove === 0) return { live: 0, toRemove };
  const enough = `select count(*) from (
    select 1 ${rows} and not ${held} and not (${gone.sql} and ${whereExplained(stream)}) limit @limit) enough`;
  return { live: Number(yield* value(scope, enough, { ...gone.values, limit: 2 * toRemove })), toRemove };
}

/** The condition that the end of a round removes row `t`; null if it removes none. */
function removalsOf(
  stream: Stream,
  { sweep: swept, replace: scope, through, lastMark, run }: RoundEnd,
): SqlCondition | null {
  if (swept !== null) return { sql: whereSwept(stream), values: { through } };
  return scope === null ? null : { sql: whereToDelete(stream, scope), values: { lastMark, run, through } };
}

/**
 * Ends a round: sweeps or replaces rows, then clears the marks and rejected rows that the round has handled. Call
 * `loadForRoundEnd` first.
 */
export function* commitRoundEnd(
  commitScope: CommitScope,
  stream: Stream,
  ended: RoundEnd & { hold: boolean },
  tables: WorkTables,
): SqlStatements<ChangedRows> {
  const { sweep: swept, replace: scope, through, hold, isWhole } = ended;
  const { hasMarks } = tables;
  const of = { lastMark: ended.lastMark, run: ended.run };
  const bounds = { ...of, settledBefore: ended.settledBefore, marksThrough: ended.marksThrough };
  let changedRows: ChangedRows = { written: 0, deleted: 0 };
  const isContradicted = isWhole && through !== null && stream.staged !== undefined;
  if (ended.marksThrough !== null && stream.parentTable !== undefined && (hasMarks || isContradicted))
    yield* leaveUnconfirmed(commitScope, stream, bounds, isContradicted);
  if (ended.isReleased) changedRows = yield* release(commitScope, stream, ended);
  if (swept !== null) changedRows = yield* sweep(commitScope, stream, { ...swept, through, hold });
  else if (scope !== null)
    changedRows = yield* replace(commitScope, stream, { scope, hold, values: { ...of, through } }, tables);
  const makesMarks = isWhole && stream.subtype !== undefined;
  if (stream.parentTable !== undefined && (hasMarks || makesMarks))
    yield* leaveUnsettled(commitScope, stream, bounds, makesMarks);
  // The marks that this commit has made need no clearing.
  if (hasMarks) yield* clearMarks(commitScope, stream, of);
  if (isWhole) yield* forgetRejected(commitScope, stream, of.run);
  return changedRows;
}

/** What decides which marks a round leaves to a later run. */
type MarkBounds = Pick<RoundEnd, 'lastMark' | 'run' | 'settledBefore' | 'marksThrough'>;

/**
 * Leaves the marks of rows that no read returned and that were not looked up in the parent's list (R18). A contradicted
 * scan of edges also makes marks for the columns that would lose their last edge.
 */
function* leaveUnconfirmed(
  scope: CommitScope,
  stream: Stream,
  values: MarkBounds,
  isContradicted: boolean,
): SqlStatements<void> {
  const isStaged = stream.staged !== undefined;
  const shown = isStaged ? whereSeen(stream, 'm.id') : 'false';
  const marked = `select m.env_id, m.id ${fromMarked(stream)} and m.number <= @lastMark and m.id > @marksThrough and not ${shown}`;
  const losing = `select m.env_id, m.key_1 from missing_keys m where ${whereStream(stream, 'm')} and m.key_1 > @marksThrough
    and not ${whereSeen(stream, 'm.key_1')}`;
  const sql = isContradicted ? `${marked} union ${losing}` : marked;
  yield* leaveMarksOf(scope, stream, { sql, values });
}

/**
 * Leaves the marks of rows to be read once more: those younger than the overlap (R18), and those without the fields of
 * their kind, because the typed list may lag (R22). A read of the whole list makes marks for the latter.
 */
function* leaveUnsettled(
  scope: CommitScope,
  stream: Stream,
  values: MarkBounds,
  makesMarks: boolean,
): SqlStatements<void> {
  const whereOpen = stream.subtype !== undefined ? `(${WHERE_UNSETTLED} or ${whereUnfilled(stream)})` : WHERE_UNSETTLED;
  const marked = `select m.env_id, m.id ${fromMarked(stream)} and m.number <= @lastMark and ${whereOpen}`;
  const whole = `select t.env_id, t.id from ${tableOf(stream)} t where t.env_id = @env and ${whereLive(stream)} and ${whereUnfilled(stream)}`;
  yield* leaveMarksOf(scope, stream, { sql: makesMarks ? `${marked} union ${whole}` : marked, values });
}

/** Clears the marks that the round has handled. Later ones reopen the stream. */
function* clearMarks(scope: CommitScope, stream: Stream, of: Pick<RoundEnd, 'lastMark' | 'run'>): SqlStatements<void> {
  const uncleared = `marks as m where ${whereStream(stream, 'm')} and ${whereUncleared('m')}`;
  yield* execute(scope, `delete from ${uncleared} and m.number <= @lastMark`, of);
  const one = yield* value(scope, `select 1 from ${uncleared} limit 1`, of);
  if (one !== undefined) yield* reopenStream(scope, [stream.name]);
}

/** A read of the whole stream did not return these rejected rows again, so they are gone from the source (R20). */
function* forgetRejected(scope: CommitScope, stream: Stream, since: number): SqlStatements<void> {
  yield* execute(scope, `delete from rejected_rows as r where ${whereStream(stream, 'r')} and r.run_id < @since`, {
    since,
  });
}

function* sweep(
  scope: CommitScope,
  stream: Stream,
  swept: SweepInput & { hold: boolean; through: string | null },
): SqlStatements<ChangedRows> {
  const sql = whereSwept(stream);
  const values = { through: swept.through };
  const at = swept.at ?? scope.mirroredAt;
  if (swept.hold) yield* holdBack(scope, stream, { sql, values, at });
  const removed = yield* remove(scope, stream, { sql: `${sql} and ${whereRemovable(stream)}`, values, at });
  yield* pruneHeldRemovals(scope, stream, { sql: whereMissing(stream) });
  return removed;
}

/** The condition that a scan did not see row `t`, up to the last row that may be deleted (R12). */
function whereSwept(stream: Stream): string {
  return `${whereMissing(stream)} and (cast(@through as text) is null or t.id <= @through)`;
}

/** Applies held-back removals: without a scan, up to the last confirmed row (R14). A full read decides for itself. */
function* release(
  scope: CommitScope,
  stream: Stream,
  { sweep: swept, isWhole, through }: RoundEnd,
): SqlStatements<ChangedRows> {
  const held = `held_removals as h where ${whereStream(stream, 'h')} and (cast(@through as text) is null or h.key_1 <= @through)`;
  const at =
    isWhole || swept !== null ? null : yield* value(scope, `select max(h.absent_at) from ${held}`, { through });
  const sql = `${whereHeldBack(stream)} and (cast(@through as text) is null or t.id <= @through)`;
  const released =
    at === null || at === undefined || stream.method !== 'feed'
      ? { written: 0, deleted: 0 }
      : yield* remove(scope, stream, { sql, values: { through }, at: String(at) });
  yield* execute(scope, `delete from ${held}`, { through });
  return released;
}
