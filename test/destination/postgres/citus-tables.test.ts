import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { Row } from '../../../src/core/stream.ts';
import { distributeTables } from '../../../src/destination/postgres/citus.ts';
import { takeLeases } from '../../../src/destination/postgres/leases.ts';
import { migratePostgres } from '../../../src/destination/postgres/migrations.ts';
import { tableStatistics } from '../../../src/destination/postgres/statistics.ts';
import type { PostgresConnection, PostgresDatabase } from '../../../src/destination/postgres/transaction.ts';
import { postgresViews, recursiveViews } from '../../../src/destination/postgres/views.ts';
import { entryNamed } from '../../support/catalogue.ts';
import { readTree } from '../../support/citus/node-tree.ts';
import { partitionsOf } from '../../support/citus/partitions.ts';
import { refusedInView } from '../../support/citus/rules.ts';
import { distributedMirror, dropInside, IS_STAND_IN } from '../../support/citus/server.ts';
import { minute } from '../../support/conformance/workbench.ts';
import { fillNastyMirror } from '../../support/nasty-mirror.ts';
import { emptyMirror } from '../../support/pglite-conformance.ts';
import { pgliteDatabase } from '../../support/pglite-mirror.ts';
import { insertRow } from './setup.ts';

const { server, schema: SCHEMA, close } = await distributedMirror();
const database: PostgresDatabase = pgliteDatabase(server, SCHEMA);
afterAll(close);

const empty = () => emptyMirror(server, SCHEMA);

describe('distributeTables', () => {
  const distributed = async (schema = SCHEMA): Promise<[table: string, group: unknown][]> => {
    const { rows } = await server.query(
      `select c.relname as name, p.colocationid as "group" from pg_dist_partition p join pg_class c on c.oid = p.logicalrelid
        where p.partmethod = 'h' and c.relnamespace = $1::regnamespace order by 1`,
      [schema],
    );
    return rows.map((row) => [String(row['name']), row['group']]);
  };
  const settingsOf = async (): Promise<unknown[]> =>
    (
      await server.query(
        'select proname from pg_proc where pronamespace = $1::regnamespace and proname = any($2) and proconfig is not null order by 1',
        [SCHEMA, [...OUR_FUNCTIONS]],
      )
    ).rows.map((row) => row['proname']);
  const OUR_FUNCTIONS = ['comparable_json', 'comparable_number', 'element_labels', 'same_json'];

  test('tables with an environment are distributed in one group, except the log of runs', async () => {
    const found = new Map(await distributed());
    expect(found.has('mirror_environments')).toBe(true);
    expect(new Set(found.values()).size).toBe(1);
    const { rows } = await server.query(
      `select c.relname as name from pg_class c where c.relnamespace = $1::regnamespace and c.relkind = 'r'
        and not c.relispartition and c.relname not like '\\_\\_%'
        and not exists (select 1 from pg_dist_partition p where p.logicalrelid = c.oid and p.partmethod = 'h') order by 1`,
      [SCHEMA],
    );
    const local = ['environments', 'lease_owners', 'mirror', 'sync_runs', 'sync_stream_runs', 'verifications'];
    expect(rows.map(({ name }) => name)).toEqual(local);
  });

  test('each table and function is distributed once, and a new or replaced one at the next call', async () => {
    const before = await distributed();
    expect(await distributeTables(server, SCHEMA)).toMatchObject({ distributed_now: [] });
    expect(await distributed()).toEqual(before);
    expect(await settingsOf()).toEqual(OUR_FUNCTIONS);
    if (IS_STAND_IN)
      await server.query(`delete from pg_dist_partition where logicalrelid = '${SCHEMA}.marks'::regclass`);
    await server.query(`create table ${SCHEMA}.marks_new (like ${SCHEMA}.marks including all)`);
    await server.query(`drop table ${SCHEMA}.marks`);
    await server.query(`alter table ${SCHEMA}.marks_new rename to marks`);
    await server.query(`alter function ${SCHEMA}.same_json(text, text) reset all`);
    expect(await distributeTables(server, SCHEMA)).toMatchObject({ distributed_now: ['marks'] });
    expect((await distributed()).map(([name]) => name)).toEqual(before.map(([name]) => name));
    expect(await settingsOf()).toEqual(OUR_FUNCTIONS);
  });

  const MODE = /^set local citus\.multi_shard_modify_mode to 'sequential'$/;
  const OVER_SHARDS = /mirror_environments/;

  /** The statements that are sent, in order. */
  const recording = (): PostgresConnection & { readonly sent: string[] } => {
    const sent: string[] = [];
    const query: PostgresConnection['query'] = (text, values) => {
      sent.push(text);
      return server.query(text, values);
    };
    return { sent, query };
  };

  test.each([
    ['a table is distributed', (on: PostgresConnection, schema: string) => distributeTables(on, schema)],
    ['a mirror is dropped', (on: PostgresConnection, schema: string) => dropInside(on, schema)],
  ])(
    'before %s, Citus is told to change one shard after the other, ahead of any query over several',
    async (_, act) => {
      const schema = `${SCHEMA}_other`;
      await migratePostgres(server, schema);
      onTestFinished(() => dropInside(server, schema));
      const on = recording();
      await act(on, schema);
      const first = on.sent.findIndex((text) => OVER_SHARDS.test(text));
      expect(first).toBeGreaterThan(0);
      expect(on.sent.findIndex((text) => MODE.test(text))).toBeLessThan(first);
      expect(on.sent.some((text) => MODE.test(text))).toBe(true);
    },
  );

  test('a distributed mirror is dropped, shards and all', async () => {
    const schema = `${SCHEMA}_dropped`;
    await migratePostgres(server, schema);
    await distributeTables(server, schema);
    await dropInside(server, schema);
    const { rows } = await server.query('select 1 from pg_namespace where nspname = $1', [schema]);
    expect(rows).toEqual([]);
  });

  test('it refuses while a process writes to one of the tables', async () => {
    const schema = `${SCHEMA}_written`;
    await migratePostgres(server, schema);
    onTestFinished(async () => void (await server.query(`drop schema ${schema} cascade`)));
    const written = pgliteDatabase(server, schema);
    const owner = { owner: 'other', backend: null };
    await written.transaction((inside) => takeLeases(inside, owner, { envIds: ['e'], mirroredAt: minute(1) }));
    await expect(distributeTables(server, schema)).rejects.toThrow(
      'another process syncs environment e into this mirror: wait until it has ended',
    );
    expect(await distributed(schema)).toEqual([]);
  });

  test('the functions of a mirror find each other without a search path', async () => {
    await server.query('set search_path to pg_catalog');
    const { rows } = await server.query(`select ${SCHEMA}.same_json('{"a":1,"b":2}', '{"b":2,"a":1.0}') as is_same`);
    await server.query('reset search_path');
    expect(rows).toEqual([{ is_same: 1 }]);
  });
});

