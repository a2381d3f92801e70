import { createHash } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { getTableName, is } from 'drizzle-orm';
import { getTableConfig as configInPostgres, PgTable } from 'drizzle-orm/pg-core';
import { getTableConfig, SQLiteTable } from 'drizzle-orm/sqlite-core';
import { describe, expect, onTestFinished, test } from 'vitest';
import { type ColumnKind, kindOf } from '../../../schema/column-types.ts';
import { MIRROR_VIEWS } from '../../../schema/dictionary.ts';
import * as postgres from '../../../schema/postgres.ts';
import { descriptionOf } from '../../../schema/table.ts';
import { MIRRORED_TABLES, STATE_TABLES } from '../../../schema/tables.ts';
import { SyncError } from '../../../src/core/errors.ts';
import { POSTGRES_LIMITS } from '../../../src/destination/postgres/dialect.ts';
import {
  migratePostgres,
  postgresMigrationTimes,
  postgresVersion,
} from '../../../src/destination/postgres/migrations.ts';
import { beginIn, type OpenConnection, openConnection } from '../../../src/destination/postgres/open-connection.ts';
import { aroundViews, postgresViews } from '../../../src/destination/postgres/views.ts';
import { testSchema } from '../../support/postgres.ts';
import { pgliteMirror } from './setup.ts';

const SCHEMA = new URL('../../../schema/', import.meta.url);

const files = readdirSync(SCHEMA).filter((name) => name.endsWith('.ts'));
const exported = await Promise.all(files.map((file) => import(new URL(file, SCHEMA).href) as Promise<object>));
const sqliteTables = exported.flatMap((file) => Object.values(file)).filter((each) => is(each, SQLiteTable));
const postgresTables = Object.values(postgres).map(configInPostgres);

const server = await pgliteMirror('obsync');
await server.query('set search_path to obsync');

const column = async (sql: string, values: unknown[] = []) =>
  (await server.query(sql, values)).rows.map((row) => Object.values(row)[0]);

describe('the tables of a mirror in PostgreSQL', () => {
  const TYPES: Readonly<Record<ColumnKind, string>> = {
    text: 'text C',
    integer: 'bigint',
    real: 'double precision',
    time: 'timestamp with time zone',
    day: 'date',
    flag: 'boolean',
    json: 'json',
  };

  const columnsIn = async (table: string) =>
    await column(
      `select concat_ws(' ', column_name, data_type, collation_name, case is_nullable when 'NO' then 'not null' end)
        from information_schema.columns where table_schema = 'obsync' and table_name = $1 order by ordinal_position`,
      [table],
    );

  test.each(sqliteTables.map((table) => [getTableName(table), table] as const))(
    '%s begins with the columns of SQLite, in their order and with the types of their kinds',
    async (name, table) => {
      const { columns } = getTableConfig(table);
      const wanted = columns.map((each) => {
        const isKey = each.primary || getTableConfig(table).primaryKeys.some((key) => key.columns.includes(each));
        return `${each.name} ${TYPES[kindOf(each)]}${each.notNull || isKey ? ' not null' : ''}`;
      });
      const found = await columnsIn(name);
      expect(found.slice(0, wanted.length)).toEqual(wanted);
    },
  );

  test('only staged tables and mirror_environments have more columns than in SQLite', async () => {
    const more: Record<string, unknown[]> = {};
    for (const table of sqliteTables) {
      const { name, columns } = getTableConfig(table);
      const others = (await columnsIn(name)).slice(columns.length);
      if (others.length > 0) more[name] = others;
    }
    const staged = sqliteTables.map(getTableName).filter((name) => name.endsWith('_staged'));
    expect(more).toEqual({
      ...Object.fromEntries(staged.map((name) => [name, ['row_number bigint not null']])),
      mirror_environments: ['lease_owner text C', 'lease_epoch bigint not null'],
    });
  });

  test('exactly the tables that SQLite keeps as temporary ones are unlogged', async () => {
    const unlogged = await column(
      `select relname from pg_class where relnamespace = 'obsync'::regnamespace and relkind = 'r' and relpersistence = 'u' order by 1`,
    );
    expect(unlogged).toEqual([
      'missing_found',
      'missing_keys',
      'seen_keys',
      'seen_through',
      'staged_keys',
      'staged_loaded',
    ]);
  });

  test('every table whose rows have an environment is keyed by it first, as sharding requires', () => {
    const keys = postgresTables.map((table) => [table.name, keyOf(table).join(', ')] as const);
    const others = keys.filter(([, key]) => !key.startsWith('env_id'));
    expect(Object.fromEntries(others)).toEqual({
      environments: 'id',
      mirror: 'id',
      sync_runs: 'id',
      verifications: 'id',
      lease_owners: 'owner',
      // Its runs belong to no environment.
      sync_stream_runs: 'run_id, env_id, stream',
      // Its unique index contains the hash of `row_key`.
      rejected_rows: '',
      ...Object.fromEntries(keys.filter(([name]) => name.endsWith('_staged')).map(([name]) => [name, ''])),
    });
  });

  test('the primary keys are those of SQLite, except in rejected_rows and seen_pages', () => {
    const changed = sqliteTables.flatMap((table) => {
      const { name, columns, primaryKeys } = getTableConfig(table);
      const key = (primaryKeys[0]?.columns ?? columns.filter(({ primary }) => primary)).map((each) => each.name);
      const found = postgresTables.find((each) => each.name === name);
      return found !== undefined && keyOf(found).join() === key.join() ? [] : [name];
    });
    expect(changed.sort()).toEqual(['rejected_rows', 'seen_pages']);
  });
});

