import { marks as marksTable } from '../../../schema/sync.ts';
import { changeMarks, type FollowUpMark } from '../../core/decide/marks.ts';
import { absent, type RowChange } from '../../core/decide/newest-wins.ts';
import type { RowCounts } from '../../core/ports/destination.ts';
import type { Row, Stream, StreamName } from '../../core/stream.ts';
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
import { lastMark } from './lookups.ts';
import {
  type BulkUpsert,
  type CommitScope,
  column,
  execute,
  rows,
  type SqlStatements,
  type UpsertConflict,
} from './statements.ts';
import { list, nameOf, quote, type TableOrName, tableSqlOf } from './tables.ts';

interface UpsertOptions {
  readonly conflict?: UpsertConflict;
  /** Columns with the same value in every row; it overrides the row's own. */
  readonly added?: Row;
}

/** Writes rows of one table; each row needs a value for every column except the mirror's own. */
export function* upsert(
  scope: CommitScope,
  table: TableOrName,
  rows: readonly Row[],
  options: UpsertOptions = {},
): SqlStatements<void> {
  if (rows.length > 0) yield { ...bulkUpsert(scope, table, rows, options), isUnanswered: true };
}

/** Like `upsert`. Returns how many rows were inserted or changed. */
export function* upsertCounted(
  scope: CommitScope,
  table: TableOrName,
  rows: readonly Row[],
  options: UpsertOptions,
): SqlStatements<number> {
  if (rows.length === 0) return 0;
  const { changes } = yield bulkUpsert(scope, table, rows, options);
  return changes;
}

function bulkUpsert(
  scope: CommitScope,
  table: TableOrName,
  rows: readonly Row[],
  { conflict = 'replace', added = {} }: UpsertOptions,
): BulkUpsert {
  const same = { env_id: scope.envId, mirrored_at: scope.mirroredAt, ...added };
  return { table: tableSqlOf(table), rows, same, conflict };
}

export type ChangedRows = Pick<RowCounts, 'written' | 'deleted'>;

/** Writes changes to a stream's own table, and deletes what depends on deleted rows elsewhere (R13, R18). */
export function* writeChanges(
  scope: CommitScope,
  stream: Stream,
  changes: readonly RowChange[],
): SqlStatements<ChangedRows> {
  yield* upsert(
    scope,
    stream.table,
    changes.map((change) => change.row),
  );
  // A deleted row may have dependents again, which the service returned while it was deleted.
  const dead = changes.filter(({ kind }) => kind === 'deleted' || kind === 'tombstoned').map(({ row }) => row);
  if (dead.length > 0)
    yield* cascadeMark(
      scope,
      stream,
      dead.map((row) => row['id']),
    );
  if (dead.length > 0) yield* cascadeDelete(scope, stream, dead);
  const moved = stream.scored ? changes.filter(({ kind }) => kind !== 'inserted' && kind !== 'updated') : [];
  if (moved.length > 0)
    yield* noteScoresOf(
      scope,
      moved.map(({ row }) => row['id']),
    );
  const deleted = changes.filter(({ kind }) => kind === 'deleted').length;
  return { written: changes.length - deleted, deleted };
}

function* cascadeDelete(scope: CommitScope, { cascade = [] }: Stream, dead: readonly Row[]): SqlStatements<void> {
  for (const { table, by: fields, deletion } of cascade) {
    const ids = dead.filter((row) => deletion === undefined || row['deletion'] === deletion).map((row) => row['id']);
    for (const by of ids.length === 0 ? [] : fields) {
      const among = `${quote(by)} in (select value from ${scope.dialect.texts('@ids')})`;
      const sql = `delete from ${nameOf(table)} where env_id = @env and ${among}`;
      yield* execute(scope, sql, { ids: JSON.stringify(ids) });
    }
  }
}

/** Marks the rows at the other end of deleted dependents, whose edges the service may have kept (R18). */
function* cascadeMark(
  scope: CommitScope,
  { table, cascadeMarks }: Stream,
  ids: readonly unknown[],
): SqlStatements<void> {
  if (cascadeMarks === undefined || !scope.marking.has(cascadeMarks.stream)) return;
  const sql = `select distinct ${quote(cascadeMarks.id)} from ${nameOf(cascadeMarks.table)}
    where env_id = @env and ${quote(cascadeMarks.by)} in (select value from ${scope.dialect.texts('@ids')}) order by 1`;
  const marked = yield* column(scope, sql, { ids: JSON.stringify(ids) });
  yield* touch(scope, table, marked);
  yield* writeMarks(
    scope,
    marked.map((id) => ({ stream: cascadeMarks.stream, id: String(id) })),
  );
}

