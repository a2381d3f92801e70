import type { Stream } from '../../core/stream.ts';
import { firstKey, mayGo, tableOf, type Where } from './conditions.ts';
import { arriving, going, inScope, type Pair, type Scope } from './gathered.ts';
import { holdBack, holdOnly } from './hold.ts';
import { isMissing } from './missing.ts';
import { run, type Values, type Writing } from './part.ts';
import { findAnew } from './seen.ts';
import { list, nameOf, quote, replacing, shapeOf } from './shape.ts';
import type { Changed } from './write-changes.ts';

interface Replacement {
  readonly scope: Scope;
  readonly hold: boolean;
  /** The marks that are paid, the run of the round, and the last row that may go. */
  readonly values: { readonly lastMark: number; readonly run: number; readonly through: string | null };
}

/** Puts what was gathered in place of what was there: only rows that differ are written (R16). */
export function replace(writing: Writing, stream: Stream, { scope, hold, values }: Replacement): Changed {
  const gone = going(stream, scope);
  if (hold) holdBack(writing, stream, { sql: gone, values, at: writing.mirroredAt });
  const deleted = drop(writing, stream, { sql: `${gone} and ${mayGo(stream)}`, values });
  dropParts(writing, stream);
  const pairs: Pair[] = [stream, ...(stream.parts ?? [])];
  const written = pairs.reduce(
    (sum, pair) => sum + put(writing, pair, { sql: arriving(stream, pair, scope), values }),
    0,
  );
  touchWritten(writing, stream, { scope, values });
  // What the read showed again is held back no more, nor what is no longer there (R14).
  holdOnly(writing, stream, { sql: `(not (${inScope(stream, scope, 't')}) or (${gone}))`, values });
  findAnew(writing, stream);
  return { written, deleted };
}

/** Removes rows of the table. */
export function drop(writing: Writing, stream: Stream, { sql, values = {} }: Where): number {
  const rows = `${tableOf(stream)} as t where t.env_id = @env and ${sql}`;
  touchLeaders(writing, stream, { sql: `select t.${firstKey(stream)} from ${rows}`, values });
  return run(writing, `delete from ${rows}`, values);
}

/**
 * No other commit shares its time with this one: what bears it was written by this one. The rows lie in the order of their
 * key, and `>= ''` has SQLite go along that.
 */
function touchWritten(writing: Writing, stream: Stream, { scope, values }: { scope: Scope; values: Values }): void {
  const sql = `select t.${firstKey(stream)} from ${tableOf(stream)} t
    where t.env_id = @env and t.${firstKey(stream)} >= '' and ${inScope(stream, scope, 't')} and t.mirrored_at = @mirroredAt`;
  touchLeaders(writing, stream, { sql, values });
}

/** The columns whose edges differ, as a select gives them, move along: their `mirrored_at` says so (R21). */
function touchLeaders(writing: Writing, stream: Stream, { sql, values = {} }: Where): void {
  if (stream.leader === undefined) return;
  run(
    writing,
    `update ${nameOf(stream.leader.table)} set mirrored_at = @mirroredAt
      where env_id = @env and deleted_at is null and mirrored_at <> @mirroredAt and id in (${sql})`,
    { ...values, mirroredAt: writing.mirroredAt },
  );
}

function put(writing: Writing, { table }: Pair, { sql, values }: Where): number {
  const shape = shapeOf(table);
  const selected = shape.columns.map((name) => (name === 'mirrored_at' ? '@mirroredAt' : `s.${quote(name)}`));
  return run(
    writing,
    `insert into ${quote(shape.name)} (${list(shape.columns)}) select ${selected.join(', ')} ${sql} ${replacing(shape)}`,
    { ...values, mirroredAt: writing.mirroredAt },
  );
}

/** A part goes with the row it belongs to, or when that is gathered without it. */
function dropParts(writing: Writing, stream: Stream): void {
  const gathered = `t.${firstKey(stream)} in (select s.${firstKey(stream)} from ${nameOf(stream.staged)} s where s.env_id = @env)`;
  for (const { table, staged, key } of stream.parts ?? []) {
    const kept = `(${list(key, 't.')}) in (select ${list(key, 's.')} from ${nameOf(staged)} s where s.env_id = @env)`;
    const gone = `((${isMissing(stream)}) or ${gathered}) and not ${kept}`;
    run(writing, `delete from ${nameOf(table)} as t where t.env_id = @env and ${gone}`);
  }
}
