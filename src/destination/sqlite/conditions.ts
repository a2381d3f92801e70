import type { Stream } from '../../core/stream.ts';
import type { Values } from './part.ts';
import { nameOf, quote, shapeOf } from './shape.ts';

/** A condition on rows `t`, and the values it names. */
export interface Where {
  readonly sql: string;
  readonly values?: Values;
}

export function tableOf(stream: Stream): string {
  return nameOf(stream.table);
}

/** The first part of the key, quoted. */
export function firstKey(stream: Stream): string {
  return quote(stream.key[0] as string);
}

/** The condition that a row of the mirror's own tables is this stream's. */
export function isOf(stream: Stream, alias: string): string {
  return `${alias}.env_id = @env and ${alias}.stream = '${stream.name}'`;
}

/** The condition that a row `t` counts as live for this stream. */
export function live(stream: Stream): string {
  const soft = shapeOf(stream.table).columns.includes('deleted_at') ? 't.deleted_at is null' : 'true';
  return `${soft}${isWithin(stream)}`;
}

/** For a stream that fills rows of one kind: that row `t` is of it. */
function isWithin({ within }: Stream, indexed: '' | '+' = ''): string {
  return within === undefined ? '' : ` and ${indexed}t.${quote(within.field)} = '${within.is}'`;
}

/** The condition that no read of the round has seen row `t`; with a number, none from `@sinceRead` on. */
export function unseen(stream: Stream, since: 'ever' | '@sinceRead' = 'ever'): string {
  const read = since === 'ever' ? '' : ` and s.read_number >= ${since}`;
  return `not exists (select 1 from seen_keys s where ${isOf(stream, 's')} and ${isKeyOf(stream, 's')}${read})`;
}

/** The condition that a row of the mirror's own tables speaks of row `t`. */
function isKeyOf(stream: Stream, alias: string): string {
  return stream.key.map((name, i) => `${alias}.key_${i + 1} = t.${quote(name)}`).join(' and ');
}

/** Marks `m` of this stream whose row `t` lives; `+` keeps the lookup to the key, whatever index there is by the kind. */
export function markedRows(stream: Stream): string {
  return `from marks m cross join ${nameOf(stream.leader)} t on t.env_id = m.env_id and t.id = m.id
    where ${isOf(stream, 'm')} and t.deleted_at is null${isWithin(stream, '+')}`;
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

/** The condition that an owner of row `t` went by tombstone: its removal is explained (R14). */
export function exempt(stream: Stream): string {
  const owners = stream.owners.map(
    ({ by, table }) =>
      `exists (select 1 from ${nameOf(table)} o where o.env_id = t.env_id and o.id = t.${quote(by)} and o.deletion = 'tombstone')`,
  );
  return owners.length === 0 ? 'false' : `(${owners.join(' or ')})`;
}