/** Updates the time of rows that lose dependents (R21). */
function* touch(scope: CommitScope, table: TableOrName, ids: readonly unknown[]): SqlStatements<void> {
  if (ids.length === 0) return;
  const sql = `update ${nameOf(table)} set mirrored_at = @mirroredAt where env_id = @env and deleted_at is null
    and id in (select value from ${scope.dialect.texts('@ids')})`;
  yield* execute(scope, sql, { ids: JSON.stringify(ids), mirroredAt: scope.mirroredAt });
}

/** Writes marks, numbered in the given order. */
export function* writeMarks(scope: CommitScope, marks: readonly FollowUpMark[]): SqlStatements<void> {
  if (marks.length === 0) return;
  const last = yield* lastMark(scope);
  yield* upsert(
    scope,
    marksTable,
    marks.map((mark, i) => ({ ...mark, number: last + i + 1, left_by_run: null })),
  );
  yield* execute(scope, 'update mirror_environments set last_mark = @last where env_id = @env', {
    last: last + marks.length,
  });
  yield* reopenStream(scope, [...new Set(marks.map((mark) => mark.stream))]);
}

/**
 * Leaves the marks of the selected `env_id` and `id` to a later run; a mark made after `@lastMark` stays as it is (R13,
 * R18). The inserted number is `@lastMark`: Citus gives a conflict clause no parameters of a `select`.
 */
export function* leaveMarksOf(scope: CommitScope, stream: Stream, { sql, values }: SqlCondition): SqlStatements<void> {
  yield* execute(
    scope,
    `insert into marks (env_id, stream, id, number, left_by_run)
      select env_id, '${stream.name}', id, @lastMark, @run from (${sql}) waiting where true
      on conflict (env_id, stream, id) do update set left_by_run = excluded.left_by_run
      where marks.number <= excluded.number`,
    values,
  );
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
export function* remove(
  scope: CommitScope,
  stream: Stream,
  { sql, values, at, few }: RemovalInput,
): SqlStatements<ChangedRows> {
  const id = few ? "t.id || ''" : 't.id';
  const select = `select ${list(tableSqlOf(stream.table).given, 't.')} from ${tableOf(stream)} t
    where t.env_id = @env and ${id} > @after and ${whereLive(stream)} and ${sql} order by ${id} limit ${BATCH_ROWS}`;
  let deleted = 0;
  for (let after = ''; ; ) {
    const going = yield* rows(scope, select, { ...values, after });
    const changes = going.map((row) => absent(row, at));
    yield* writeChanges(scope, stream, changes);
    const marks = changes.flatMap((change) => changeMarks(stream, change, null));
    yield* writeMarks(
      scope,
      marks.filter((mark) => scope.marking.has(mark.stream)),
    );
    deleted += going.length;
    if (going.length < BATCH_ROWS) return { written: 0, deleted };
    after = String(going.at(-1)?.['id']);
  }
}

/** Holds back the removal of the rows that meet a condition, unless it is explained (R14). */
export function* holdBack(
  scope: CommitScope,
  stream: Stream,
  { sql, values, at }: SqlCondition & { at: Instant },
): SqlStatements<void> {
  const second = stream.key[1] === undefined ? "''" : `t.${quote(stream.key[1])}`;
  yield* execute(
    scope,
    `insert into held_removals (env_id, stream, key_1, key_2, absent_at)
      select t.env_id, '${stream.name}', t.${firstKey(stream)}, ${second}, @at from ${tableOf(stream)} t
      where t.env_id = @env and ${whereLive(stream)} and ${sql} and not ${whereExplained(stream)}
      on conflict (env_id, stream, key_1, key_2) do update set absent_at = excluded.absent_at`,
    { ...values, at },
  );
}

/** Keeps only the held-back removals of rows that meet a condition. */
export function* pruneHeldRemovals(
  scope: CommitScope,
  stream: Stream,
  { sql, values = {} }: SqlCondition,
): SqlStatements<void> {
  yield* execute(
    scope,
    `delete from held_removals as h where ${whereStream(stream, 'h')}
      and not exists (select 1 from ${tableOf(stream)} t where t.env_id = @env and ${whereHolds(stream)} and ${whereLive(stream)} and ${sql})`,
    values,
  );
}
