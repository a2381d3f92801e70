import { SyncError } from '../../src/core/errors.ts';
import type { Instant } from '../../src/core/time/instant.ts';
import { createPostgresDestination } from '../../src/destination/postgres/destination.ts';
import { postgresState } from '../../src/destination/postgres/state.ts';
import type { PostgresConnection } from '../../src/destination/postgres/transaction.ts';
import { BASE_URL, type MakeMirror } from './conformance/workbench.ts';
import { pgliteDatabase } from './pglite-mirror.ts';

/** Deletes all rows, because recreating the tables, or truncating them all, takes longer than a test. */
export async function emptyMirror(server: PostgresConnection, schema: string): Promise<void> {
  await server.query(`do $$ declare name text; begin
    for name in select relname from pg_class where relnamespace = '${schema}'::regnamespace and relkind in ('r', 'p')
      and not relispartition and relname not like '\\_\\_%' loop
      execute format('delete from ${schema}.%I', name);
    end loop;
    truncate ${schema}.sync_runs restart identity;
  end $$`);
}

/** A mirror for the conformance suite, in a schema that already has the tables. */
export async function mirrorIn(
  server: PostgresConnection,
  schema: string,
  { clock, close }: { clock: () => Instant; close: () => Promise<void> },
): Promise<Awaited<ReturnType<MakeMirror>>> {
  const database = pgliteDatabase(server, schema);
  const waiting = { sleep: async () => undefined, random: () => 0 };
  const errorOf = (cause: unknown) => new SyncError('run', String(cause), { cause });
  const state = postgresState(database, { ...waiting, name: schema, clock, leases: () => new Map() });
  await state.claimMirror(BASE_URL);
  const rowsOf = async (sql: string, values: readonly unknown[] = []) =>
    (await database.transaction((connection) => connection.query(sql, values))).rows;
  const run = (sql: string) => database.transaction((connection) => connection.query(sql));
  return {
    state,
    destination: (envId, run, alertRules) =>
      createPostgresDestination(database, { ...waiting, envId, run, clock, lease: null, alertRules, errorOf }),
    rows: async (table, envId) => [...(await rowsOf(`select * from ${table} where env_id = $1`, [envId]))],
    runs: async () => [...(await rowsOf('select * from sync_runs order by id'))],
    async breakTable(table) {
      await run(`create or replace function broken() returns trigger language plpgsql as
        $$ begin raise exception 'broken'; end $$`);
      await run(
        `create trigger broken before insert or update or delete on ${table} for each row execute function broken()`,
      );
      return async () => {
        await run(`drop trigger broken on ${table}`);
        await run('drop function broken()');
      };
    },
    close,
  };
}
