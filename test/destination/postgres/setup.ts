import { onTestFinished } from 'vitest';
import type { Destination } from '../../../src/core/ports/destination.ts';
import { createPostgresDestination } from '../../../src/destination/postgres/destination.ts';
import { migratePostgres } from '../../../src/destination/postgres/migrations.ts';
import { openPool } from '../../../src/destination/postgres/pool.ts';
import type { PostgresDatabase } from '../../../src/destination/postgres/transaction.ts';
import { START } from '../../support/conformance/workbench.ts';
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

export function destinationOf(
  database: PostgresDatabase,
  options: Partial<Parameters<typeof createPostgresDestination>[1]> = {},
): Destination {
  const waiting = { sleep: async () => undefined, random: () => 0 };
  const fixed = { envId: 'e', run: 1, clock: () => START, lease: null, errorOf: (error: unknown) => error };
  return createPostgresDestination(database, { ...waiting, ...fixed, ...options });
}
