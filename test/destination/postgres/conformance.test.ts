import { afterAll, beforeAll } from 'vitest';
import { migratePostgres } from '../../../src/destination/postgres/migrations.ts';
import { describeDestination } from '../../support/conformance.ts';
import { mirrorIn } from '../../support/pglite-conformance.ts';
import { pgliteConnection } from '../../support/pglite-mirror.ts';

let server: Awaited<ReturnType<typeof pgliteConnection>>;
beforeAll(async () => {
  server = await pgliteConnection();
});
afterAll(() => server.close());

let mirrors = 0;

describeDestination('PostgreSQL', async (clock) => {
  mirrors += 1;
  const schema = `mirror_${mirrors}`;
  await migratePostgres(server, schema);
  return mirrorIn(server, schema, {
    clock,
    close: async () => void (await server.query(`drop schema ${schema} cascade`)),
  });
});
