import { deepStrictEqual } from 'node:assert/strict';
import { SyncError } from '../../src/core/errors.ts';
import type { Destination } from '../../src/core/ports/destination.ts';
import type { StateStore } from '../../src/core/ports/state-store.ts';
import type { Row } from '../../src/core/stream.ts';
import { after, type Instant } from '../../src/core/time/instant.ts';
import { createPostgresDestination } from '../../src/destination/postgres/destination.ts';
import { POSTGRES_LIMITS } from '../../src/destination/postgres/dialect.ts';
import { migratePostgres } from '../../src/destination/postgres/migrations.ts';
import { postgresState } from '../../src/destination/postgres/state.ts';
import type { PostgresDatabase } from '../../src/destination/postgres/transaction.ts';
import type { MirrorFile } from '../../src/destination/sqlite/open.ts';
import { tablesWrittenBy } from '../model/cached-reads.ts';
import type { MakeTwin, MirrorTwin } from '../model/mirror-twin.ts';
import { type MirrorRelation, sameRows, selectOf, shownText, TABLES, VIEWS } from './compare-mirrors.ts';
import { pgliteConnection, pgliteDatabase } from './pglite-mirror.ts';
import { preparingConnection } from './postgres/preparing-connection.ts';
import { type TwinReplica, twinReplica } from './twin-replica.ts';

/** A schema in PostgreSQL for the twins of files, one at a time. */
export interface TwinSchema {
  readonly makeTwin: MakeTwin;
  close(): Promise<void>;
}

/** Columns that may differ. */
const EXCEPT: Readonly<Record<string, readonly string[]>> = {
  // SQLite reuses a number after its row was deleted.
  seen_pages: ['id'],
};

/** Several processes may share a server. */
const SCHEMA = `twin_${process.pid}`;

/** `serverUrl` is the address of a real server, which takes less time than one in this process. */
export async function twinSchema(databaseOf = pgliteDatabase, serverUrl?: string): Promise<TwinSchema> {
  const server = await (serverUrl === undefined ? pgliteConnection() : preparingConnection(serverUrl));
  await migratePostgres(server, SCHEMA);
  // Only the comparison reads outside of transactions, so it may set session parameters.
  await server.query(`set search_path to ${SCHEMA}`);
  await server.query("set timezone to 'UTC'");
  const ask = async (sql: string): Promise<readonly Row[]> => (await server.query(sql, [])).rows;
  const [found] = await ask(
    `select string_agg(quote_ident(tablename), ', ') as tables from pg_tables
      where schemaname = '${SCHEMA}' and tablename not like '\\_\\_%'`,
  );
  const database = databaseOf(server, SCHEMA);
  let isIdle = (): Promise<unknown> => Promise.resolve();
  return {
    makeTwin(file, options) {
      // A failed history may have left operations, which must finish first.
      const emptied = isIdle().then(() => ask(`truncate ${found?.['tables']} restart identity`));
      const replica = twinReplica(server, SCHEMA, file.path);
      const made = createTwin({ file, ...options, database, ask, emptied, replica });
      isIdle = made.isIdle;
      return made.twin;
    },
    close: async () => {
      await isIdle();
      await server.close();
    },
  };
}

interface TwinParts {
  readonly file: MirrorFile;
  readonly clock: () => Instant;
  readonly hasSeveralEnvironments: boolean;
  readonly database: PostgresDatabase;
  readonly ask: (sql: string) => Promise<readonly Row[]>;
  readonly replica: TwinReplica;
  /** Resolves once the database is empty. */
  readonly emptied: Promise<unknown>;
}

function createTwin({ file, clock, hasSeveralEnvironments, database, ask, emptied, replica }: TwinParts) {
  const recording = recordWrites(file);
  /** The machine's clock during the current call, also for PostgreSQL, which repeats the call later. */
  const now: { here: Instant; there: Instant } = { here: '', there: '' };
  let envIds: readonly string[] = [];
  let last: Promise<unknown> = emptied;
  const rowsOf = (relation: MirrorRelation): Row[] => rowsInFile(file, relation);
  const compare = async (rows: readonly (readonly [MirrorRelation, readonly Row[]])[]): Promise<void> => {
    const theirs = await Promise.all(rows.map(([relation]) => ask(selectOf(relation, EXCEPT[relation.name]))));
    for (const [i, [relation, own]] of rows.entries()) sameRows(relation, own, theirs[i] ?? []);
  };
  const follow = (work: () => Promise<void>): void => {
    last = last.then(work);
    // `settled` throws it.
    last.catch(() => undefined);
  };
  /** Repeats a call on the twin, and compares the results and the tables that it may have changed. */
  const both = (call: string, own: () => Promise<unknown>, other: () => Promise<unknown>): Promise<unknown> => {
    const at = hasSeveralEnvironments ? monotonicClock(file, clock()) : clock();
    now.here = at;
    const known = environmentsOf(file);
    recording.tables.clear();
    const answer = own();
    const rows = TABLES.filter(({ name }) => recording.tables.has(name)).map((each) => [each, rowsOf(each)] as const);
    follow(async () => {
      now.there = at;
      envIds = known;
      const [ours, theirs] = [await outcome(answer), await outcome(other())];
      await withCallInError(call, async () => {
        deepStrictEqual(printable(theirs), printable(ours));
        await compare(rows);
      });
    });
    return answer;
  };
  const waiting = { sleep: async () => undefined, random: () => 0 };
  const errorOf = (cause: unknown) => new SyncError('run', String(cause), { cause });
  const randomHex = () => '0123456789abcdef'.repeat(4);
  const there = { ...waiting, clock: () => now.there, randomHex };
  const settled = async (relations: readonly MirrorRelation[]): Promise<void> => {
    await last;
    const rows = relations.map((each) => [each, rowsOf(each)] as const);
    await withCallInError('all that was done', () => compare(rows));
    await replica.destroy();
    await replica.refresh();
    replica.read((select) => {
      for (const [relation, own] of rows) sameRows(relation, own, select(selectOf(relation, EXCEPT[relation.name])));
    });
  };
  const twin: MirrorTwin = {
    limits: POSTGRES_LIMITS,
    clock: () => now.here,
    randomHex,
    file: { ...file, prepare: recording.prepare },
    state: (own) =>
      mirroredPort(
        own,
        postgresState(database, {
          ...there,
          name: file.path,
          leases: () => new Map(envIds.map((envId) => [envId, null])),
        }),
        both,
      ),
    destination: (own, { envId, run }) =>
      mirroredPort(
        own,
        createPostgresDestination(database, { ...there, envId, run, lease: null, errorOf }),
        both,
        envId,
      ),
    async replica() {
      follow(() => replica.refresh());
      await last;
      return replica.path;
    },
    settled: () => settled(TABLES),
    equal: () => settled([...TABLES, ...VIEWS]),
  };
  return { twin, isIdle: () => last.catch(() => undefined) };
}

