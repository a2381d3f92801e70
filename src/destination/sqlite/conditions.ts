import type { SQLiteTable } from 'drizzle-orm/sqlite-core';
import type { Stream } from '../../core/stream.ts';
import { quote, shapeOf } from './shape.ts';

/** A condition on rows `t`, and its values. */
export interface Where {
  readonly sql: string;
  readonly values: readonly unknown[];
}

export function tableOf(stream: Stream): string {
  return quote(shapeOf(stream.table as SQLiteTable).name);
}

/** The condition that a row `t` counts as live for this stream. */
export function live(stream: Stream): string {
  const soft = shapeOf(stream.table as SQLiteTable).columns.includes('deleted_at') ? 't.deleted_at is null' : 'true';
  return stream.within === undefined ? soft : `${soft} and t.${quote(stream.within.field)} = '${stream.within.is}'`;
}

/** The condition that no read of the round has seen row `t`. */
export function unseen(stream: Stream): string {
  const keys = stream.key.map((name, i) => `s.key_${i + 1} = t.${quote(name)}`).join(' and ');
  return `not exists (select 1 from seen_keys s where s.env_id = t.env_id and s.stream = '${stream.name}' and ${keys})`;
}

/** Marks `m` of this stream whose row `t` lives; to be bound: the environment and the stream. */
export function markedRows(stream: Stream): string {
  const leader = quote(shapeOf(stream.leader as SQLiteTable).name);
  const within = stream.within === undefined ? '' : ` and t.${quote(stream.within.field)} = '${stream.within.is}'`;
  return `from marks m join ${leader} t on t.env_id = m.env_id and t.id = m.id
    where m.env_id = ? and m.stream = ? and t.deleted_at is null${within}`;
}

/** The condition that `h`, a row of `held_removals`, speaks of row `t`. */
export function holds(stream: Stream): string {
  const keys = stream.key.map((name, i) => `h.key_${i + 1} = t.${quote(name)}`).join(' and ');
  return `h.env_id = t.env_id and h.stream = '${stream.name}' and ${keys}`;
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
  const owners = stream.owners.map(({ by, table }) => {
    const name = quote(shapeOf(table as SQLiteTable).name);
    return `exists (select 1 from ${name} o where o.env_id = t.env_id and o.id = t.${quote(by)} and o.deletion = 'tombstone')`;
  });
  return owners.length === 0 ? 'false' : `(${owners.join(' or ')})`;
}
