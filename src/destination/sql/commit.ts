import { rejectedRows, syncCheckpoints } from '../../../schema/sync.ts';
import { updateAlerts } from '../../../state/alerts/update-alerts.ts';
import { asStored, encodeCheckpoint } from '../../../state/checkpoint-store.ts';
import { type MirrorClock, tick } from '../../../state/mirror-clock.ts';
import type { AlertRule } from '../../core/alerts/alert.ts';
import { type DecodedRow, joinKey } from '../../core/decode/decode.ts';
import type { Commit, CommitResult, LeftMarks, PageCommit, RoundEndCommit } from '../../core/ports/destination.ts';
import type { Row, Stream, StreamName } from '../../core/stream.ts';
import { alertTriggerOf, readColumnTypes } from './commit-alerts.ts';
import { firstKey, fromClock, tableOf, whereLive, whereSeenKey, whereStream } from './conditions.ts';
import { endRound } from './finish-round.ts';
import { noteScores } from './health-means.ts';
import { noteHistoryRead, noteUnreadHistory } from './histories.ts';
import {
  exceedsNoteLimit,
  forgetSeen,
  invalidateMissing,
  loadSeenKeys,
  noteSeen,
  persistSeen,
  TIES,
} from './seen-keys.ts';
import { forgetStaged, stage } from './staged.ts';
import {
  type CommitScope,
  column,
  execute,
  type MirrorScope,
  rows,
  run,
  type SqlStatements,
  value,
} from './statements.ts';
import { nameOf, quote, tableSqlOf } from './tables.ts';
import {
  type ChangedRows,
  leaveMarksOf,
  marksOf,
  remove,
  reopenStream,
  upsert,
  writeChanges,
  writeMarks,
} from './write-rows.ts';

interface CommitOptions {
  readonly commit: Commit;
  readonly run: number;
  readonly clock: MirrorClock;
  /** Streams that removals make marks for. */
  readonly marking: ReadonlySet<StreamName>;
  /** The rules by which alerts are decided in the same transaction. */
  readonly alertRules?: readonly AlertRule[] | undefined;
}

/** All statements of a commit's transaction, including the clock and the checkpoint (R5). */
export function* commitStatements(
  scope: MirrorScope,
  stream: Stream,
  { commit, run, clock, marking, alertRules = [] }: CommitOptions,
): SqlStatements<AppliedCommit> {
  const mirroredAt = yield* tick(clock, scope.envId);
  const commitScope = { ...scope, stream, run, marking, mirroredAt, reopened: new Set<StreamName>() };
  yield* upsert(commitScope, syncCheckpoints, [{ stream: stream.name, ...encodeCheckpoint(commit.checkpoint) }]);
  if (alertRules.length === 0) return yield* apply(commitScope, commit);
  const types = yield* readColumnTypes(commitScope, commit, alertRules);
  const done = yield* apply(commitScope, commit);
  const trigger = alertTriggerOf(commitScope, commit, { types, isCleared: done.isCleared ?? false });
  const isChanged = yield* updateAlerts({ envId: scope.envId, run, at: mirroredAt }, alertRules, trigger);
  return { ...done, isQuiet: done.isQuiet && !isChanged };
}

/** Writes everything of a commit except its checkpoint. */
function* apply(scope: CommitScope, commit: Commit): SqlStatements<AppliedCommit> {
  switch (commit.kind) {
    case 'page':
      return yield* applyPage(scope, commit);
    case 'round-end':
      return yield* applyRoundEnd(scope, commit);
    case 'discard':
      if (commit.unreadHistory) yield* noteUnreadHistory(scope, commit.unreadHistory);
      // Discards what one read, or the whole round, saw and staged (R7).
      yield* forgetStaged(scope, commit.forget);
      yield* forgetSeen(scope, scope.stream, commit.forget);
      return yield* applied(scope, commit, []);
    case 'mark-held':
      yield* markHeld(scope);
      return yield* applied(scope, commit, []);
  }
}

interface AppliedCommit extends CommitResult {
  /** It changed no row, so nothing waits for it. */
  readonly isQuiet: boolean;
  /** Rows that were rejected or held back may no longer be. */
  readonly isCleared?: boolean;
}

function* applied(scope: CommitScope, commit: Commit, changed: readonly ChangedRows[]): SqlStatements<AppliedCommit> {
  const { reopens } = scope.stream;
  const written = changed.reduce((sum, counts) => sum + counts.written, 0);
  const deleted = changed.reduce((sum, counts) => sum + counts.deleted, 0);
  if (reopens !== undefined && written > 0) yield* reopenStream(scope, [reopens]);
  const isQuiet = written + deleted === 0 && !exceedsNoteLimit(scope.noted);
  return { counts: { written, deleted, rejected: 0 }, checkpoint: commit.checkpoint, isQuiet };
}

function* applyStaged(scope: CommitScope, commit: PageCommit): SqlStatements<readonly DecodedRow[] | undefined> {
  if (commit.staged === undefined) return undefined;
  const compares = yield* isCompared(scope, commit);
  return yield* stage(scope, commit.staged, compares);
}

