import { marks as marksTable } from '../../../schema/sync.ts';
import { changeMarks, type FollowUpMark } from '../../core/decide/marks.ts';
import { absent, type RowChange } from '../../core/decide/newest-wins.ts';
import type { RowCounts } from '../../core/ports/destination.ts';
import type { Row, StreamName } from '../../core/stream.ts';
import type { Instant } from '../../core/time/instant.ts';
import {
  firstKey,
  type SqlCondition,
  tableOf,
  whereExplained,
  whereHolds,
  whereLive,
  whereStream,
} from './conditions.ts';
import { noteScoresOf } from './health-means.ts';
import { lastMark, liveRows } from './lookups.ts';
import { type CommitScope, column, execute, rows, type SqlStatements, type UpsertConflict } from './statements.ts';
import { list, nameOf, quote, type TableOrName, tableSqlOf } from './tables.ts';

interface UpsertOptions {
  readonly conflict?: UpsertConflict;
  /** Columns with the same value in every row; it overrides the row's own. */
  readonly added?: Row;
}

/** Writes rows of one table; each row needs a value for every column except the mirror's own. */
export function* upsert(
  { envId, mirroredAt }: Pick<CommitScope, 'envId' | 'mirroredAt'>,
  table: TableOrName,
  rows: readonly Row[],
  { conflict = 'replace', added = {} }: UpsertOptions = {},
): SqlStatements<void> {
  const same = { env_id: envId, mirrored_at: mirroredAt, ...added };
  if (rows.length > 0) yield { table: tableSqlOf(table), rows, same, conflict, isUnanswered: true };
}

export type ChangedRows = Pick<RowCounts, 'written' | 'deleted'>;

/** Writes changes to a stream's own table, and deletes what depends on deleted rows elsewhere (R13, R18). */
export function* writeChanges(scope: CommitScope, changes: readonly RowChange[]): SqlStatements<ChangedRows> {
  const { stream } = scope;
  const rows = changes.map(({ row }) => row);
  yield* upsert(scope, stream.table, rows);
  // A deleted row may have dependents again, which the service returned while it was deleted.
  const dead = changes.filter(({ kind }) => kind === 'deleted' || kind === 'tombstoned').map(({ row }) => row);
  if (dead.length > 0) {
    yield* cascadeMark(scope, dead);
    yield* cascadeDelete(scope, dead);
  }
  const moved = stream.scored ? changes.filter(({ kind }) => kind !== 'inserted' && kind !== 'updated') : [];
  for (const { row } of moved) yield* noteScoresOf(scope, row['id']);
  const deleted = changes.filter(({ kind }) => kind === 'deleted').length;
  return { written: changes.length - deleted, deleted };
}

function* cascadeDelete(scope: CommitScope, dead: readonly Row[]): SqlStatements<void> {
  let deletes = false;
  for (const { table, by: fields, deletion } of scope.stream.cascade ?? []) {
    const ids = dead.filter((row) => deletion === undefined || row['deletion'] === deletion).map((row) => row['id']);
    for (const by of ids.length === 0 ? [] : fields) {
      const among = `${quote(by)} in (select value from ${scope.dialect.texts('@ids')})`;
      const sql = `delete from ${nameOf(table)} where env_id = @env and ${among}`;
      yield* execute(scope, sql, { ids: JSON.stringify(ids) });
      deletes = true;
    }
  }
  if (deletes) yield* recordRemoval(scope);
}

/** Records that this commit may have deleted rows that leave no tombstone. */
export function* recordRemoval(scope: CommitScope): SqlStatements<void> {
  const sql = 'update mirror_environments set rows_removed_at = mirrored_at where env_id = @env';
  yield* execute(scope, sql);
}

/** Marks the rows at the other end of deleted dependents, whose edges the service may have kept (R18). */
function* cascadeMark(scope: CommitScope, dead: readonly Row[]): SqlStatements<void> {
  const { table, cascadeMarks } = scope.stream;
  if (cascadeMarks === undefined || !scope.marking.has(cascadeMarks.stream)) return;
  const sql = `select distinct ${quote(cascadeMarks.id)} from ${nameOf(cascadeMarks.table)}
    where env_id = @env and ${quote(cascadeMarks.by)} in (select value from ${scope.dialect.texts('@ids')}) order by 1`;
  const marked = yield* column(scope, sql, { ids: JSON.stringify(dead.map((row) => row['id'])) });
  if (marked.length === 0) return;
  // They lose dependents (R21).
  const touch = `update ${nameOf(table)} set mirrored_at = @mirroredAt where env_id = @env and deleted_at is null
    and id in (select value from ${scope.dialect.texts('@ids')})`;
  yield* execute(scope, touch, { ids: JSON.stringify(marked), mirroredAt: scope.mirroredAt });
  yield* writeMarks(scope, marksOf(cascadeMarks.stream, marked));
}