function keyOf({ primaryKeys }: ReturnType<typeof configInPostgres>): string[] {
  return primaryKeys.flatMap((key) => key.columns.map(({ name }) => name));
}

describe('the indexes of a mirror in PostgreSQL', () => {
  test('every index of SQLite exists, on the same columns and rows', async () => {
    const found = Object.fromEntries(
      (await server.query(`select indexname, indexdef from pg_indexes where schemaname = 'obsync'`)).rows.map((row) => [
        row['indexname'],
        String(row['indexdef']),
      ]),
    );
    const wanted = sqliteTables.flatMap((table) => getTableConfig(table).indexes.map(({ config }) => config));
    expect(wanted.length).toBeGreaterThan(10);
    for (const { name, columns, where } of wanted) {
      const names = columns.map((each) => (each as { name: string }).name);
      expect(found[name]).toContain(`(${names.join(', ')})`);
      expect(/ WHERE /.test(found[name] ?? ''), name).toBe(where !== undefined);
    }
    expect(found['tests_disabled']).toMatch(/WHERE disabled$/);
  });

  /** Text that PostgreSQL cannot compress. */
  const longText = (bytes: number) =>
    Array.from({ length: bytes }, () => String.fromCharCode(33 + Math.floor(Math.random() * 90))).join('');

  /** How many text columns the largest index of a table has besides the stream, whose names are short. */
  const maxIndexedTexts = ({ columns, primaryKeys, indexes }: (typeof postgresTables)[number]): number => {
    const texts = new Set(columns.filter((each) => !(each.getSQLType() in VALUES)).map(({ name }) => name));
    const inKeys = primaryKeys.map((key) => key.columns.map(({ name }) => name));
    const inIndexes = indexes.map(({ config }) =>
      config.columns.map((each) => ('name' in each ? each.name : undefined)),
    );
    const counts = [...inKeys, ...inIndexes].map(
      (names) => names.filter((name) => name !== undefined && name !== 'stream' && texts.has(name)).length,
    );
    return Math.max(1, ...counts);
  };

  test('every index can hold an entry whose texts have 2,600 bytes together (R20)', async () => {
    await server.query('begin');
    for (const table of postgresTables) {
      const names = table.columns.map(({ name }) => name).filter((name) => name !== 'row_number');
      const bytes = Math.floor(POSTGRES_LIMITS.maxEntryBytes / maxIndexedTexts(table));
      for (const condition of [{}, { deleted_at: null }, { status: 'FAIL' }]) {
        const given: Record<string, unknown> = { stream: 'latest_test_executions', ...condition };
        const values = names.map((name) =>
          name in given
            ? given[name]
            : (VALUES[table.columns.find((each) => each.name === name)?.getSQLType() ?? ''] ?? longText(bytes)),
        );
        await server.query(
          `insert into "${table.name}" (${names.map((name) => `"${name}"`).join(', ')})
            values (${names.map((_, i) => `$${i + 1}`).join(', ')}) on conflict do nothing`,
          values,
        );
      }
    }
    await server.query('rollback');
  });

  const VALUES: Readonly<Record<string, unknown>> = {
    bigint: 7,
    boolean: 1,
    'double precision': 0.5,
    json: '{}',
    date: '2026-11-20',
    'timestamp with time zone': '2026-11-20T04:10:00.123456Z',
  };

  test('a rejected row is kept once by its payload, however long that is (R20)', async () => {
    const payload = longText(20_000);
    const upsert = `insert into rejected_rows (run_id, env_id, stream, row_key, reason, payload, seen_at)
      values ($1, 'e', 'tests', $2, 'not an object', $2, '2026-11-20T04:10:00Z')
      on conflict (env_id, stream, md5(row_key)) do update set run_id = excluded.run_id`;
    await server.query(upsert, [1, payload]);
    await server.query(upsert, [2, payload]);
    expect(await column('select run_id from rejected_rows')).toEqual([2]);
  });
});

