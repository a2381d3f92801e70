import type { Database } from 'better-sqlite3';
import type { SQLiteTable } from 'drizzle-orm/sqlite-core';
import type { Counts, Settlement, Weight } from '../../core/destination.ts';
import { changeMarks } from '../../core/marks.ts';
import { absent } from '../../core/newest-wins.ts';
import type { Row, Stream, StreamName } from '../../core/stream.ts';
import { exempt, holds, isHeldBack, live, mayGo, tableOf, unseen, type Where } from './conditions.ts';
import { statements } from './prepared.ts';
import { replaceGathered } from './replace-gathered.ts';
import { list, quote, shapeOf } from './shape.ts';
import type { Writer } from './write-changes.ts';

/** Rows turned into removals at once: what a sweep holds in memory. */
const SWEPT_ROWS = 2000;

type Removed = Pick<Counts, 'written' | 'deleted'>;

/** The ends of rounds: sweeps, what was gathered put in place, removals held back and let go. */
export function settling(connection: Database, envId: string, write: Writer) {
  const prepare = statements(connection);
  const count = ({ sql, values }: Where, table: string): number =>
    prepare(`select count(*) from ${table} t where t.env_id = ? and ${sql}`)
      .pluck()
      .get(envId, ...values) as number;

  /** Marks the live rows of a condition as absent, a batch at a time. */
  function remove(stream: Stream, where: Where, at: string, marking: ReadonlySet<StreamName>): Removed {
    const columns = shapeOf(stream.table as SQLiteTable).columns.filter(
      (name) => name !== 'env_id' && name !== 'mirrored_at',
    );
    const select = prepare(
      `select ${list(columns, 't.')} from ${tableOf(stream)} t
        where t.env_id = ? and t.id > ? and ${live(stream)} and ${where.sql} order by t.id limit ${SWEPT_ROWS}`,
    );
    let deleted = 0;
    for (let after = ''; ; ) {
      const rows = select.all(envId, after, ...where.values) as Row[];
      const changes = rows.map((row) => absent(row, at));
      write.changes(stream, changes);
      write.marks(
        changes.flatMap((change) => changeMarks(stream, change, null)),
        marking,
      );
      deleted += rows.length;
      if (rows.length < SWEPT_ROWS) return { written: 0, deleted };
      after = String(rows.at(-1)?.['id']);
    }
  }

  function sweep(
    stream: Stream,
    swept: NonNullable<Settlement['sweep']>,
    hold: boolean,
    marking: ReadonlySet<StreamName>,
  ): Removed {
    const gone = sweptRows(stream, swept);
    if (hold) holdBack(stream, { ...gone, sql: `${gone.sql} and ${live(stream)} and not ${exempt(stream)}` }, swept.at);
    const removed = remove(stream, { ...gone, sql: `${gone.sql} and ${mayGo(stream)}` }, swept.at, marking);
    write.run(
      `delete from held_removals as h where h.env_id = ? and h.stream = ? and not exists (
        select 1 from ${tableOf(stream)} t where ${holds(stream)} and ${live(stream)} and ${unseen(stream)})`,
      envId,
      stream.name,
    );
    return removed;
  }

  /** Remembers rows whose removal waits (R14). */
  function holdBack(stream: Stream, { sql, values }: Where, at: string): void {
    const second = stream.key[1] === undefined ? "''" : `t.${quote(stream.key[1])}`;
    write.run(
      `insert into held_removals (env_id, stream, key_1, key_2, absent_at)
        select t.env_id, '${stream.name}', t.${quote(stream.key[0] as string)}, ${second}, ? from ${tableOf(stream)} t
        where t.env_id = ? and ${sql} on conflict do update set absent_at = excluded.absent_at`,
      at,
      envId,
      ...values,
    );
  }

  const replace = replaceGathered(connection, envId, write);

  return {
    remove,

    weigh(stream: Stream, { sweep: swept, replace: how, lastMark }: Settlement): Weight {
      const table = tableOf(stream);
      // What is held back stays so, and weighs no more, until it is shown again or let go.
      const counted = `${live(stream)} and not ${exempt(stream)} and not ${isHeldBack(stream)}`;
      const going =
        swept !== null ? sweptRows(stream, swept) : how !== null ? replace.going(stream, how, lastMark) : null;
      if (going === null) return { live: 0, going: 0 };
      const leaving = count({ ...going, sql: `${going.sql} and ${counted}` }, table);
      return { live: leaving === 0 ? 0 : count({ sql: counted, values: [] }, table), going: leaving };
    },

    settle(
      stream: Stream,
      settlement: Settlement & { hold: boolean; at: string },
      marking: ReadonlySet<StreamName>,
    ): Removed {
      const { sweep: swept, replace: how, lastMark, hold, at } = settlement;
      const removed = swept === null ? { written: 0, deleted: 0 } : sweep(stream, swept, hold, marking);
      const replaced = how === null ? removed : replace.replace(stream, { how, lastMark, hold, at }, holdBack);
      write.run('delete from marks where env_id = ? and stream = ? and number <= ?', envId, stream.name, lastMark);
      return replaced;
    },

    /** Lets go what was held back, without a new read (R14). */
    release(stream: Stream, marking: ReadonlySet<StreamName>): Removed {
      const at = prepare('select max(absent_at) from held_removals where env_id = ? and stream = ?')
        .pluck()
        .get(envId, stream.name);
      const where = { sql: isHeldBack(stream), values: [] };
      const removed =
        stream.method === 'feed'
          ? remove(stream, where, String(at), marking)
          : { written: 0, deleted: replace.drop(stream, where) };
      write.run('delete from held_removals where env_id = ? and stream = ?', envId, stream.name);
      return removed;
    },
  };
}

/** Live rows the scan did not see, as far as they may go (R12). */
function sweptRows(stream: Stream, { through }: NonNullable<Settlement['sweep']>): Where {
  return through === null
    ? { sql: unseen(stream), values: [] }
    : { sql: `${unseen(stream)} and t.id <= ?`, values: [through] };
}
