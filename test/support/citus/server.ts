import { randomBytes } from 'node:crypto';
import { Client } from 'pg';
import { dropMirror } from '../../../src/api/drop-mirror.ts';
import { distributeTables } from '../../../src/destination/postgres/citus.ts';
import { migratePostgres } from '../../../src/destination/postgres/migrations.ts';
import { connectionOf } from '../../../src/destination/postgres/pool.ts';
import type { PostgresConnection } from '../../../src/destination/postgres/transaction.ts';
import { inTransaction } from '../../../src/destination/postgres/transaction.ts';
import { SQLITE_TYPES } from '../../../src/destination/postgres/values.ts';
import { pgliteConnection } from '../pglite-mirror.ts';
import { standInForCitus } from './stand-in.ts';
import { checkedFirst, type WatchedConnection } from './watched.ts';

const CLUSTER = process.env['OBSYNC_TEST_CITUS'] ?? '';

export const IS_STAND_IN = CLUSTER === '';

/** A distributed mirror in a schema of its own. `close` drops it. */
export interface DistributedMirror {
  readonly server: PostgresConnection;
  readonly schema: string;
  close(): Promise<void>;
}

export async function distributedMirror(isStandIn = IS_STAND_IN): Promise<DistributedMirror> {
  const server = await citusServer(isStandIn);
  const schema = isStandIn ? 'obsync' : `obsync_test_${randomBytes(6).toString('hex')}`;
  await migratePostgres(server, schema);
  await distributeTables(server, schema);
  return {
    server,
    schema,
    async close() {
      if (!isStandIn) await dropInside(server, schema);
      await server.close();
    },
  };
}

export async function dropInside(server: PostgresConnection, schema: string): Promise<void> {
  await inTransaction(server, { schema: 'public' }, (inside) =>
    dropMirror(async (text, values) => ({ rows: [...(await inside.query(text, values)).rows] }), schema),
  );
}

/** The coordinator named by `OBSYNC_TEST_CITUS`, or a PostgreSQL in this process with the stand-in. Close it. */
async function citusServer(isStandIn: boolean): Promise<PostgresConnection & { close(): Promise<void> }> {
  if (isStandIn) {
    const server = await pgliteConnection();
    await standInForCitus(server);
    return server;
  }
  const client = new Client({ connectionString: CLUSTER, types: SQLITE_TYPES });
  await client.connect();
  // Few shards, so emptying all tables takes little time; and triggers, with which tests break tables.
  await client.query('set citus.shard_count to 4; set citus.enable_unsafe_triggers to on');
  return { ...connectionOf(client), close: () => client.end() };
}

/** Observes statements as `watched` does, but from the plans of Citus, which refuses by itself what it cannot run. */
export function watchedByCitus(server: PostgresConnection): WatchedConnection {
  return checkedFirst(server, async (text, values) => {
    const { rows } = await server.query(`explain (costs off) ${text}`, values);
    const plan = rows.map((row) => String(Object.values(row)[0])).join('\n');
    const tasks = [...plan.matchAll(/Task Count: (\d+)/g)].map(([, count]) => Number(count));
    return {
      ...{ text, refused: [], isMixed: false, partitions: Math.max(0, ...tasks) },
      needsOneEnvironment: /\bfor update\b|\brecursive\b/.test(text),
      isPulled: plan.includes('pull to coordinator'),
    };
  });
}