type Both = (call: string, own: () => Promise<unknown>, other: () => Promise<unknown>) => Promise<unknown>;
type Methods = Readonly<Record<string, (...given: unknown[]) => Promise<unknown>>>;

/** A port whose methods call both ports. */
function mirroredPort<Port extends Destination | StateStore>(
  own: Port,
  other: Port,
  both: Both,
  where = 'state',
): Port {
  const [ours, theirs] = [own, other] as unknown as [Methods, Methods];
  const methods = Object.keys(own).map((name) => [
    name,
    (...given: unknown[]) =>
      both(
        `${where} ${name} ${describeCall(given)}`,
        async () => ours[name]?.(...given),
        async () => theirs[name]?.(...given),
      ),
  ]);
  return Object.fromEntries(methods) as Port;
}

const MAX_SHOWN = 2000;

function describeCall(given: readonly unknown[]): string {
  const text = given.map((each) => (hasTable(each) ? each.name : JSON.stringify(each))).join(', ');
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text;
}

/** Whether an argument is a stream, which is too long to print. */
function hasTable(given: unknown): given is { readonly name: string } {
  return typeof given === 'object' && given !== null && 'table' in given && 'name' in given;
}

async function withCallInError(call: string, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (cause) {
    throw new Error(`PostgreSQL differs from SQLite after ${call}: ${cause instanceof Error ? cause.message : cause}`, {
      cause,
    });
  }
}

/** The result, or the recovery of an error. Error messages differ by database. */
async function outcome(answer: Promise<unknown>): Promise<unknown> {
  try {
    return { answer: await answer };
  } catch (error) {
    return error instanceof SyncError && error.recovery !== 'run' ? { recovery: error.recovery } : { error };
  }
}

function printable(value: unknown): unknown {
  if (typeof value === 'string') return shownText(value);
  if (Array.isArray(value)) return value.map(printable);
  if (value instanceof Set) return new Set([...value].map(printable));
  if (value instanceof Map) return new Map([...value].map(([key, each]) => [printable(key), printable(each)]));
  if (value === null || typeof value !== 'object' || value instanceof Error) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, printable(each)]));
}

/** Records the tables that statements write. */
function recordWrites({ prepare }: MirrorFile) {
  const tables = new Set<string>();
  return {
    tables,
    prepare: ((name, text) => {
      const statement = prepare(name, text);
      for (const table of tablesWrittenBy(statement)) tables.add(table);
      return statement;
    }) as MirrorFile['prepare'],
  };
}

/** Includes keys that SQLite has not flushed yet, because PostgreSQL writes each commit in its own transaction. */
function rowsInFile({ prepare, noted }: MirrorFile, relation: MirrorRelation): Row[] {
  const rows = prepare(selectOf(relation, EXCEPT[relation.name])).all() as Row[];
  if (relation.name !== 'seen_pages') return rows;
  const waiting = noted.pages.map(({ envId, stream, readNumber, keys }): Row => {
    return { env_id: envId, stream, read_number: readNumber, keys };
  });
  return [...rows, ...waiting];
}

function environmentsOf({ prepare }: MirrorFile): string[] {
  return prepare('select env_id from mirror_environments')
    .all()
    .map((row) => (row as { env_id: string }).env_id);
}

/**
 * SQLite advances its clock past those of all environments, PostgreSQL past that of its own. The times are equal if the
 * machine's clock never moves back.
 */
function monotonicClock({ prepare }: MirrorFile, now: Instant): Instant {
  const { last } = prepare('select max(mirrored_at) as last from mirror_environments').get() as { last: unknown };
  return typeof last === 'string' && last >= now ? after(last) : now;
}
