import { afterAll, onTestFinished } from 'vitest';
import { withoutNulEscapes } from '../../../src/core/json.ts';
import type { Destination } from '../../../src/core/ports/destination.ts';
import type { Row } from '../../../src/core/stream.ts';
import { createPostgresDestination } from '../../../src/destination/postgres/destination.ts';
import { migratePostgres } from '../../../src/destination/postgres/migrations.ts';
import type { ListConnection } from '../../../src/destination/postgres/open-connection.ts';
import { openPool } from '../../../src/destination/postgres/pool.ts';
import type { PostgresConnection, PostgresDatabase } from '../../../src/destination/postgres/transaction.ts';
import { list } from '../../../src/destination/sql/tables.ts';
import { START } from '../../support/conformance/workbench.ts';
import { pgliteConnection } from '../../support/pglite-mirror.ts';
import { type TestSchema, testSchema } from '../../support/postgres.ts';

/** A mirror on a real server, until the test ends. */
export async function migratedMirror(): Promise<{ place: TestSchema; database: PostgresDatabase }> {
  const place = await testSchema();
  onTestFinished(() => place.drop());
  const database = openedAt(place.serverUrl, place);
  await database.session((connection) => migratePostgres(connection, place.schema));
  return { place, database };
}

/** The same mirror through this address of its server. */
export function openedAt(connectionString: string, { schema }: TestSchema): PostgresDatabase {
  const database = openPool({ client: { connectionString }, schema, maxConnections: 4 });
  onTestFinished(() => database.close());
  return database;
}

/** A mirror on a PostgreSQL in this process, until the tests of the file have ended. */
export async function pgliteMirror(schema: string): Promise<ListConnection> {
  const server = await pgliteConnection();
  afterAll(() => server.close());
  await migratePostgres(server, schema);
  return server;
}

/** Inserts a row as PostgreSQL can store it (R19). */
export async function insertRow(connection: PostgresConnection, table: string, row: Row): Promise<void> {
  const names = Object.keys(row);
  await connection.query(
    `insert into ${table} (${list(names)}) values (${names.map((_, i) => `$${i + 1}`)})`,
    Object.values(row).map((value) => (typeof value === 'string' ? withoutNulEscapes(value) : value)),
  );
}

export function destinationOf(
  database: PostgresDatabase,
  options: Partial<Parameters<typeof createPostgresDestination>[1]> = {},
): Destination {
  const waiting = { sleep: async () => undefined, random: () => 0 };
  const fixed = { envId: 'e', run: 1, clock: () => START, lease: null, errorOf: (error: unknown) => error };
  return createPostgresDestination(database, { ...waiting, ...fixed, ...options });
}
