import type { Database } from 'better-sqlite3';
import type { SQLiteTable } from 'drizzle-orm/sqlite-core';
import { joinKey } from '../../core/decode.ts';
import type { Destination, DueTest, Facts, Owed } from '../../core/destination.ts';
import type { Instant } from '../../core/instant.ts';
import type { Row, Stream } from '../../core/stream.ts';
import { holds, live, markedRows, tableOf, unseen } from './conditions.ts';
import { statements } from './prepared.ts';
import { list, quote, shapeOf } from './shape.ts';

/** Ids looked up at once: no request holds more (`MAX_IDS` of the chunks). */
const OWED_IDS = 1000;

type Ask = Parameters<Destination['owed']>[1];

/** What a round depends on, and what it still owes: reads of one environment's part of the mirror. */
export function lookups(connection: Database, envId: string) {
  const prepare = statements(connection);
  const one = <T>(sql: string, ...values: unknown[]): T => prepare(sql).get(...values) as T;
  const ids = (sql: string, ...values: unknown[]): string[] =>
    prepare(sql)
      .pluck()
      .all(...values) as string[];

  return {
    held(stream: Stream, keys: readonly (readonly string[])[]): Map<string, Row> {
      const shape = shapeOf(stream.table as SQLiteTable);
      const columns = shape.columns.filter((name) => name !== 'env_id' && name !== 'mirrored_at');
      const key = quote(stream.key[0] as string);
      const sql = `select ${list(columns)} from ${quote(shape.name)} where env_id = ? and ${key} in (select value from json_each(?))`;
      const rows = prepare(sql).all(envId, JSON.stringify(keys.map((key) => key[0]))) as Row[];
      return new Map(rows.map((row) => [joinKey(stream.key.map((name) => String(row[name]))), row]));
    },

    rows(stream: Stream): number {
      const { n } = one<{ n: number }>(
        `select count(*) n from ${tableOf(stream)} t where t.env_id = ? and ${live(stream)}`,
        envId,
      );
      return n;
    },

    marks(stream: Stream, since: Instant | null): Facts['marks'] {
      if (stream.leader === undefined) return { inside: 0, outside: 0 };
      return one(
        `select coalesce(sum(coalesce(t.synced_at, '') >= ?), 0) inside, coalesce(sum(coalesce(t.synced_at, '') < ?), 0) outside ${markedRows(stream)}`,
        since ?? '',
        since ?? '',
        envId,
        stream.name,
      );
    },

    owed(stream: Stream, { about, after, lastMark, before }: Ask): Owed {
      const table = tableOf(stream);
      if (about === 'candidates') {
        const sql = `select id from ${table} t where env_id = ? and id > ? and ${live(stream)} and ${unseen(stream)} order by id limit ${OWED_IDS}`;
        return { ids: ids(sql, envId, after), total: 0 };
      }
      if (about === 'owned') return { ids: ids(ownedSql(stream), envId, stream.name, lastMark, after), total: 0 };
      const of = `${markedRows(stream)} and m.number <= ? and m.id > ? and coalesce(t.synced_at, '') < ?`;
      const values = [envId, stream.name, lastMark, after, before ?? LATEST];
      return {
        ids: ids(`select m.id ${of} order by m.id limit ${OWED_IDS}`, ...values),
        total: one<{ n: number }>(`select count(*) n ${of}`, ...values).n,
      };
    },

    dueTest(after: string): DueTest | null {
      const due = prepare(DUE_TEST).get(envId, after) as DueTest | undefined;
      return due ?? null;
    },

    heldBack(stream: Stream): number {
      const sql = `select count(*) n from held_removals h join ${tableOf(stream)} t on ${holds(stream)}
        where h.env_id = ? and ${live(stream)}`;
      return one<{ n: number }>(sql, envId).n;
    },
  };
}

/** A test with news is one never read, or with a latest execution that changed since (R22). */
const DUE_TEST = `
  select t.id, r.read_at readAt, (select mirrored_at from mirror) mirroredAt,
    (select min(e.start_time) from test_executions e where e.env_id = t.env_id and e.test_id = t.id) knownFrom
  from tests t left join test_readings r on r.env_id = t.env_id and r.test_id = t.id
  where t.env_id = ? and t.deleted_at is null and t.id > ? and (r.test_id is null or exists (
    select 1 from latest_test_executions l where l.env_id = t.env_id and l.test_id = t.id and l.mirrored_at > r.mirrored_at))
  order by t.id limit 1`;

const LATEST = '9999';

/** Marked owners that live, or of whose rows one lives: of any other there is nothing to ask. */
function ownedSql(stream: Stream): string {
  const [owner] = stream.owners;
  if (owner === undefined) throw new Error(`${stream.name} has no owner`);
  const owners = quote(shapeOf(owner.table as SQLiteTable).name);
  return `select m.id from marks m where m.env_id = ? and m.stream = ? and m.number <= ? and m.id > ? and (
      exists (select 1 from ${owners} o where o.env_id = m.env_id and o.id = m.id and o.deleted_at is null)
      or exists (select 1 from ${tableOf(stream)} t where t.env_id = m.env_id and t.${quote(owner.by)} = m.id and ${live(stream)}))
    order by m.id limit ${OWED_IDS}`;
}
