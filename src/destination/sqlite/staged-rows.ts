import type { RoundEnd } from '../../core/destination.ts';
import type { Stream } from '../../core/stream.ts';
import { firstKey, isOf, isOwed, isSeenKey } from './conditions.ts';
import { isMissing } from './missing.ts';
import { differs, list, matches, nameOf, quote, tableSqlOf } from './table-sql.ts';

/** What is replaced: the whole table, or the edges of columns marked up to `@lastMark` (R18). */
export type ReplacementScope = NonNullable<RoundEnd['replace']>;

/** A table with the one it is gathered in. */
export interface StagedTable {
  readonly table: string;
  readonly staged?: string;
}

/**
 * The condition that row `t` is to go: of those in scope, one not seen. A rejected row was seen and stays, and so do those
 * after `@through`, which were not asked for (R12), and what a mark that was left speaks of (R18).
 */
export function toDelete(stream: Stream, replacementScope: ReplacementScope): string {
  const left = `exists (select 1 from marks w where ${isOf(stream, 'w')} and w.id = t.${firstKey(stream)} and not ${isOwed('w')})`;
  const unseen =
    replacementScope === 'all'
      ? isMissing(stream)
      : `${inScope(stream, replacementScope, 't')} and not ${isSeenKey(stream)}`;
  return `${unseen}
    and (@through is null or t.${firstKey(stream)} <= @through) and not ${left}`;
}

/** The gathered rows `s` that are new or differ, each as it was gathered last, in the order of the table; `from … where …`. */
export function toWrite(stream: Stream, { table, staged }: StagedTable, replacementScope: ReplacementScope): string {
  const shape = tableSqlOf(table);
  const { key } = shape;
  // With max() SQLite takes the other columns from the row that has it.
  const last = `select *, max(g.rowid) from ${nameOf(staged)} g
    where g.env_id = @env and ${inScope(stream, replacementScope, 'g')} group by ${list(key, 'g.')}`;
  return `from (${last}) s left join ${nameOf(table)} t on ${matches('t', 's', key)}
    where (t.${quote(key[1] as string)} is null or ${differs('t', 's', shape)}) and ${isParentLive(stream)}`;
}

/** The condition that a replacement may touch a row. The marks lead to it: their rows are few, the others many. */
export function inScope(stream: Stream, replacementScope: ReplacementScope, alias: string): string {
  if (replacementScope === 'all') return 'true';
  const marked = `select m.id from marks m where ${isOf(stream, 'm')} and m.number <= @lastMark`;
  return `${alias}.${firstKey(stream)} in (${marked})`;
}

/** Edges are kept only of columns held live (R18). */
function isParentLive(stream: Stream): string {
  if (stream.parentTable === undefined) return 'true';
  return `exists (select 1 from ${nameOf(stream.parentTable.table)} l
    where l.env_id = s.env_id and l.id = s.${firstKey(stream)} and l.deleted_at is null)`;
}
