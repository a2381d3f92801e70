import type { Instant } from '../../core/instant.ts';
import type { Stream } from '../../core/stream.ts';
import { exempt, firstKey, holds, isOf, live, type SqlCondition, tableOf } from './conditions.ts';
import { type CommitScope, type MirrorScope, run, value } from './mirror-scope.ts';
import { quote } from './table-sql.ts';

/** Remembers the rows of a condition as such whose removal waits, unless their owner explains it (R14). */
export function holdBack(
  commitScope: CommitScope,
  stream: Stream,
  { sql, values, at }: SqlCondition & { at: Instant },
): void {
  const second = stream.key[1] === undefined ? "''" : `t.${quote(stream.key[1])}`;
  run(
    commitScope,
    `insert into held_removals (env_id, stream, key_1, key_2, absent_at)
      select t.env_id, '${stream.name}', t.${firstKey(stream)}, ${second}, @at from ${tableOf(stream)} t
      where t.env_id = @env and ${live(stream)} and ${sql} and not ${exempt(stream)}
      on conflict do update set absent_at = excluded.absent_at`,
    { ...values, at },
  );
}

/** Forgets every removal held back but those of the rows of a condition. */
export function holdOnly(commitScope: CommitScope, stream: Stream, { sql, values = {} }: SqlCondition): void {
  run(
    commitScope,
    `delete from held_removals as h where ${isOf(stream, 'h')}
      and not exists (select 1 from ${tableOf(stream)} t where ${holds(stream)} and ${live(stream)} and ${sql})`,
    values,
  );
}

/** Removals held back at present. */
export function heldBack(mirrorScope: MirrorScope, stream: Stream): number {
  const sql = `select count(*) from held_removals h cross join ${tableOf(stream)} t on ${holds(stream)}
    where ${isOf(stream, 'h')} and ${live(stream)}`;
  return value(mirrorScope, sql) as number;
}
