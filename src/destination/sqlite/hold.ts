import type { Instant } from '../../core/instant.ts';
import type { Stream } from '../../core/stream.ts';
import { exempt, firstKey, holds, isOf, live, tableOf, type Where } from './conditions.ts';
import { type Part, run, value, type Writing } from './part.ts';
import { quote } from './shape.ts';

/** Remembers the rows of a condition as such whose removal waits, unless their owner explains it (R14). */
export function holdBack(writing: Writing, stream: Stream, { sql, values, at }: Where & { at: Instant }): void {
  const second = stream.key[1] === undefined ? "''" : `t.${quote(stream.key[1])}`;
  run(
    writing,
    `insert into held_removals (env_id, stream, key_1, key_2, absent_at)
      select t.env_id, '${stream.name}', t.${firstKey(stream)}, ${second}, @at from ${tableOf(stream)} t
      where t.env_id = @env and ${live(stream)} and ${sql} and not ${exempt(stream)}
      on conflict do update set absent_at = excluded.absent_at`,
    { ...values, at },
  );
}

/** Forgets every removal held back but those of the rows of a condition. */
export function holdOnly(writing: Writing, stream: Stream, { sql, values = {} }: Where): void {
  run(
    writing,
    `delete from held_removals as h where ${isOf(stream, 'h')}
      and not exists (select 1 from ${tableOf(stream)} t where ${holds(stream)} and ${live(stream)} and ${sql})`,
    values,
  );
}

/** Removals held back at present. */
export function heldBack(part: Part, stream: Stream): number {
  const sql = `select count(*) from held_removals h cross join ${tableOf(stream)} t on ${holds(stream)}
    where ${isOf(stream, 'h')} and ${live(stream)}`;
  return value(part, sql) as number;
}