/** The returned keys come before the rejected rows: a row that comes twice, once unusable, must end as rejected. */
function* applyPage(scope: CommitScope, commit: PageCommit): SqlStatements<AppliedCommit> {
  const { stream } = scope;
  const { changes = [], marks = [], rejected = [] } = commit;
  const staged = yield* applyStaged(scope, commit);
  const changed = [yield* writeChanges(scope, changes)];
  if (changes.length > 0) yield* invalidateMissing(scope, stream);
  yield* writeMarks(scope, marks);
  // A row that equals the table's was archived with the page that brought it there (R17).
  if (commit.archived) changed.push(yield* archive(scope, staged ?? commit.archived));
  if (commit.seen) noteSeen(scope, stream, commit.seen);
  if (commit.ties) noteSeen(scope, stream, { keys: commit.ties, readNumber: TIES });
  const isCleared = yield* clearReturned(scope, commit);
  if (rejected.length > 0) yield* reject(scope, rejected);
  changed.push(...(yield* applyReadEnd(scope, commit)));
  const done = yield* applied(scope, commit, changed);
  return {
    ...done,
    counts: { ...done.counts, rejected: rejected.length },
    isCleared,
    isQuiet: done.isQuiet && rejected.length + (staged ?? []).length === 0,
  };
}

/** Applies the end of a read, taking into account what this page changed and returned. */
function* applyReadEnd(scope: CommitScope, commit: PageCommit): SqlStatements<ChangedRows[]> {
  const changed = commit.sweptRows ? [yield* sweepRows(scope, commit.sweptRows)] : [];
  if (commit.notShown) yield* dropRejected(scope, commit.notShown);
  if (commit.clearedMarks) yield* clearMarks(scope, commit.clearedMarks, commit.sweptRows);
  if (commit.leftMarks) yield* leaveMarks(scope, commit.leftMarks);
  if (commit.historyRead) yield* noteHistoryRead(scope, commit.historyRead);
  if (commit.unreadHistory) yield* noteUnreadHistory(scope, commit.unreadHistory);
  return changed;
}

/** Discards what the round saw and staged, after its end has used it. What a waiting scan has seen stays (R9). */
function* applyRoundEnd(scope: CommitScope, commit: RoundEndCommit): SqlStatements<AppliedCommit> {
  const { stream } = scope;
  const { roundEnd, checkpoint } = commit;
  const { changed, tables } = yield* endRound(scope, roundEnd);
  if (roundEnd.rememberFrom !== null) yield* persistSeen(scope, stream, roundEnd.rememberFrom);
  else if (!checkpoint.waitingScan) {
    if (tables.hasStaged || tables.isStagedLoaded) yield* forgetStaged(scope, 'all');
    yield* forgetSeen(scope, stream, 'all', tables);
  }
  const done = yield* applied(scope, commit, [changed]);
  const isReopened = scope.reopened.has(stream.name);
  const stored = isReopened ? { ...checkpoint, finishedCycle: null } : checkpoint;
  return { ...done, checkpoint: asStored(stored, tables.returns) };
}

/** Whether staged rows are compared with the table's. The first scan of an empty table has nothing to compare with. */
function* isCompared(scope: CommitScope, { checkpoint: { round } }: PageCommit): SqlStatements<boolean> {
  if (round === null || round.mode === 'marked' || round.sweeps) return true;
  const one = yield* value(scope, `select 1 from ${tableOf(scope.stream)} t where t.env_id = @env limit 1`);
  return one !== undefined;
}

type CommitPart<Name extends keyof PageCommit> = NonNullable<PageCommit[Name]>;

/** Writes rows to the history tables, or to the stream's own table if that is a history (R17). */
function* archive(scope: CommitScope, rows: readonly DecodedRow[]): SqlStatements<ChangedRows> {
  const { stream } = scope;
  const own = rows.map((row) => row.row);
  const way = { conflict: 'keep-newer' } as const;
  if (stream.historyTables === undefined) {
    const same = { env_id: scope.envId, mirrored_at: scope.mirroredAt };
    const given = { table: tableSqlOf(stream.table), rows: own, same, ...way };
    return { written: own.length === 0 ? 0 : (yield given).changes, deleted: 0 };
  }
  const parts = rows.flatMap((row) => row.parts.flat());
  for (const { table, constants = {}, scoredAt } of stream.historyTables) {
    yield* upsert(scope, table, own, { ...way, added: constants });
    yield* upsert(scope, table, parts, way);
    if (scoredAt !== undefined) yield* noteScores(scope, [...own, ...parts], scoredAt);
  }
  return { written: 0, deleted: 0 };
}

