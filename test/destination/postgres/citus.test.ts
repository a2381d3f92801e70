import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { readStatus } from '../../../src/api/status-report.ts';
import { SyncError } from '../../../src/core/errors.ts';
import { instantOfMs } from '../../../src/core/time/instant.ts';
import { distributeTables } from '../../../src/destination/postgres/citus.ts';
import { createPostgresDestination, postgresScope } from '../../../src/destination/postgres/destination.ts';
import { performOn } from '../../../src/destination/postgres/driver.ts';
import {
  heldEnvironments,
  introduce,
  releaseLeases,
  renewLease,
  takeLeases,
} from '../../../src/destination/postgres/leases.ts';
import { migratePostgres } from '../../../src/destination/postgres/migrations.ts';
import { postgresState } from '../../../src/destination/postgres/state.ts';
import type { PostgresDatabase } from '../../../src/destination/postgres/transaction.ts';
import { list, quote } from '../../../src/destination/sql/tables.ts';
import { CATALOGUE } from '../../../src/streams/catalogue.ts';
import { runSync } from '../../../src/sync/run.ts';
import { loadLastStarts } from '../../../state/last-starts.ts';
import type { StateStatements } from '../../../state/state-statements.ts';
import { furnish } from '../../model/furnish.ts';
import { createWorld, HOUR } from '../../model/world.ts';
import { knownFunctions, parsed, refusedOf } from '../../support/citus/rules.ts';
import { standInForCitus } from '../../support/citus/stand-in.ts';
import { watched } from '../../support/citus/watched.ts';
import { minute } from '../../support/conformance/workbench.ts';
import { describeDestination } from '../../support/conformance.ts';
import { DECISION_OPTIONS } from '../../support/decision-options.ts';
import { emptyMirror, mirrorIn } from '../../support/pglite-conformance.ts';
import { pgliteConnection, pgliteDatabase } from '../../support/pglite-mirror.ts';
import { COMMIT_KINDS, furnishedRows } from '../commit-kinds.ts';

const SCHEMA = 'obsync';

let server: Awaited<ReturnType<typeof pgliteConnection>>;
let known: Awaited<ReturnType<typeof knownFunctions>>;
let watch: ReturnType<typeof watched>;
let database: PostgresDatabase;
beforeAll(async () => {
  server = await pgliteConnection();
  await standInForCitus(server);
  await migratePostgres(server, SCHEMA);
  await distributeTables(server, SCHEMA);
  known = await knownFunctions(server);
  watch = watched(server, known);
  database = pgliteDatabase(watch.connection, SCHEMA);
});
afterAll(() => server.close());

const empty = () => emptyMirror(server, SCHEMA);

const WAITING = { sleep: async () => undefined, random: () => 0 };

describeDestination('PostgreSQL with tables partitioned by env_id', (clock) =>
  mirrorIn(watch.connection, SCHEMA, { clock, close: empty }),
);

describe('a mirror with partitioned tables', () => {
  beforeEach(empty);

  test.each(CATALOGUE)('every kind of commit of $name succeeds', async (stream) => {
    const options = { ...WAITING, envId: 'e', run: 2, clock: () => minute(1), lease: null };
    for (const { title, act } of COMMIT_KINDS.filter((kind) => kind.isOf(stream))) {
      for (const { table, row } of furnishedRows(stream)) {
        const names = Object.keys(row);
        const sql = `insert into ${SCHEMA}.${quote(table)} (${list(names)}) values (${names.map((_, i) => `$${i + 1}`)})`;
        await server.query(sql, Object.values(row));
      }
      const destination = createPostgresDestination(database, { ...options, errorOf: (error) => error });
      expect(await act(destination, stream), title).toBeDefined();
      await empty();
    }
  });

  test('runs that hold leases sync two environments while one is delisted and listed again', async () => {
    const envIds = ['e1', 'e2'];
    const world = createWorld(envIds);
    for (const place of world.environments.values()) furnish(place);
    const clock = (): string => instantOfMs(world.nowMs);
    const owner = { owner: 'this', backend: null };
    for (const isListed of [true, false, true]) {
      world.environment('e2').listed = isListed;
      const leases = await database.transaction(async (connection) => {
        await introduce(connection, null);
        await renewLease(connection, owner);
        return takeLeases(connection, owner, { envIds, mirroredAt: clock() });
      });
      const summary = await runSync(
        {
          source: world.source(),
          mirrorExists: true,
          openMirror: async () => ({
            state: postgresState(database, {
              ...WAITING,
              name: SCHEMA,
              clock,
              leases: () => new Map(envIds.map((envId) => [envId, null])),
            }),
            destination: (envId, run) =>
              createPostgresDestination(database, {
                ...WAITING,
                ...{ envId, run, clock, lease: leases.get(envId) ?? null },
                errorOf: (cause) => new SyncError('run', String(cause), { cause }),
              }),
            hold: async () => {},
            flush: async () => {},
            close: async () => {},
          }),
          clock,
          signal: new AbortController().signal,
          onProgress: () => {},
        },
        {
          ...{ ...DECISION_OPTIONS, baseUrl: 'http://world.test', pageSize: 50 },
          ...{ catalogue: CATALOGUE, streams: CATALOGUE, environments: [], concurrency: 1 },
        },
      );
      expect(summary).toMatchObject({ status: 'done', error: null });
      expect(await database.transaction(heldEnvironments)).toEqual(new Set(envIds));
      await database.transaction((connection) => releaseLeases(connection, leases, owner.owner));
      expect(await database.transaction(heldEnvironments)).toEqual(new Set());
      world.advance(3 * HOUR);
    }
    const shown = await database.transaction((connection) =>
      performOn(connection, readStatus({ name: SCHEMA, scopeOf: postgresScope }, clock())),
    );
    expect(shown.environments).toHaveLength(2);
    const starts = (): StateStatements<Map<string, string>> => loadLastStarts(CATALOGUE.map(({ name }) => name));
    expect(await database.transaction((connection) => performOn(connection, starts()))).toHaveProperty('size', 2);
  });
});