describe('the views of a distributed mirror', () => {
  const named = postgresViews().map(({ name }) => name);
  beforeAll(async () => {
    // The stand-in has dropped them with the tables.
    await server.query(`delete from ${SCHEMA}.__obsync_views`);
    await migratePostgres(server, SCHEMA);
    await distributeTables(server, SCHEMA);
    fillNastyMirror((table, row) => rows.push([table, row]), 1);
    for (const [table, row] of rows) await insertRow(server, `${SCHEMA}.${table}`, row);
  });
  afterAll(empty);
  const rows: [table: string, row: Row][] = [];
  const ask = async (sql: string) => (await database.transaction((inside) => inside.query(sql))).rows;
  // Each way to read the rows sums in its own order.
  const exact = (_: string, value: unknown) => (typeof value === 'number' ? Number(value.toPrecision(12)) : value);
  const sorted = (found: readonly Row[]) => found.map((row) => JSON.stringify(row, exact)).sort();

  test.each(named.filter((name) => !recursiveViews().includes(name)))(
    '%s can be read, whole and of one environment',
    async (name) => {
      if (IS_STAND_IN) {
        const [found] = await ask(
          `select ev_action::text as tree from pg_rewrite where ev_class = '${SCHEMA}.${name}'::regclass`,
        );
        expect(refusedInView(readTree(String(found?.['tree'])))).toEqual([]);
      }
      const whole = await ask(`select * from ${name}`);
      const own = whole.filter((row) => row['env_id'] === 'e');
      expect(whole.length).toBeGreaterThan(own.length);
      expect(sorted(await ask(`select * from ${name} where env_id = 'e'`))).toEqual(sorted(own));
    },
  );

  test.each(recursiveViews())('%s can be read with its function, of one environment', async (name) => {
    const own = await ask(`select * from ${name}_of('e')`);
    expect(own.length).toBeGreaterThan(0);
    if (!IS_STAND_IN) return;
    expect(sorted(own)).toEqual(sorted(await ask(`select * from ${name} where env_id = 'e'`)));
    const [made] = await ask(`select prosrc from pg_proc where oid = '${SCHEMA}.${name}_of(text)'::regprocedure`);
    const body = String(made?.['prosrc']);
    const select = body
      .slice(body.indexOf('query ') + 'query '.length, body.lastIndexOf(';'))
      .replaceAll('env_name AS name', "'' AS name");
    const touched = await pgliteDatabase(server, SCHEMA).transaction((inside) =>
      partitionsOf(inside, select.replaceAll('$1', "'e'"), []),
    );
    expect(touched.size).toBe(1);
    expect(select).not.toMatch(/\b(?:JOIN|FROM) environments\b/);
  });
});

describe('the statistics of a distributed mirror', () => {
  test('once many rows of a stream are new, its tables are analyzed, but only the shards of their environment', async () => {
    const stream = entryNamed('columns');
    await server.query(
      `insert into ${SCHEMA}.columns (env_id, id, asset_id, name, mirrored_at)
        select e, 'c' || n, 'a', 'x', '2026-11-20' from unnest(array['e', 'f', 'g', 'h', 'i']) e, generate_series(1, 1000) n`,
    );
    const statistics = tableStatistics(database, SCHEMA);
    statistics.note('e', stream, 999);
    await statistics.refresh('e', stream);
    expect(await analyzedShards()).toBe(0);
    statistics.note('e', stream, 1);
    await statistics.refresh('e', stream);
    expect(await analyzedShards()).toBe(1);
    await empty();
  });

  async function analyzedShards(): Promise<number> {
    const sql = IS_STAND_IN
      ? `select 1 from pg_class where relnamespace = '${SCHEMA}_shards'::regnamespace and relname like 'columns\\_in\\_%' and relkind = 'r' and reltuples >= 0`
      : `select 1 from run_command_on_shards('${SCHEMA}.columns', 'select reltuples from pg_class where oid = ''%s''::regclass') r
          where r.result::float >= 0`;
    return (await server.query(sql)).rows.length;
  }
});
