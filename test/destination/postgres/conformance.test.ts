import { afterAll, beforeAll } from 'vitest';
import { SyncError } from '../../../src/core/errors.ts';
import { createPostgresDestination } from '../../../src/destination/postgres/destination.ts';
import { migrate } from '../../../src/destination/postgres/migrations.ts';
import { postgresState } from '../../../src/destination/postgres/state.ts';
import { CATALOGUE } from '../../../src/streams/catalogue.ts';
import { BASE_URL } from '../../support/conformance/workbench.ts';
import { describeDestination } from '../../support/conformance.ts';
import { pgliteConnection, pgliteDatabase } from '../../support/pglite-mirror.ts';

let server: Awaited<ReturnType<typeof pgliteConnection>>;
beforeAll(async () => {
  server = await pgliteConnection();
});
afterAll(() => server.close());

let mirrors = 0;

describeDestination('PostgreSQL', async (clock) => {
  mirrors += 1;
  const schema = `mirror_${mirrors}`;
  await migrate(server, schema);
  const database = pgliteDatabase(server, schema);
  const waiting = { sleep: async () => undefined, random: () => 0 };
  const errorOf = (cause: unknown) => new SyncError('run', String(cause), { cause });
  const state = postgresState(database, { ...waiting, name: schema, clock, envIds: () => [] });
  await state.claimMirror(BASE_URL);
  const rowsOf = async (sql: string, values: readonly unknown[] = []) =>
    (await database.transaction((connection) => connection.query(sql, values))).rows;
  const run = (sql: string) => database.transaction((connection) => connection.query(sql));
  return {
    state,
    stream(name) {
      const found = CATALOGUE.find((entry) => entry.name === name);
      if (found === undefined) throw new Error(`no stream ${name}`);
      return found;
    },
    destination: (envId, run) =>
      createPostgresDestination(database, { ...waiting, envId, run, clock, lease: null, errorOf }),
    rows: async (table, envId) => [...(await rowsOf(`select * from ${table} where env_id = $1`, [envId]))],
    runs: async () => [...(await rowsOf('select * from sync_runs order by id'))],
    async breakTable(table) {
      await run(`create or replace function broken() returns trigger language plpgsql as
        $$ begin raise exception 'broken'; end $$`);
      await run(
        `create trigger broken before insert or update or delete on ${table} for each row execute function broken()`,
      );
      return async () => void (await run(`drop trigger broken on ${table}`));
    },
    close: async () => void (await server.query(`drop schema ${schema} cascade`)),
  };
});