/** Returned rows are no longer rejected or held back (R14, R20). Returns whether any such rows were deleted. */
function* clearReturned(scope: CommitScope, { keepsRejected, returnedKeys = [] }: PageCommit): SqlStatements<boolean> {
  if (returnedKeys.length === 0) return false;
  const own = (table: string): string => `from ${table} as x where ${whereStream(scope.stream, 'x')}`;
  let cleared = 0;
  const sql = `select exists (select 1 ${own('rejected_rows')}) rejected_rows,
    exists (select 1 ${own('held_removals')}) held_removals`;
  const [standing = {}] = yield* rows(scope, sql);
  if (standing['rejected_rows'] !== 1 && standing['held_removals'] !== 1) return false;
  const joined = JSON.stringify(returnedKeys.map(joinKey));
  const among = `in (select value from ${scope.dialect.texts('@joined')})`;
  for (const [table, key, isKept] of [
    ['rejected_rows', 'row_key', keepsRejected],
    ['held_removals', 'key_1', false],
  ] as const)
    if (standing[table] === 1 && !isKept)
      cleared += yield* run(scope, `delete ${own(table)} and x.${key} ${among}`, { joined });
  return cleared > 0;
}

function* reject(scope: CommitScope, rejected: CommitPart<'rejected'>): SqlStatements<void> {
  const rows = rejected.map(({ rowKey, reason, payload }): Row => ({ row_key: rowKey, reason, payload }));
  const added = { stream: scope.stream.name, run_id: scope.run, seen_at: scope.mirroredAt };
  yield* upsert(scope, rejectedRows, rows, { added });
}

/** Rows looked up and not returned are no longer rejected, unless the mirror has a live row with the id (R20). */
function* dropRejected(scope: CommitScope, { ids, since }: CommitPart<'notShown'>): SqlStatements<void> {
  const { stream } = scope;
  const sql = `delete from rejected_rows as r where ${whereStream(stream, 'r')} and r.run_id < @since
    and r.row_key in (select value from ${scope.dialect.texts('@ids')})
    and not exists (select 1 from ${tableOf(stream)} t
      where t.env_id = @env and t.${firstKey(stream)} = r.row_key and ${whereLive(stream)})`;
  yield* execute(scope, sql, { ids: JSON.stringify(ids), since });
}

function* clearMarks(
  scope: CommitScope,
  { ids, lastMark }: CommitPart<'clearedMarks'>,
  swept?: CommitPart<'sweptRows'>,
): SqlStatements<void> {
  const { stream } = scope;
  const values = { ids: JSON.stringify(ids), lastMark: lastMark ?? Number.MAX_SAFE_INTEGER };
  // Marks of live parents with unseen rows stay until the parent is confirmed (R13).
  const kept =
    swept === undefined
      ? 'false'
      : `exists (select 1 from ${tableOf(stream)} t where t.env_id = @env and ${whereLive(stream)} and ${whereUnseen(stream, swept, 'm.id')})`;
  const sql = `delete from marks as m where ${whereStream(stream, 'm')}
    and m.id in (select value from ${scope.dialect.texts('@ids')}) and m.number <= @lastMark and not ${kept}`;
  yield* execute(scope, sql, { ...values, sinceRead: swept?.sinceRead ?? 0 });
}

/** The condition that row `t` has the id in its field `by` and was not seen by any read since `@sinceRead`. */
function whereUnseen(stream: Stream, { by }: CommitPart<'sweptRows'>, id: string): string {
  return `t.${quote(by)} = ${id} and not ${whereSeenKey(stream, '@sinceRead')}`;
}

/** Leaves marks to a later run (R13, R18). */
function* leaveMarks(scope: CommitScope, { ids, makes, ...values }: LeftMarks): SqlStatements<void> {
  const listed = scope.dialect.texts('@ids');
  const sql = makes
    ? `select c.env_id, value id from ${fromClock(listed)}`
    : `select m.env_id, m.id from marks m where ${whereStream(scope.stream, 'm')} and m.id in (select value from ${listed})`;
  yield* leaveMarksOf(scope, { sql, values: { ...values, ids: JSON.stringify(ids) } });
}

/** Marks rows as absent that no read since the given one has seen: those of each parent, or the ties (R10, R13). */
function* sweepRows(scope: CommitScope, swept: CommitPart<'sweptRows'>): SqlStatements<ChangedRows> {
  const { stream } = scope;
  const { ids, sinceRead, at, isConfirmed } = swept;
  yield* loadSeenKeys(scope, stream);
  const unseen = whereUnseen(stream, swept, '@id');
  const sql = isConfirmed
    ? unseen
    : `${unseen} and not exists (select 1 from ${nameOf(stream.parent?.table)} p
    where p.env_id = @env and p.id = @id and p.deleted_at is null)`;
  const removal = { sql, at: at ?? scope.mirroredAt, few: true } as const;
  let deleted = 0;
  for (const id of ids) deleted += (yield* remove(scope, { ...removal, values: { id, sinceRead } })).deleted;
  return { written: 0, deleted };
}

/** Marks the rows whose removal is held back, so reading them again decides (R14). */
function* markHeld(scope: CommitScope): SqlStatements<void> {
  const { stream } = scope;
  const sql = `select distinct h.key_1 from held_removals h where ${whereStream(stream, 'h')} order by 1`;
  yield* writeMarks(scope, marksOf(stream.name, yield* column(scope, sql)));
}
