import type { Stream } from '../../core/stream.ts';
import { firstKey, mayGo, type SqlCondition, tableOf } from './conditions.ts';
import { holdBack, holdOnly } from './hold-removals.ts';
import { type CommitScope, run, type SqlValues } from './mirror-scope.ts';
import { isMissing } from './missing.ts';
import { findAnew } from './seen.ts';
import { inScope, type ReplacementScope, type StagedTable, toDelete, toWrite } from './staged-rows.ts';
import { list, nameOf, quote, replacing, tableSqlOf } from './table-sql.ts';
import type { ChangedRows } from './write-changes.ts';

interface TableReplacement {
  readonly scope: ReplacementScope;
  readonly hold: boolean;
  /** The marks that are paid, the run of the round, and the last row that may go. */
  readonly values: { readonly lastMark: number; readonly run: number; readonly through: string | null };
}

/** Puts what was gathered in place of what was there: only rows that differ are written (R16). */
export function replace(
  commitScope: CommitScope,
  stream: Stream,
  { scope, hold, values }: TableReplacement,
): ChangedRows {
  const gone = toDelete(stream, scope);
  if (hold) holdBack(commitScope, stream, { sql: gone, values, at: commitScope.mirroredAt });
  const deleted = drop(commitScope, stream, { sql: `${gone} and ${mayGo(stream)}`, values });
  dropChildRows(commitScope, stream);
  const pairs: StagedTable[] = [stream, ...(stream.childTables ?? [])];
  const written = pairs.reduce(
    (sum, pair) => sum + put(commitScope, pair, { sql: toWrite(stream, pair, scope), values }),
    0,
  );
  touchWritten(commitScope, stream, { scope, values });
  // What the read showed again is held back no more, nor what is no longer there (R14).
  holdOnly(commitScope, stream, { sql: `(not (${inScope(stream, scope, 't')}) or (${gone}))`, values });
  findAnew(commitScope, stream);
  return { written, deleted };
}

/** Removes rows of the table. */
export function drop(commitScope: CommitScope, stream: Stream, { sql, values = {} }: SqlCondition): number {
  const rows = `${tableOf(stream)} as t where t.env_id = @env and ${sql}`;
  touchParents(commitScope, stream, { sql: `select t.${firstKey(stream)} from ${rows}`, values });
  return run(commitScope, `delete from ${rows}`, values);
}

/**
 * No other commit shares its time with this one: what bears it was written by this one. The rows lie in the order of their
 * key, and `>= ''` has SQLite go along that.
 */
function touchWritten(
  commitScope: CommitScope,
  stream: Stream,
  { scope, values }: { scope: ReplacementScope; values: SqlValues },
): void {
  const sql = `select t.${firstKey(stream)} from ${tableOf(stream)} t
    where t.env_id = @env and t.${firstKey(stream)} >= '' and ${inScope(stream, scope, 't')} and t.mirrored_at = @mirroredAt`;
  touchParents(commitScope, stream, { sql, values });
}

/** The columns whose edges differ, as a select gives them, move along: their `mirrored_at` says so (R21). */
function touchParents(commitScope: CommitScope, stream: Stream, { sql, values = {} }: SqlCondition): void {
  if (stream.parentTable === undefined) return;
  run(
    commitScope,
    `update ${nameOf(stream.parentTable.table)} set mirrored_at = @mirroredAt
      where env_id = @env and deleted_at is null and mirrored_at <> @mirroredAt and id in (${sql})`,
    { ...values, mirroredAt: commitScope.mirroredAt },
  );
}

function put(commitScope: CommitScope, { table }: StagedTable, { sql, values }: SqlCondition): number {
  const shape = tableSqlOf(table);
  const selected = shape.columns.map((name) => (name === 'mirrored_at' ? '@mirroredAt' : `s.${quote(name)}`));
  return run(
    commitScope,
    `insert into ${quote(shape.name)} (${list(shape.columns)}) select ${selected.join(', ')} ${sql} ${replacing(shape)}`,
    { ...values, mirroredAt: commitScope.mirroredAt },
  );
}

/** A part goes with the row it belongs to, or when that is gathered without it. */
function dropChildRows(commitScope: CommitScope, stream: Stream): void {
  const gathered = `t.${firstKey(stream)} in (select s.${firstKey(stream)} from ${nameOf(stream.staged)} s where s.env_id = @env)`;
  for (const { table, staged, key } of stream.childTables ?? []) {
    const kept = `(${list(key, 't.')}) in (select ${list(key, 's.')} from ${nameOf(staged)} s where s.env_id = @env)`;
    const gone = `((${isMissing(stream)}) or ${gathered}) and not ${kept}`;
    run(commitScope, `delete from ${nameOf(table)} as t where t.env_id = @env and ${gone}`);
  }
}
