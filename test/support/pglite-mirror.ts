import { PGlite } from '@electric-sql/pglite';
import type { Row } from '../../src/core/stream.ts';
import type { ListConnection } from '../../src/destination/postgres/open-connection.ts';

import {
  inTransaction,
  type PostgresConnection,
  type PostgresDatabase,
} from '../../src/destination/postgres/transaction.ts';
import { PARSERS } from '../../src/destination/postgres/values.ts';
import type { CopiedRow } from '../../src/destination/sql/copied-tables.ts';

/** The data of a new server, for the next ones of this worker: creating it takes five times as long as loading it. */
let newData: Blob | undefined;

/** PostgreSQL in this process. Close it at the end. */
export async function pgliteConnection(): Promise<ListConnection> {
  const known = newData && { loadDataDir: newData };
  const server = await PGlite.create({ parsers: { ...PARSERS }, serializers: AS_GIVEN, ...known });
  newData ??= await server.dumpDataDir('none');
  return {
    async query(text, values) {
      const [last] =
        values === undefined ? (await server.exec(text)).slice(-1) : [await server.query(text, [...values])];
      return { rows: (last?.rows ?? []) as Row[], changes: last?.affectedRows ?? 0 };
    },
    list: async (text, values = []) =>
      (await server.query<CopiedRow>(text, [...values], { rowMode: 'array' })).rows as CopiedRow[],
    close: () => server.close(),
  };
}

/** The driver `pg` sends values as text. By type number; 16 is boolean. */
const AS_GIVEN = { 16: String };

/** A schema on one connection, which runs one transaction at a time. */
export function pgliteDatabase(connection: PostgresConnection, schema: string): PostgresDatabase {
  let last: Promise<unknown> = Promise.resolve();
  return {
    transaction(work, use) {
      const next = last.then(() => inTransaction(connection, { schema, use }, work));
      last = next.catch(() => undefined);
      return next;
    },
    session: (work) => work(connection),
    close: async () => undefined,
  };
}
