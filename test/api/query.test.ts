import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { openMirror } from '../../src/api/open-mirror.ts';
import { openStore } from '../../src/api/open-store.ts';
import { type QueryOptions, query } from '../../src/api/query.ts';
import { copyMirror } from '../../src/destination/copy-mirror.ts';
import { openForWriting } from '../../src/destination/sqlite/open.ts';
import { fillAllTables } from '../support/filled-mirror.ts';
import { transactionPooler } from '../support/postgres/transaction-pooler.ts';
import { postgresServer, type TestSchema, temporarySchema, testSchema } from '../support/postgres.ts';
import { testFolder } from '../support/test-folder.ts';

const file = join(testFolder(), 'm.db');
let there: TestSchema;

/** Copies the file in this thread. */
async function copyTo(url: string): Promise<void> {
  const watch = { signal: new AbortController().signal, onProgress: () => {} };
  await copyMirror(await openStore(file), await openStore(url), watch);
}

beforeAll(async () => {
  const { connection } = openForWriting(file);
  fillAllTables(connection, () => 50);
  connection.close();
  there = await testSchema();
  await copyTo(there.url);
});

afterAll(() => there.drop());

async function rowsOf(sql: string, options: Partial<QueryOptions> = {}): Promise<unknown[]> {
  return Array.fromAsync(await query({ db: there.url, sql, ...options }));
}

