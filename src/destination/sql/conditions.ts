import { parentsOf, type Stream, type StreamParent } from '../../core/stream.ts';
import type { SqlValues } from './statements.ts';
import { nameOf, quote, tableSqlOf } from './tables.ts';

/** A condition on rows `t`, and the values it names. */
export interface SqlCondition {
  readonly sql: string;
  readonly values?: SqlValues;
}

export function tableOf(stream: Stream): string {
  return nameOf(stream.table);
}

/** The first part of the key, quoted. */
export function firstKey(stream: Stream): string {
  return quote(stream.key[0]);
}

/** The condition that a row of the mirror's own tables is this stream's. */
export function isOf(stream: Stream, alias: string): string {
  return `${alias}.env_id = @env and ${alias}.stream = '${stream.name}'`;
}

/** The condition that a row `t` counts as live for this stream. */
export function live(stream: Stream): string {
  const soft = tableSqlOf(stream.table).columns.includes('deleted_at') ? 't.deleted_at is null' : 'true';
  return `${soft}${isWithin(stream)}`;
}

/** For a stream that fills rows of one kind: that row `t` is of it. */
function isWithin({ subtype }: Stream, unindexed: '' | " || ''" = ''): string {
  return subtype === undefined ? '' : ` and t.${quote(subtype.field)}${unindexed} = '${subtype.is}'`;
}

/**
 * The condition that a read of the round has seen row `t`, or one from `@sinceRead` on. Gathered rows are seen, too. Whoever asks has
 * called `loadSeenKeys`, and asks of few rows (else: `isMissing`).
 */
export function isSeenKey(stream: Stream, since: 'ever' | '@sinceRead' = 'ever'): string {
  const read = since === 'ever' ? '' : ` and s.read_number >= ${since}`;
  return `exists (select 1 from seen_keys s where ${isOf(stream, 's')} and ${isKeyOf(stream, 's')}${read})`;
}

/** The condition that a read of the round has seen a row with this first part of its key. */
export function isSeen(stream: Stream, id: string): string {
  return `exists (select 1 from seen_keys s where ${isOf(stream, 's')} and s.key_1 = ${id})`;
}

/** The condition that a row of the mirror's own tables speaks of row `t`. */
function isKeyOf(stream: Stream, alias: string): string {
  return stream.key.map((name, i) => `${alias}.key_${i + 1} = t.${quote(name)}`).join(' and ');
}

/**
 * Marks `m` of this stream whose row `t` lives, but those that the round of `@run` left; the concatenation keeps the lookup to the key, whatever
 * index there is by the kind.
 */
export function markedRows(stream: Stream): string {
  return `from marks m cross join ${nameOf(stream.parentTable?.table)} t
    where t.env_id = m.env_id and t.id = m.id and ${isOf(stream, 'm')} and ${isOwed('m')} and t.deleted_at is null${isWithin(stream, " || ''")}`;
}

/**
 * The condition that a mark is still to be paid by the round of `@run`: neither has it left it to a later run, nor has one of the
 * rounds that went on beside it while it waited (R9, R13, R18).
 */
export function isOwed(alias: string): string {
  return `coalesce(${alias}.left_by_run, 0) < @run`;
}

/** The condition that row `t` lacks a field without which the typed list would not show it (R22). */
export function isUnfilled({ writes = [], fields }: Stream): string {
  const required = writes.filter((name) => fields[name]?.required);
  return `(${required.map((name) => `t.${quote(name)} is null`).join(' or ')})`;
}

/** The condition that `h`, a row of `held_removals`, speaks of row `t`. */
export function holds(stream: Stream): string {
  return `h.env_id = t.env_id and h.stream = '${stream.name}' and ${isKeyOf(stream, 'h')}`;
}

/** The condition that a row `t` that goes may go at once: nothing holds it back, or its owner explains it (R14). */
export function mayGo(stream: Stream): string {
  return `(${exempt(stream)} or not ${isHeldBack(stream)})`;
}

/** The condition that the removal of row `t` is held back. */
export function isHeldBack(stream: Stream): string {
  return `exists (select 1 from held_removals h where ${holds(stream)})`;
}

/**
 * The condition that the removal of row `t` is explained (R14): what it belongs to went by tombstone, however far up, or it is an
 * edge whose downstream end is shown with others.
 */
export function exempt(stream: Stream): string {
  const { replacedBy: end, key } = stream;
  const replaced =
    end === undefined
      ? []
      : [`t.${quote(end)} in (select s.key_${key.indexOf(end) + 1} from seen_keys s where ${isOf(stream, 's')})`];
  const explained = [...parentsOf(stream).map((parent) => hasGone(parent, 't')), ...replaced];
  return explained.length === 0 ? 'false' : `(${explained.join(' or ')})`;
}

/** The condition that what a row belongs to went by tombstone, or what that belongs to. */
function hasGone({ by, table, parents = [] }: StreamParent, alias: string): string {
  const owner = `${alias}_owner`;
  const gone = [`${owner}.deletion = 'tombstone'`, ...parents.map((each) => hasGone(each, owner))];
  return `exists (select 1 from ${nameOf(table)} ${owner}
    where ${owner}.env_id = t.env_id and ${owner}.id = ${alias}.${quote(by)} and (${gone.join(' or ')}))`;
}
