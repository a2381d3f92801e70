import { Client, type QueryConfig } from 'pg';
import type { Row } from '../../../src/core/stream.ts';
import { socketOf } from '../../../src/destination/postgres/driver-internals.ts';
import { PIPELINE } from '../../../src/destination/postgres/open-client.ts';
import type { ListConnection } from '../../../src/destination/postgres/open-connection.ts';
import { SQLITE_TYPES } from '../../../src/destination/postgres/values.ts';
import type { CopiedRow } from '../../../src/destination/sql/copied-tables.ts';

/** The server keeps the plan of each prepared statement in memory. */
const MAX_PREPARED = 1000;

/** A connection to a real server, which parses and plans each statement with values only once. */
export async function preparingConnection(url: string): Promise<ListConnection> {
  const client = new Client({ ...PIPELINE, connectionString: url, types: SQLITE_TYPES });
  await client.connect();
  const names = new Map<string, string>();
  const named = (text: string): Pick<QueryConfig, 'name'> => {
    if (!names.has(text) && names.size < MAX_PREPARED) names.set(text, `s${names.size}`);
    const name = names.get(text);
    return name === undefined ? {} : { name };
  };
  /** Statements sent at the same time go out in one system call. */
  const cork = (): void => {
    const socket = socketOf(client);
    socket.cork();
    process.nextTick(() => socket.uncork());
  };
  return {
    async query(text, values) {
      cork();
      const asked = values === undefined ? { text } : { ...named(text), text, values: [...values] };
      // Several statements return a list of results, which the driver's types don't cover.
      const [last] = [await client.query<Row>(asked)].flat().slice(-1);
      return { rows: last?.rows ?? [], changes: last?.rowCount ?? 0 };
    },
    list: async (text, values = []) =>
      (await client.query<string[]>({ ...named(text), text, values: [...values], rowMode: 'array' }))
        .rows as CopiedRow[],
    close: () => client.end(),
  };
}
