import { afterAll, beforeAll } from 'vitest';
import { migratePostgres } from '../../../src/destination/postgres/migrations.ts';
import { describeDestination } from '../../support/conformance.ts';
import { emptyMirror, mirrorIn } from '../../support/pglite-conformance.ts';
import { pgliteConnection } from '../../support/pglite-mirror.ts';

const SCHEMA = 'mirror';

let server: Awaited<ReturnType<typeof pgliteConnection>>;
beforeAll(async () => {
  server = await pgliteConnection();
  await migratePostgres(server, SCHEMA);
});
afterAll(() => server.close());

describeDestination('PostgreSQL', async (clock) => {
  await emptyMirror(server, SCHEMA);
  return mirrorIn(server, SCHEMA, { clock, close: async () => {} });
});
