import { parentsOf, type Stream, type StreamParent } from '../../core/stream.ts';
import type { SqlValues } from './statements.ts';
import { nameOf, quote, tableSqlOf } from './tables.ts';

/** A condition on row `t`, and the values of its parameters. */
export interface SqlCondition {
  readonly sql: string;
  readonly values?: SqlValues;
}

export function tableOf(stream: Stream): string {
  return nameOf(stream.table);
}

export function firstKey(stream: Stream): string {
  return quote(stream.key[0]);
}

/** The condition that a row of a table such as `marks` belongs to this stream. */
export function whereStream(stream: Stream, alias: string): string {
  return `${alias}.env_id = @env and ${alias}.stream = '${stream.name}'`;
}

/**
 * The elements of a JSON parameter beside the environment's own row `c`, for inserts: `… where …`. Citus runs an
 * `insert … select` on the node of the environment only if its `env_id` is a column.
 */
export function fromClock(elements: string): string {
  return `mirror_environments c cross join ${elements} where c.env_id = @env`;
}

/** The condition that a row `t` counts as live for this stream. */
export function whereLive(stream: Stream): string {
  const soft = tableSqlOf(stream.table).columns.includes('deleted_at') ? 't.deleted_at is null' : 'true';
  return `${soft}${whereSubtype(stream)}`;
}

/** The condition that row `t` is of the stream's kind, if it has one. */
function whereSubtype({ subtype }: Stream, unindexed: '' | " || ''" = ''): string {
  return subtype === undefined ? '' : ` and t.${quote(subtype.field)}${unindexed} = '${subtype.is}'`;
}

/**
 * The condition that a read of the round, or a read from `@sinceRead` on, has seen row `t`. Staged rows count as seen.
 * Call `loadSeenKeys` first. Meant for few rows; use `whereMissing` for many.
 */
export function whereSeenKey(stream: Stream, since: 'ever' | '@sinceRead' = 'ever'): string {
  const read = since === 'ever' ? '' : ` and s.read_number >= ${since}`;
  return `exists (select 1 from seen_keys s where ${whereStream(stream, 's')} and ${whereKeyOf(stream, 's')}${read})`;
}

/** The condition that a read of the round has seen a row with this first key part. */
export function whereSeen(stream: Stream, id: string): string {
  return `exists (select 1 from seen_keys s where ${whereStream(stream, 's')} and s.key_1 = ${id})`;
}

/** The condition that a row of a table such as `held_removals` has the key of row `t`. */
function whereKeyOf(stream: Stream, alias: string): string {
  return stream.key.map((name, i) => `${alias}.key_${i + 1} = t.${quote(name)}`).join(' and ');
}

/**
 * Marks `m` of this stream whose row `t` is live, without those that the round of `@run` left. The concatenation makes
 * SQLite look the row up by its key instead of an index on the kind.
 */
export function fromMarked(stream: Stream): string {
  return `from marks m cross join ${nameOf(stream.parentTable?.table)} t
    where t.env_id = m.env_id and t.id = m.id and ${whereStream(stream, 'm')} and ${whereUncleared('m')} and t.deleted_at is null${whereSubtype(stream, " || ''")}`;
}

/**
 * The condition that the round of `@run` has to clear a mark: neither it, nor a later round while it waited, has left
 * the mark to a later run (R9, R13, R18).
 */
export function whereUncleared(alias: string): string {
  return `coalesce(${alias}.left_by_run, 0) < @run`;
}

/**
 * The condition that row `t` is younger than the overlap, so its dependents may be committed later (R18). Without a
 * server time, every row with a time qualifies.
 */
export const WHERE_UNSETTLED = '(t.synced_at is not null and coalesce(t.synced_at > @settledBefore, true))';

/** The condition that row `t` lacks a field that the typed list requires (R22). */
export function whereUnfilled({ writes = [], fields }: Stream): string {
  const required = writes.filter((name) => fields[name]?.required);
  return `(${required.map((name) => `t.${quote(name)} is null`).join(' or ')})`;
}

/** The condition that `h`, a row of `held_removals`, has the key of row `t`. */
export function whereHolds(stream: Stream): string {
  return `${whereStream(stream, 'h')} and ${whereKeyOf(stream, 'h')}`;
}

/** The condition that row `t` may be removed at once: it is not held back, or its removal is explained (R14). */
export function whereRemovable(stream: Stream): string {
  return `(${whereExplained(stream)} or not ${whereHeldBack(stream)})`;
}

/** The condition that the removal of row `t` is held back. */
export function whereHeldBack(stream: Stream): string {
  return `exists (select 1 from held_removals h where ${whereHolds(stream)})`;
}

/**
 * The condition that the removal of row `t` is explained (R14): a tombstone deleted its parent or an ancestor of it, or
 * `t` is an edge whose downstream end was returned with other edges.
 */
export function whereExplained(stream: Stream): string {
  const { replacedBy: end, key } = stream;
  const replaced =
    end === undefined
      ? []
      : [
          `t.${quote(end)} in (select s.key_${key.indexOf(end) + 1} from seen_keys s where ${whereStream(stream, 's')})`,
        ];
  const explained = [...parentsOf(stream).map((parent) => whereParentGone(parent, 't')), ...replaced];
  return explained.length === 0 ? 'false' : `(${explained.join(' or ')})`;
}

/** The condition that a tombstone deleted the parent of a row, or an ancestor of it. */
function whereParentGone({ by, table, parents = [] }: StreamParent, alias: string): string {
  const parent = `${alias}_parent`;
  const gone = [`${parent}.deletion = 'tombstone'`, ...parents.map((each) => whereParentGone(each, parent))];
  return `exists (select 1 from ${nameOf(table)} ${parent}
    where ${parent}.env_id = @env and ${parent}.id = ${alias}.${quote(by)} and (${gone.join(' or ')}))`;
}

/** The rejected rows `r` of this stream: `from … where …`. */
export function fromRejected(stream: Stream): string {
  return `from rejected_rows r where ${whereStream(stream, 'r')}`;
}

/** The condition that a rejected row has a usable key; without one, its payload is the key. */
export const WHERE_HAS_KEY = '(r.row_key <> r.payload)';