describe('migratePostgres', () => {
  test('a mirror that is up to date is left alone, and its version can be read', async () => {
    const before = await column('select count(*) from __drizzle_migrations');
    await migratePostgres(server, 'obsync');
    expect(await column('select count(*) from __drizzle_migrations')).toEqual(before);
    expect(await postgresVersion(server, 'obsync')).toBe(postgresMigrationTimes().last);
    expect(await postgresVersion(server, 'elsewhere')).toBe(0);
  });

  test('each schema is a mirror of its own, whatever its name', async () => {
    await migratePostgres(server, 'my "second" mirror');
    expect(await postgresVersion(server, 'my "second" mirror')).toBe(postgresMigrationTimes().last);
    const ids = await column(`insert into "my ""second"" mirror".sync_runs (cycle_id, status, started_at)
      values (0, 'running', now()) returning id`);
    expect(ids).toEqual([1]);
    expect(await column('select count(*) from sync_runs')).toEqual([0]);
  });

  test('a mirror of a newer version is refused', async () => {
    await migratePostgres(server, 'newer');
    await server.query(`insert into newer.__drizzle_migrations (hash, created_at) values ('', $1)`, [
      postgresMigrationTimes().last + 1,
    ]);
    await expect(migratePostgres(server, 'newer')).rejects.toThrow(
      'the mirror in schema newer was made by a newer obsync',
    );
    await expect(migratePostgres(server, 'newer')).rejects.toBeInstanceOf(SyncError);
  });

  test('a mirror of an unreleased build is refused with advice', async () => {
    await migratePostgres(server, 'unreleased');
    await server.query('update unreleased.__drizzle_migrations set created_at = 1');
    await expect(migratePostgres(server, 'unreleased')).rejects.toThrow(
      'the mirror in schema unreleased was made by an unreleased build of obsync and cannot be brought up to date: name a new mirror with --db',
    );
    await expect(migratePostgres(server, 'unreleased')).rejects.toMatchObject({ recovery: 'usage' });
  });

  test('a schema that uses one of our table names for something else is refused and left unchanged', async () => {
    await server.query('create schema taken');
    await server.query('create table taken.assets (id text)');
    await expect(migratePostgres(server, 'taken')).rejects.toThrow('schema taken is not a mirror but has assets');
    expect(await column(`select relname from pg_class where relnamespace = 'taken'::regnamespace`)).toEqual(['assets']);
    expect(await postgresVersion(server, 'taken')).toBe(0);
  });
});

