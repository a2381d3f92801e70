import type { Database } from 'better-sqlite3';
import type { SQLiteTable } from 'drizzle-orm/sqlite-core';
import type { Counts } from '../../core/destination.ts';
import type { Stream } from '../../core/stream.ts';
import { exempt, holds, mayGo, tableOf, unseen, type Where } from './conditions.ts';
import { differs, list, matches, quote, shapeOf } from './shape.ts';
import type { Writer } from './write-changes.ts';

/** How what was gathered takes its place: of the whole table, or of the marked columns' edges up to `lastMark` (R18). */
interface Replacement {
  readonly how: 'all' | 'marked';
  readonly lastMark: number;
  readonly hold: boolean;
  /** T of the read, kept with what is held back. */
  readonly at: string;
}

/** A table with the one it was gathered in. */
interface Pair {
  readonly table: SQLiteTable;
  readonly staged: SQLiteTable;
}

/** Puts snapshots and lineage in place of what was there: only rows that differ are written (R16). */
export function replaceGathered(connection: Database, envId: string, write: Writer) {
  /** Rows that are to go: of those in scope, the ones not gathered. A rejected row was seen and stays (R12). */
  function going(stream: Stream, how: Replacement['how'], lastMark: number): Where {
    const gathered = `exists (select 1 from ${stagedOf(stream)} s where ${matches('s', 't', ['env_id', ...stream.key])})`;
    const scope = scopeOf(stream, 't', { how, lastMark });
    return { sql: `not ${gathered} and ${unseen(stream)} and ${scope.sql}`, values: scope.values };
  }

  /** The columns whose edges will differ move along: their `mirrored_at` says so (R21). */
  function touchLeaders(stream: Stream, { sql, values }: Where): void {
    if (stream.leader === undefined) return;
    write.run(
      `update ${quote(shapeOf(stream.leader as SQLiteTable).name)} set mirrored_at = (select mirrored_at from mirror)
        where env_id = ? and deleted_at is null and id in (${sql})`,
      envId,
      ...values,
    );
  }

  /** Removes rows of the table. */
  function drop(stream: Stream, { sql, values }: Where): number {
    const rows = `${tableOf(stream)} as t where t.env_id = ? and ${sql}`;
    const by = `t.${quote(stream.key[0] as string)}`;
    touchLeaders(stream, { sql: `select ${by} from ${rows}`, values: [envId, ...values] });
    return write.run(`delete from ${rows}`, envId, ...values);
  }

  /** Whether this is the first that is gathered: nothing is replaced then. */
  function isFirst(stream: Stream, how: Replacement['how']): boolean {
    const any = connection.prepare(`select 1 from ${tableOf(stream)} where env_id = ? limit 1`).get(envId);
    return how === 'all' && any === undefined;
  }

  /** The gathered rows that are new or differ; `from … where …`, the gathered ones as `s`. */
  function arriving(
    stream: Stream,
    { table, staged }: Pair,
    replacement: Pick<Replacement, 'how' | 'lastMark'>,
  ): Where {
    const { name, key, content } = shapeOf(table);
    const copy = quote(shapeOf(staged).name);
    const scope = scopeOf(stream, 's', replacement);
    const lives = stream.leader === undefined ? '' : `and ${leaderLives(stream)}`;
    return {
      sql: `from ${copy} s left join ${quote(name)} t on ${matches('t', 's', key)}
        where s.env_id = ? and s.read_number = (select max(r.read_number) from ${copy} r where ${matches('r', 's', key)})
        and (t.${quote(key[1] as string)} is null or ${differs('t', 's', content)}) and ${scope.sql} ${lives}`,
      values: [envId, ...scope.values],
    };
  }

  function put(stream: Stream, pair: Pair, replacement: Replacement): number {
    const { name, columns, key } = shapeOf(pair.table);
    const come = arriving(stream, pair, replacement);
    const others = columns.filter((column) => !key.includes(column));
    const values = columns.map((column) =>
      column === 'mirrored_at' ? '(select mirrored_at from mirror)' : `s.${quote(column)}`,
    );
    return write.run(
      `insert into ${quote(name)} (${list(columns)}) select ${values.join(', ')} ${come.sql}
        on conflict (${list(key)}) do update set ${others.map((column) => `${quote(column)} = excluded.${quote(column)}`).join(', ')}`,
      ...come.values,
    );
  }

  function dropParts(stream: Stream): void {
    for (const part of stream.parts ?? []) {
      const { name, key } = shapeOf(part.table as SQLiteTable);
      const copy = quote(shapeOf(part.staged as SQLiteTable).name);
      write.run(
        `delete from ${quote(name)} as t where t.env_id = ? and ${unseen(stream)}
          and not exists (select 1 from ${copy} s where ${matches('s', 't', key)})`,
        envId,
      );
    }
  }

  /** What a read showed again is held back no more, nor what is no longer there (R14). */
  function forgetHeld(stream: Stream, gone: Where, replacement: Replacement): void {
    const scope = scopeOf(stream, 't', replacement);
    write.run(
      `delete from held_removals as h where h.env_id = ? and h.stream = '${stream.name}' and not exists (
        select 1 from ${tableOf(stream)} t where ${holds(stream)} and (not (${scope.sql}) or (${gone.sql})))`,
      envId,
      ...scope.values,
      ...gone.values,
    );
  }

  return {
    going,
    drop,

    replace(
      stream: Stream,
      replacement: Replacement,
      holdBack: (stream: Stream, where: Where, at: string) => void,
    ): Pick<Counts, 'written' | 'deleted'> {
      const { how, lastMark, hold, at } = replacement;
      const gone = going(stream, how, lastMark);
      if (hold) holdBack(stream, { ...gone, sql: `${gone.sql} and not ${exempt(stream)}` }, at);
      if (!isFirst(stream, how)) {
        const come = arriving(stream, pairOf(stream), replacement);
        touchLeaders(stream, { ...come, sql: `select s.${quote(stream.key[0] as string)} ${come.sql}` });
      }
      const deleted = drop(stream, { ...gone, sql: `${gone.sql} and ${mayGo(stream)}` });
      dropParts(stream);
      const pairs = [pairOf(stream), ...(stream.parts ?? []).map((part) => part as Pair)];
      const written = pairs.reduce((sum, pair) => sum + put(stream, pair, replacement), 0);
      forgetHeld(stream, gone, replacement);
      return { written, deleted };
    },
  };
}

function pairOf(stream: Stream): Pair {
  return { table: stream.table as SQLiteTable, staged: stream.staged as SQLiteTable };
}

function stagedOf(stream: Stream): string {
  return quote(shapeOf(stream.staged as SQLiteTable).name);
}

/** Which rows a replacement may touch; every row, or those whose first key is marked. */
function scopeOf(stream: Stream, alias: string, { how, lastMark }: Pick<Replacement, 'how' | 'lastMark'>): Where {
  if (how === 'all') return { sql: 'true', values: [] };
  const by = `${alias}.${quote(stream.key[0] as string)}`;
  return {
    sql: `exists (select 1 from marks m where m.env_id = ${alias}.env_id and m.stream = '${stream.name}' and m.id = ${by} and m.number <= ?)`,
    values: [lastMark],
  };
}

/** Edges are kept only of columns held live (R18). */
function leaderLives(stream: Stream): string {
  const leader = quote(shapeOf(stream.leader as SQLiteTable).name);
  return `exists (select 1 from ${leader} l where l.env_id = s.env_id and l.id = s.${quote(stream.key[0] as string)} and l.deleted_at is null)`;
}
