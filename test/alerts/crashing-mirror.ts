import type { Destination } from '../../src/core/ports/destination.ts';
import type { StateStore } from '../../src/core/ports/state-store.ts';
import { migratePostgres } from '../../src/destination/postgres/migrations.ts';
import { createSqliteDestination } from '../../src/destination/sqlite/destination.ts';
import { openForWriting } from '../../src/destination/sqlite/open.ts';
import { fileState } from '../../src/destination/sqlite/open-state.ts';
import { ruleOf } from '../support/alert-rules.ts';
import { BASE_URL, START } from '../support/conformance/workbench.ts';
import { emptyMirror, mirrorIn } from '../support/pglite-conformance.ts';
import { pgliteConnection } from '../support/pglite-mirror.ts';

/** A mirror whose process can crash between any two statements. */
export interface CrashingMirror {
  /** An empty mirror with an alert for every test that fails `after` times. */
  start(after: number): Promise<{ readonly state: StateStore; readonly destination: Destination }>;
  /**
   * Does work in a process that crashes before its `nth` statement, from 0, if there are so many.
   * @returns null after a crash
   */
  crashing<Done>(nth: number | null, work: () => Promise<Done>): Promise<Done | null>;
  rows(table: string): Promise<readonly unknown[]>;
  close(): Promise<void>;
}

class Crash extends Error {}

/** Counts the statements of a process until it crashes. After that, none is run. */
function countdown() {
  let left: number | null = null;
  return {
    count(): void {
      if (left !== null && --left < 0) throw new Crash();
    },
    async until<Done>(nth: number | null, work: () => Promise<Done>): Promise<Done | null> {
      left = nth;
      try {
        return await work();
      } catch (error) {
        if (error instanceof Crash || (error as Error).cause instanceof Crash) return null;
        throw error;
      } finally {
        left = null;
      }
    },
  };
}

const clock = (): string => START;
const optionsOf = (after: number) => ({ envId: 'e', run: 1, clock, alertRules: [ruleOf({ kinds: ['test'], after })] });

export async function sqliteMirror(): Promise<CrashingMirror> {
  const statements = countdown();
  const opened = openForWriting(':memory:');
  const mirror: typeof opened = {
    ...opened,
    prepare(...given) {
      statements.count();
      return opened.prepare(...given);
    },
  };
  const names = `select name from sqlite_schema where type = 'table' and not (name glob '__*' or name glob 'sqlite*')`;
  return {
    async start(after) {
      for (const name of mirror.connection.prepare(names).pluck().all())
        mirror.connection.exec(`delete from "${name}"`);
      const state = fileState(mirror, clock);
      await state.claimMirror(BASE_URL);
      return { state, destination: createSqliteDestination(mirror, optionsOf(after)) };
    },
    crashing: statements.until,
    rows: async (table) => mirror.connection.prepare(`select * from ${table}`).all(),
    close: async () => void mirror.connection.close(),
  };
}

export async function postgresMirror(): Promise<CrashingMirror> {
  const statements = countdown();
  const schema = 'crashing';
  const server = await pgliteConnection();
  await migratePostgres(server, schema);
  const connection: Parameters<typeof mirrorIn>[0] = {
    async query(text, values) {
      statements.count();
      return server.query(text, values);
    },
  };
  return {
    async start(after) {
      await emptyMirror(server, schema);
      const { state, destination } = await mirrorIn(connection, schema, { clock, close: async () => {} });
      const { envId, run, alertRules } = optionsOf(after);
      return { state, destination: destination(envId, run, alertRules) };
    },
    async crashing(nth, work) {
      const done = await statements.until(nth, work);
      // The server does so when it loses the connection.
      if (done === null) await server.query('rollback');
      return done;
    },
    rows: async (table) => (await server.query(`select * from ${schema}.${table} order by 1, 2, 3`)).rows,
    close: () => server.close(),
  };
}