export function marksOf(stream: StreamName, ids: readonly unknown[]): FollowUpMark[] {
  return ids.map((id) => ({ stream, id: String(id) }));
}

/** Writes marks, numbered in the given order. */
export function* writeMarks(scope: CommitScope, marks: readonly FollowUpMark[]): SqlStatements<void> {
  if (marks.length === 0) return;
  const before = yield* lastMark(scope);
  const numbered = marks.map((mark, i) => ({ ...mark, number: before + i + 1, left_by_run: null }));
  yield* upsert(scope, marksTable, numbered);
  const last = before + marks.length;
  yield* execute(scope, 'update mirror_environments set last_mark = @last where env_id = @env', { last });
  yield* reopenStream(scope, [...new Set(marks.map((mark) => mark.stream))]);
}

/**
 * Leaves the marks of the selected `env_id` and `id` to a later run; a mark made after `@lastMark` stays as it is (R13,
 * R18). The inserted number is `@lastMark`: Citus gives a conflict clause no parameters of a `select`.
 */
export function* leaveMarksOf(scope: CommitScope, { sql, values }: SqlCondition): SqlStatements<void> {
  const insert = `insert into marks (env_id, stream, id, number, left_by_run)
    select env_id, '${scope.stream.name}', id, @lastMark, @run from (${sql}) waiting where true
    on conflict (env_id, stream, id) do update set left_by_run = excluded.left_by_run
    where marks.number <= excluded.number`;
  yield* execute(scope, insert, values);
}

/** Reopens these streams in this cycle: they have to read again (R9). */
export function* reopenStream(scope: CommitScope, names: readonly StreamName[]): SqlStatements<void> {
  for (const name of names) scope.reopened.add(name);
  const sql = `update sync_checkpoints set finished_cycle = null where env_id = @env
    and stream in (select value from ${scope.dialect.texts('@names')}) and finished_cycle is not null`;
  yield* execute(scope, sql, { names: JSON.stringify(names) });
}

/** How many rows a sweep holds in memory at a time. */
export const BATCH_ROWS = 2000;

interface RemovalInput extends SqlCondition {
  readonly at: Instant;
  /** The condition matches few rows through another index than the key's, so they are sorted afterwards. */
  readonly few?: true;
}

/** Marks the live rows that meet a condition as absent, in batches. */
export function* remove(scope: CommitScope, { sql, values, at, few }: RemovalInput): SqlStatements<ChangedRows> {
  const { stream } = scope;
  const id = few ? "t.id || ''" : 't.id';
  const select = `select ${list(tableSqlOf(stream.table).given, 't.')} from ${tableOf(stream)} t
    where t.env_id = @env and ${id} > @after and ${whereLive(stream)} and ${sql} order by ${id} limit ${BATCH_ROWS}`;
  let deleted = 0;
  for (let after = ''; ; ) {
    const going = yield* rows(scope, select, { ...values, after });
    const changes = going.map((row) => absent(row, at));
    yield* writeChanges(scope, changes);
    const made = changes.flatMap((change) => changeMarks(stream, change, null));
    const marks = made.filter((mark) => scope.marking.has(mark.stream));
    yield* writeMarks(scope, marks);
    deleted += going.length;
    if (going.length < BATCH_ROWS) return { written: 0, deleted };
    after = String(going.at(-1)?.['id']);
  }
}

/** Holds back the removal of the rows that meet a condition, unless it is explained (R14). */
export function* holdBack(scope: CommitScope, { sql, values, at }: RemovalInput): SqlStatements<void> {
  const { stream } = scope;
  const second = stream.key[1] === undefined ? "''" : `t.${quote(stream.key[1])}`;
  const insert = `insert into held_removals (env_id, stream, key_1, key_2, absent_at)
    select t.env_id, '${stream.name}', t.${firstKey(stream)}, ${second}, @at ${liveRows(stream)}
    and ${sql} and not ${whereExplained(stream)}
    on conflict (env_id, stream, key_1, key_2) do update set absent_at = excluded.absent_at`;
  yield* execute(scope, insert, { ...values, at });
}

/** Keeps only the held-back removals of rows that meet a condition. */
export function* pruneHeldRemovals(scope: CommitScope, { sql, values }: SqlCondition): SqlStatements<void> {
  const { stream } = scope;
  const prune = `delete from held_removals as h where ${whereStream(stream, 'h')} and not exists (select 1
    from ${tableOf(stream)} t where t.env_id = @env and ${whereHolds(stream)} and ${whereLive(stream)} and ${sql})`;
  yield* execute(scope, prune, values);
}