describe('the comments', () => {
  const commentsIn = (schema: string) =>
    column(
      `select concat_ws(': ', concat_ws('.', c.relname, a.attname), d.description)
        from pg_description d join pg_class c on c.oid = d.objoid and d.classoid = 'pg_class'::regclass
        left join pg_attribute a on a.attrelid = c.oid and a.attnum = d.objsubid
        where c.relnamespace = $1::regnamespace`,
      [schema],
    );

  test('every table, view and column that SQLite has too carries its description', async () => {
    const described = [...MIRRORED_TABLES, ...STATE_TABLES, ...MIRROR_VIEWS].map(descriptionOf);
    expect(described.map(({ name }) => name)).toEqual(expect.arrayContaining(sqliteTables.map(getTableName)));
    const wanted = described.flatMap(({ name, description, columns }) => [
      `${name}: ${description}`,
      ...columns.map((each) => `${name}.${each.name}: ${each.description}`),
    ]);
    expect((await commentsIn('obsync')).sort()).toEqual(wanted.sort());
  });

  test('are left alone while the descriptions are the same, and set again once they have changed', async () => {
    await migratePostgres(server, 'commented');
    const comments = (await commentsIn('commented')).sort();
    await server.query(`comment on column commented.assets.name is 'our own words'`);
    expect(await migratePostgres(server, 'commented')).toBe('none');
    expect(await commentsIn('commented')).toContain('assets.name: our own words');
    // Like a version with the same views and without comments on tables.
    for (const { name, select } of postgresViews())
      await server.query('update commented.__obsync_views set hash = $1 where name = $2', [
        createHash('sha256').update(select).digest('hex'),
        name,
      ]);
    expect(await migratePostgres(server, 'commented')).toBe('updated');
    expect((await commentsIn('commented')).sort()).toEqual(comments);
  });
});

describe('the views of a mirror of another version', () => {
  /** Makes our views look like those of another version. */
  const age = (schema: string) => server.query(`update "${schema}".__obsync_views set hash = ''`);

  test('they are recreated with the grants that other roles have on them', async () => {
    await migratePostgres(server, 'rights');
    await server.query('create role reader');
    await server.query('grant select on rights.live_assets to reader');
    await server.query('grant select on rights.live_tests to public');
    await server.query('drop view rights.live_columns');
    await age('rights');
    await migratePostgres(server, 'rights');
    expect(await column(`select has_table_privilege('reader', 'rights.live_assets', 'select')::int`)).toEqual([1]);
    expect(await column(`select has_table_privilege('reader', 'rights.live_tests', 'select')::int`)).toEqual([1]);
    expect(await column(`select has_table_privilege('reader', 'rights.live_columns', 'select')::int`)).toEqual([0]);
    expect(await column('select count(*) from rights.live_columns')).toEqual([0]);
  });

  test('they are replaced beneath users’ views that depend on them', async () => {
    await migratePostgres(server, 'shared');
    await server.query('create view shared.mine as select id from shared.live_assets');
    await server.query("create view shared.ours as select depth from shared.lineage_upstream_of('e')");
    await age('shared');
    await migratePostgres(server, 'shared');
    expect(await column(`select count(*) from shared.__obsync_views where hash = ''`)).toEqual([0]);
    expect(await column('select count(*) from shared.mine')).toEqual([0]);
    expect(await column('select count(*) from shared.ours')).toEqual([0]);
  });

  test('users’ views that block them are named in the refusal, and nothing changes', async () => {
    await migratePostgres(server, 'barred');
    await server.query('create schema team');
    await server.query('drop view barred.live_columns');
    await server.query('create view barred.live_columns as select 1 as other');
    await server.query('create view team."My view" as select * from barred.live_columns');
    await age('barred');
    await expect(migratePostgres(server, 'barred')).rejects.toThrow(
      'the mirror in schema barred cannot be brought up to date beside views of your own (team."My view"): drop them, run `obsync sync`',
    );
    expect(await column(`select count(*) from barred.__obsync_views where hash = ''`)).toEqual([27]);
    await server.query('drop view team."My view"');
    await migratePostgres(server, 'barred');
    expect(await column('select count(*) from barred.live_columns')).toEqual([0]);
  });

  test('a user’s view on a table blocks only changes of the columns it selects', async () => {
    await migratePostgres(server, 'tabled');
    await server.query('create view tabled.mine as select key_1 from tabled.seen_keys');
    const change = async (statement: string) => {
      await server.query('begin');
      await server.query('set local search_path to tabled');
      await aroundViews(server, 'tabled', async () => void (await server.query(statement))).finally(() =>
        server.query('rollback'),
      );
    };
    await change('alter table assets alter column name type varchar');
    await change('alter table seen_keys add column more text');
    await expect(change('alter table seen_keys drop column key_1')).rejects.toThrow('(tabled.mine): drop them');
    await expect(change('alter table seen_keys add column key_1 text')).rejects.toThrow('already exists');
  });
});