/** Statements that read all environments, and why. Citus asks every node for them, so no commit contains one. */
const OF_ALL_ENVIRONMENTS: Readonly<Record<string, RegExp>> = {
  'once per run: rounds that another cycle began': /^select "env_id", "stream", "round" from "sync_checkpoints"/,
  'once per run: removals that wait to be released': /^select distinct "env_id", "stream" from "held_removals"/,
  'once per run: means that are out of date': /^select distinct "env_id" from "stale_health_days"/,
  'once per run and channel: messages to send': /from "alert_deliveries" where .*"env_id" in \(\$2, \$3\)/,
  'the same, of a run of two environments': /from "alert_deliveries" where .*"env_id" in \(\$2, \$3, \$4\)/,
  'once per run: what is pruned': /^select .* from "pruned_history"/,
  'by alerts list and snooze: what is open': /^select .* from "alerts" where .*"begun_at" is not null/,
  'by status and by verify: who writes': /^select env_id, lease_owner from mirror_environments/,
};

describe('the statements of all these tests', () => {
  test('each one of a single environment touches one partition, and all the others are listed with a reason', () => {
    const several = [...watch.statements.values()].filter(({ partitions }) => partitions > 1).map(({ text }) => text);
    for (const [reason, pattern] of Object.entries(OF_ALL_ENVIRONMENTS))
      expect(
        several.filter((text) => pattern.test(text)),
        reason,
      ).toHaveLength(1);
    expect(several).toHaveLength(Object.keys(OF_ALL_ENVIRONMENTS).length);
    expect(watch.statements.size).toBeGreaterThan(400);
  });

  test('none uses what Citus refuses', () => {
    expect([...watch.statements.values()].filter(({ refused }) => refused.length > 0)).toEqual([]);
    const oneOnly = [...watch.statements.values()].filter(({ needsOneEnvironment }) => needsOneEnvironment);
    expect(oneOnly.length).toBeGreaterThan(0);
    expect(oneOnly.filter(({ partitions }) => partitions !== 1)).toEqual([]);
  });

  test('none mixes distributed and local tables', () => {
    expect([...watch.statements.values()].filter(({ isMixed }) => isMixed).map(({ text }) => text)).toEqual([]);
  });
});

