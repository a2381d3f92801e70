import { PGlite } from '@electric-sql/pglite';
import type { Row } from '../../src/core/stream.ts';
import type { PostgresConnection } from '../../src/destination/postgres/connection.ts';

/** An instant as SQLite keeps it (R4). */
function instantOf(shown: string): string {
  const [, date, time, fraction = ''] = /^(\S+) (\d\d:\d\d:\d\d)(?:\.(\d+))?\+00$/.exec(shown) ?? [];
  return `${date}T${time}.${fraction.padEnd(6, '0')}Z`;
}

/** Gives values as SQLite does, by the number of their type: boolean, bigint, json, date and timestamptz. */
const AS_SQLITE = {
  16: (text: string) => Number(text === 't'),
  20: Number,
  114: String,
  1082: String,
  1184: instantOf,
};

/** PostgreSQL in this process. Close it at the end. */
export async function pgliteConnection(): Promise<PostgresConnection & { close(): Promise<void> }> {
  const server = await PGlite.create({ parsers: AS_SQLITE });
  return {
    async query(text, values = []) {
      const { rows, affectedRows = 0 } = await server.query<Row>(text, [...values]);
      return { rows, changes: affectedRows };
    },
    close: () => server.close(),
  };
}