describe('query on a mirror in PostgreSQL', () => {
  test('it returns the same values as the same query on a file', async () => {
    const sql = 'select * from assets order by env_id, id';
    expect(await rowsOf(sql)).toEqual(await rowsOf(sql, { db: file }));
    for (const table of ['tests', 'environments', 'sync_runs', 'asset_health_scores', 'sync_checkpoints']) {
      const all = `select * from ${table} order by 1, 2, 3`;
      expect(await rowsOf(all, { bigints: true })).toEqual(await rowsOf(all, { db: file, bigints: true }));
    }
  });

  test('it returns what no mirror has as PostgreSQL writes it, and bytes as bytes whatever format the user prefers', async () => {
    const [row] = await rowsOf(
      "select 'infinity'::timestamptz never, '12026-01-02 03:04:05+00'::timestamptz late, '0044-03-15 BC'::date early, '\\xde00'::bytea bytes",
      { db: `${there.url}&options=-c%20bytea_output%3Descape` },
    );
    expect(row).toEqual({
      ...{ never: 'infinity', late: '12026-01-02 03:04:05+00', early: '0044-03-15 BC' },
      bytes: Buffer.from([0xde, 0]),
    });
  });

  test('it returns exact integers, bytes as bytes, and types unknown to SQLite as text', async () => {
    const sql =
      "select 9007199254740993::int8 big, 7::int8 small, true yes, 1.5::numeric part, sum(2::int8) sum, '\\x00ff'::bytea bytes, array[1,2] list, 'a'::name text, null::text none";
    expect(await rowsOf(sql)).toEqual([
      {
        big: 9007199254740993n,
        small: 7,
        yes: 1,
        part: 1.5,
        sum: 2,
        bytes: Buffer.from([0, 255]),
        list: '{1,2}',
        text: 'a',
        none: null,
      },
    ]);
    expect(await rowsOf('select 7::int8 a, 7::int2 b, 7 c', { bigints: true })).toEqual([{ a: 7n, b: 7n, c: 7n }]);
  });

  test('it returns every digit of a number, whatever the user’s settings', async () => {
    const db = `${there.url}&options=-c%20extra_float_digits%3D0`;
    expect(await rowsOf('select 0.1::float8 + 0.2::float8 as sum', { db })).toEqual([{ sum: 0.1 + 0.2 }]);
  });

  test('it takes parameters by position', async () => {
    expect(await rowsOf('select $1::int + $2::int as sum', { parameters: [1, 2] })).toEqual([{ sum: 3 }]);
    await expect(rowsOf('select $1', { parameters: { a: 1 } })).rejects.toThrow(
      'PostgreSQL takes parameters by position',
    );
    await expect(rowsOf('select $1::int')).rejects.toThrow('the statement has parameters');
  });

  test('it runs any statement that reads and returns rows', async () => {
    expect(await rowsOf('show transaction_read_only')).toEqual([{ transaction_read_only: 'on' }]);
    expect(await rowsOf('values (1), (2)')).toHaveLength(2);
    expect((await rowsOf('explain select 1')).length).toBeGreaterThan(0);
    expect(await rowsOf('select 1 as one where false')).toEqual([]);
  });

  test('it has columns even without rows, and keeps duplicate column names in list rows', async () => {
    const none = await query({ db: there.url, sql: 'select 1 as a, 2 as b where false' });
    expect(none.columns).toEqual(['a', 'b']);
    await none.close();
    const twice = await query({ db: there.url, sql: 'select 1 as a, 2 as a' });
    for await (const portion of twice.portions) expect(portion).toEqual([[1, 2]]);
  });

  test('rows are fetched on demand in portions, and fetching stops with the reader', async () => {
    const result = await query({ db: there.url, sql: 'select generate_series(1, 100000000) as n' });
    let [rows, longest] = [0, 0];
    for await (const portion of result.portions) {
      rows += portion.length;
      longest = Math.max(longest, portion.length);
      if (rows > 10_000) break;
    }
    expect(longest).toBeLessThan(5000);
    const wide = await query({ db: there.url, sql: "select repeat('x', 400000) from generate_series(1, 200)" });
    const sizes: number[] = [];
    for await (const portion of wide.portions) sizes.push(portion.length);
    expect(sizes.reduce((sum, size) => sum + size)).toBe(200);
    expect(Math.max(...sizes.slice(1))).toBeLessThan(5);
    // Other tests use the same server, and closing a connection takes it a moment.
    const still = `select pid from pg_stat_activity where pid <> pg_backend_pid() and query ~ 'generate_series.1, (?:200|100000000)'`;
    await expect.poll(() => there.ask(still), { interval: 20 }).toEqual([]);
  });

  test('it uses the mirror’s own schema, also through a pooler', async () => {
    const pooler = await transactionPooler(await postgresServer());
    onTestFinished(() => pooler.close());
    const db = `${pooler.url}?schema=${there.schema}`;
    expect(await rowsOf('select count(*) as rows from assets', { db })).toEqual([{ rows: 50 }]);
  });

  test.each([
    [
      'insert into marks (env_id, stream, id, number) values (1, 2, 3, 4) returning id',
      'query only reads, but this statement writes',
    ],
    ['delete from assets', 'this statement returns no rows: use a SELECT'],
    ['create table mine (x int)', 'this statement returns no rows: use a SELECT'],
    ['copy (select 1) to stdout', 'this statement returns no rows: use a SELECT'],
    ['copy assets from stdin', 'this statement returns no rows: use a SELECT'],
    ["do 'begin perform 1 / 0; end'", 'this statement returns no rows: use a SELECT'],
    [
      "select set_config('transaction_read_only', 'off', true), nextval('sync_runs_id_seq')",
      'the statement cannot be run',
    ],
    ["select nextval(pg_get_serial_sequence('sync_runs', 'id'))", 'query only reads, but this statement writes'],
    ['commit', 'this statement returns no rows: use a SELECT'],
    ["set search_path to 'public'", 'this statement returns no rows: use a SELECT'],
    ['', 'this statement returns no rows: use a SELECT'],
    ['select 1; select 2', 'query takes one SQL statement'],
    ['commit; delete from assets', 'query takes one SQL statement'],
    ['select 1 +', 'the statement cannot be run: syntax error at end of input (line 1, column 11)'],
    ['select\n  nme from assets', 'the statement cannot be run: column "nme" does not exist (line 2, column 3)'],
    ['select lenght(id) from assets', '(line 1, column 8); No function matches the given name and argument types'],
    ['select 1 / 0', 'the statement cannot be run: division by zero'],
    // PostgreSQL has the same code for this as Citus for a recursive view.
    [
      'select count(*) from lineage_upstream for update',
      "; on Citus, read lineage_upstream_of('ENVIRONMENT_ID') instead of lineage_upstream",
    ],
  ])('it refuses in one line: %s', async (sql, line) => {
    const before = await there.ask('select count(*) as rows from assets');
    await expect(rowsOf(sql)).rejects.toMatchObject({ recovery: 'usage', message: expect.stringContaining(line) });
    expect(await there.ask('select count(*) as rows from assets')).toEqual(before);
  });

  test('a statement that would write a file on the server is refused before it runs', async () => {
    const path = `/tmp/${there.schema}`;
    await expect(rowsOf(`copy (select 1) to '${path}'`)).rejects.toMatchObject({ recovery: 'usage' });
    await expect(rowsOf(`copy (select 1) to program 'touch ${path}'`)).rejects.toMatchObject({ recovery: 'usage' });
    expect(await there.ask(`select pg_stat_file('${path}', true) as found`)).toEqual([{ found: null }]);
  });

  test('a statement that fails after its first rows ends with the same message', async () => {
    await expect(rowsOf('select 1 / (50000 - n) from generate_series(1, 60000) as n')).rejects.toThrow(
      'division by zero',
    );
  });

  test('a statement that exceeds its time limit is cancelled, and the message says what to do', async () => {
    await expect(rowsOf('select pg_sleep(600)', { statementTimeout: 0.05 })).rejects.toMatchObject({
      recovery: 'run',
      message:
        'the statement was cancelled: it took longer than 0.05 seconds, or an administrator cancelled it; make it cheaper, or allow more with --statement-timeout',
    });
    await expect(rowsOf('select 1', { statementTimeout: -1 })).rejects.toThrow('--statement-timeout needs a number');
  });

  test('it refuses a missing mirror and one of another version', async () => {
    const none = await temporarySchema();
    await expect(rowsOf('select 1', { db: none.url })).rejects.toThrow('holds no mirror: make it with `obsync sync`');
    const old = await temporarySchema();
    await copyTo(old.url);
    await old.ask('update __drizzle_migrations set created_at = created_at - 1e15');
    await expect(rowsOf('select 1', { db: old.url })).rejects.toThrow('was made by an unreleased build of obsync');
  });

  test('openMirror refuses a mirror in PostgreSQL, because it reads synchronously', async () => {
    await expect(openMirror({ db: there.url })).rejects.toThrow('openMirror (unlike query) needs a mirror in a file');
  });
});