/** A schema of a real server, and connections to it, until the test ends. */
async function realSchema() {
  const own = await testSchema();
  onTestFinished(() => own.drop());
  const connect = async (application_name = 'obsync'): Promise<OpenConnection> => {
    const client = { connectionString: own.serverUrl, application_name };
    const connection = await openConnection({ kind: 'postgres', schema: own.schema, display: '', client });
    onTestFinished(() => connection.close());
    return connection;
  };
  return { own, schema: own.schema, connect };
}

test('a migration blocked by another program fails fast, names that program, and succeeds later', async () => {
  const { own, schema, connect } = await realSchema();
  const [reader, writer] = [await connect('dashboard'), await connect()];
  await migratePostgres(writer, schema);
  await own.ask("update __obsync_views set hash = ''");
  await beginIn(reader, schema, 'read only');
  await reader.list('select * from live_assets');
  await expect(migratePostgres(writer, schema, 50)).rejects.toMatchObject({
    recovery: 'run',
    message: expect.stringMatching(
      /cannot be brought up to date while another program uses its tables \(dashboard of \S+, process \d+\): end its transaction and run again/,
    ),
  });
  await reader.query('commit');
  expect(await migratePostgres(writer, schema, 50)).toBe('updated');
});

test('processes that create the same mirror at once wait for each other', async () => {
  const { own, schema, connect } = await realSchema();
  const connections = await Promise.all([1, 2, 3, 4].map(() => connect()));
  await Promise.all(connections.map((connection) => migratePostgres(connection, schema)));
  expect(await own.ask('select count(*) as n from __obsync_views')).toEqual([{ n: '27' }]);
  expect(await postgresVersion(connections[0] as OpenConnection, schema)).toBe(postgresMigrationTimes().last);
});

test('a transaction sees a mirror that another process creates while it is open', async () => {
  const { own, schema, connect } = await realSchema();
  const connection = await connect();
  await connection.query('begin');
  expect(await postgresVersion(connection, schema)).toBe(0);
  await own.ask(`create schema ${schema}; create table __drizzle_migrations as select 7 as created_at`);
  expect(await postgresVersion(connection, schema)).toBe(7);
});

test('the PostgreSQL schema exports only tables, and one for each table of SQLite', () => {
  expect(Object.values(postgres).every((each) => is(each, PgTable))).toBe(true);
  expect(postgresTables.map(({ name }) => name)).toEqual(expect.arrayContaining(sqliteTables.map(getTableName)));
});
