import type { Database } from 'better-sqlite3';
import type { SQLiteTable } from 'drizzle-orm/sqlite-core';
import { marks as marksTable, mirror } from '../../../schema/sync.ts';
import type { Mark } from '../../core/marks.ts';
import type { Change } from '../../core/newest-wins.ts';
import type { Row, Stream, StreamName } from '../../core/stream.ts';
import { type BulkUpsert, bulkUpsert, type Conflict } from './bulk-upsert.ts';
import { statements } from './prepared.ts';
import { quote, shapeOf } from './shape.ts';

/** Writes into one environment's part of a mirror; to be called within a transaction. */
export interface Writer {
  /** @returns how many rows were inserted or changed */
  rows(table: SQLiteTable, conflict: Conflict, rows: readonly Row[], added?: Row): number;
  /** Rows of a stream's own table, and what goes along with those that went (R18). */
  changes(stream: Stream, changes: readonly Change[]): { written: number; deleted: number };
  marks(marks: readonly Mark[], marking: ReadonlySet<StreamName>): void;
  run(sql: string, ...values: unknown[]): number;
}

/** `mirroredAt` is the time of the commit under way (R21). */
export function writer(connection: Database, envId: string, mirroredAt: () => string): Writer {
  const prepare = statements(connection);
  const upserts = new Map<string, BulkUpsert>();
  const run = (sql: string, ...values: unknown[]): number => prepare(sql).run(...values).changes;

  const rows: Writer['rows'] = (table, conflict, given, added = {}) => {
    if (given.length === 0) return 0;
    const name = `${conflict} ${shapeOf(table).name}`;
    const upsert = upserts.get(name) ?? bulkUpsert(connection, table, conflict);
    upserts.set(name, upsert);
    return upsert.write(given, { env_id: envId, mirrored_at: mirroredAt(), ...added });
  };

  return {
    rows,
    run,
    changes(stream, changes) {
      rows(
        stream.table as SQLiteTable,
        'replace',
        changes.map((change) => change.row),
      );
      const gone = changes.filter((change) => change.was === 'deleted');
      if (stream.takes !== undefined && gone.length > 0) {
        const taken = quote(shapeOf(stream.takes.table as SQLiteTable).name);
        const keys = JSON.stringify(gone.map((change) => change.row['id']));
        run(
          `delete from ${taken} where env_id = ? and ${quote(stream.takes.by)} in (select value from json_each(?))`,
          envId,
          keys,
        );
      }
      return { written: changes.length - gone.length, deleted: gone.length };
    },
    marks(marks, marking) {
      const wanted = marks.filter((mark) => marking.has(mark.stream));
      if (wanted.length === 0) return;
      const last = prepare('select last_mark from mirror').pluck().get() as number;
      rows(
        marksTable,
        'replace',
        wanted.map((mark, i) => ({ ...mark, number: last + i + 1 })),
      );
      run(`update ${quote(shapeOf(mirror).name)} set last_mark = ?`, last + wanted.length);
    },
  };
}