describe('the check of what Citus refuses', () => {
  const UPSERT = "insert into assets (env_id, id, mirrored_at) values ('e', 'a', $1) on conflict (env_id, id)";

  test.each([
    [`${UPSERT} do update set name = 'x' where assets.mirrored_at < now()`, 'ON CONFLICT calls now'],
    [`${UPSERT} do update set mirrored_at = assets.mirrored_at + interval '1 day'`, 'ON CONFLICT calls timestamptz_pl'],
    [`${UPSERT} do update set name = assets.mirrored_at::text`, 'ON CONFLICT calls timestamptz_out'],
    ["update assets set mirrored_at = mirrored_at + interval '1 day' where env_id = 'e'", 'timestamptz_pl_interval'],
    ["update assets set name = random()::text where env_id = 'e'", 'calls random, which is volatile'],
    ["update assets set mirrored_at = coalesce($1, now()) where env_id = 'e'", 'CASE or COALESCE calls now'],
    ["delete from assets where env_id = 'e' and mirrored_at < now() - interval '1 day' and name = 'x'", null],
    ["select clock_timestamp() from assets where env_id = 'e'", 'clock_timestamp()'],
    [
      "merge into assets a using (values ('e')) v (env_id) on a.env_id = v.env_id when matched then do nothing",
      'a MERGE',
    ],
  ])('it finds what is refused in: %s', async (text, said) => {
    const tree = await pgliteDatabase(server, SCHEMA).transaction((inside) => parsed(inside, text));
    const refused = refusedOf(tree, known);
    if (said === null) expect(refused).toEqual([]);
    else expect(refused.join('; ')).toContain(said);
  });

  test.each([
    ["select 1 from assets where env_id = 'e'", { partitions: 1, needsOneEnvironment: false, isMixed: false }],
    ['select 1 from assets for update', { partitions: 4, needsOneEnvironment: true, isMixed: false }],
    [
      "select 1 from assets a where env_id = 'e' and (name = 'x' or exists (select 1 from tests t where t.env_id = a.env_id))",
      { partitions: 4, isMixed: false },
    ],
    ['with recursive n as (select 1 x union select x from n) select x from n', { needsOneEnvironment: true }],
    ["insert into marks (env_id, stream, id, number) values ('e', 's', 'i', 1)", { partitions: 1 }],
    ["select 1 from assets, sync_runs where env_id = 'e'", { partitions: 1, isMixed: true }],
  ])('it finds the partitions touched by: %s', async (text, seen) => {
    const observed = watched(server, known);
    await pgliteDatabase(observed.connection, SCHEMA).transaction((connection) => connection.query(text));
    expect(observed.statements.get(text)).toMatchObject(seen);
    await empty();
  });
});

describe('distributeTables', () => {
  const there = async (): Promise<unknown[]> =>
    (await server.query('select logicalrelid::text as name, colocated_with as with from pg_dist_partition')).rows.map(
      (row) => Object.values(row),
    );

  test('tables with an environment are distributed in one group, except the log of runs', async () => {
    const found = new Map((await there()) as [string, string][]);
    expect(found.get(`${SCHEMA}.mirror_environments`)).toBe('none');
    expect(new Set(found.values())).toEqual(new Set(['none', '"obsync"."mirror_environments"']));
    const { rows } = await server.query(
      `select c.relname as name from pg_class c where c.relnamespace = $1::regnamespace and c.relkind = 'r'
        and not c.relispartition and c.relname not like '\\_\\_%' order by 1`,
      [SCHEMA],
    );
    const local = ['environments', 'lease_owners', 'mirror', 'sync_runs', 'sync_stream_runs', 'verifications'];
    expect(rows.map(({ name }) => name)).toEqual(local);
  });

  test('each table and function is distributed once, and a new or replaced one at the next call', async () => {
    const before = await there();
    expect(await distributeTables(server, SCHEMA)).toMatchObject({ distributed_now: [] });
    expect(await there()).toEqual(before);
    const functions = 'select name from pg_catalog.distributed_function';
    const known = (await server.query(functions)).rows;
    expect(known.map(({ name }) => String(name))).toEqual([
      expect.stringContaining('comparable_number(text)'),
      expect.stringContaining('comparable_json(text)'),
      expect.stringContaining('same_json(text,text)'),
    ]);
    await server.query(`delete from pg_dist_partition where logicalrelid = '${SCHEMA}.marks'::regclass`);
    await server.query(`alter table ${SCHEMA}.marks rename to marks_before`);
    await server.query(`create table ${SCHEMA}.marks (like ${SCHEMA}.marks_before including all)`);
    await server.query(`drop table ${SCHEMA}.marks_before`);
    await server.query(`alter function ${SCHEMA}.same_json(text, text) reset all`);
    expect(await distributeTables(server, SCHEMA)).toMatchObject({ distributed_now: ['marks'] });
    expect((await server.query(functions)).rows).toHaveLength(known.length + 1);
  });

  test('it refuses while a process writes to one of the tables', async () => {
    await migratePostgres(server, 'written');
    const written = pgliteDatabase(server, 'written');
    const owner = { owner: 'other', backend: null };
    await written.transaction((inside) => takeLeases(inside, owner, { envIds: ['e'], mirroredAt: minute(1) }));
    await expect(distributeTables(server, 'written')).rejects.toThrow(
      'another process syncs environment e into this mirror: wait until it has ended',
    );
    expect((await there()).flat().filter((name) => String(name).startsWith('written'))).toEqual([]);
  });

  test('the comparison functions of a mirror find each other without a search path', async () => {
    await server.query('set search_path to pg_catalog');
    const { rows } = await server.query(`select ${SCHEMA}.same_json('{"a":1,"b":2}', '{"b":2,"a":1.0}') as is_same`);
    await server.query('reset search_path');
    expect(rows).toEqual([{ is_same: 1 }]);
  });
});
