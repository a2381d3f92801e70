import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { obsync } from '../cli/setup.ts';
import { type OwnServer, startServer } from '../support/postgres/server.ts';
import { type TestSchema, testSchema } from '../support/postgres.ts';
import { expectMirrored, quiet, standing } from './postgres-reference.ts';
import { startSync } from './postgres-writer.ts';
import { serveWorld } from './served-world.ts';

let server: OwnServer;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.remove());

/** A world, the result of one undisturbed sync, and an empty schema. */
async function setUp(meet: (number: number) => boolean | Promise<boolean> = () => true) {
  const world = standing(['e1']);
  const { contents } = await quiet(world);
  const schema = await testSchema(server.url);
  const url = await serveWorld(world, meet);
  return { schema, url, contents };
}

const oneLine = (line: RegExp) => expect.stringMatching(new RegExp(`^obsync: [^\\n]*${line.source}[^\\n]*\\n$`));

/** Expects the next sync to succeed and to complete the mirror. */
async function expectNextWhole(schema: TestSchema, url: string, contents: unknown): Promise<void> {
  expect(await startSync(url, schema.url, 'e1').ended).toMatchObject({ code: 0, stderr: '' });
  await expectMirrored(schema.url, contents);
}

/** A database user with its own settings, who may create schemas. */
async function userWith(schema: TestSchema, setting: string): Promise<string> {
  const user = `user_${schema.schema}`;
  await schema.ask(`create role ${user} login password 'p'; grant create on database postgres to ${user};
    alter role ${user} ${setting}`);
  const url = new URL(schema.url);
  url.username = user;
  url.password = 'p';
  return url.href;
}

/** In the middle of the next sync, the connection `other` locks a table until it rolls back. */
async function setUpLocked() {
  const other = new Client({ connectionString: server.url });
  await other.connect();
  onTestFinished(() => other.end());
  const made = await setUp(async (number) => {
    if (number === 5) await other.query(`begin; lock table ${made.schema.schema}.columns in exclusive mode`);
    return true;
  });
  return { ...made, other };
}

describe('a sync into PostgreSQL', () => {
  test('it continues when the server restarts during the run', async () => {
    const restart = async (): Promise<void> => {
      await server.stop();
      starting = server.start();
    };
    let starting: Promise<void> | null = null;
    const { schema, url, contents } = await setUp(async (number) => {
      if (number === 9) await restart();
      return true;
    });
    expect(await startSync(url, schema.url, 'e1').ended).toMatchObject({ code: 0, stderr: '' });
    await starting;
    await expectMirrored(schema.url, contents);
  });

  test('it ends with one clear line when the server stays down, and the next run completes it', async () => {
    let isMet = false;
    const { schema, url, contents } = await setUp(async (number) => {
      if (number === 9 && !isMet) {
        isMet = true;
        await server.stop();
      }
      return true;
    });
    const { code, stderr } = await startSync(url, schema.url, 'e1').ended;
    await server.start();
    expect({ code, stderr }).toEqual({ code: 1, stderr: oneLine(/nothing listens there/) });
    await expectNextWhole(schema, url, contents);
  });

  test('it continues when an administrator repeatedly ends all of its connections', async () => {
    const { schema, url, contents } = await setUp(async (number) => {
      if (number % 9 === 0)
        await schema.ask(`select pg_terminate_backend(pid, 5000) from pg_stat_activity
          where pid <> pg_backend_pid() and backend_type = 'client backend'`);
      return true;
    });
    expect(await startSync(url, schema.url, 'e1').ended).toMatchObject({ code: 0, stderr: '' });
    await expectMirrored(schema.url, contents);
  });

  test.each([
    ['53100', /has no room left on its disk: make room and run again; nothing is lost/],
    ['53200', /is out of memory/],
    ['58030', /could not read or write its files/],
  ])(
    'it ends with one clear line when the server refuses a write with %s, and the next run completes it',
    async (code, line) => {
      const { schema, url, contents } = await setUp(async (number) => {
        if (number === 5)
          await schema.ask(`create function fail() returns trigger language plpgsql as
          $$ begin raise 'could not extend file' using errcode = '${code}'; end $$;
          create trigger fail before insert on columns for each row execute function fail()`);
        return true;
      });
      const failed = await startSync(url, schema.url, 'e1').ended;
      expect(failed).toMatchObject({ code: 1, stderr: oneLine(line) });
      await schema.ask('drop function fail cascade');
      await expectNextWhole(schema, url, contents);
    },
  );

  test('it ends with one clear line when it exceeds statement_timeout, and the next run completes it', async () => {
    const { schema, url, contents, other } = await setUpLocked();
    const db = await userWith(schema, "set statement_timeout = '1s'");
    const failed = await startSync(url, db, 'e1').ended;
    await other.query('rollback');
    expect(failed).toMatchObject({ code: 1, stderr: oneLine(/took too long: raise statement_timeout/) });
    await expectNextWhole(schema, url, contents);
  });

  test('it continues when its idle connections are closed after a moment', async () => {
    const { schema, url, contents } = await setUp(async (number) => {
      const left = `select 1 from pg_stat_activity where usename like 'user\\_%'`;
      // The connection that proves the process alive is opened again each time.
      if (number === 5)
        await expect.poll(async () => (await schema.ask(left)).length, { interval: 20 }).toBeLessThan(2);
      return true;
    });
    const db = await userWith(schema, "set idle_session_timeout = '300ms'");
    expect(await startSync(url, db, 'e1').ended).toMatchObject({ code: 0, stderr: '' });
    await expectMirrored(schema.url, contents);
  });

  test('SIGTERM ends it during a long commit, and its environment is free at once (R27)', async () => {
    const { schema, url, contents, other } = await setUpLocked();
    const stopped = startSync(url, schema.url, 'e1');
    const waits = `select 1 from pg_stat_activity where wait_event_type = 'Lock'`;
    await expect.poll(() => schema.ask(waits), { interval: 20 }).toHaveLength(1);
    stopped.kill('SIGTERM');
    expect(await stopped.ended).toMatchObject({ code: 143, stderr: oneLine(/stopped/) });
    expect(await schema.ask('select lease_owner from mirror_environments')).toEqual([{ lease_owner: null }]);
    expect(await schema.ask(waits)).toEqual([]);
    await other.query('rollback');
    await expectNextWhole(schema, url, contents);
  });
});

describe('a command on PostgreSQL', () => {
  const COMMANDS = [
    ['sync', '--base-url=http://127.0.0.1:1', '--allow-http'],
    ['plan', '--base-url=http://127.0.0.1:1', '--allow-http'],
    ['status'],
    ['query', 'select 1'],
    ['copy', '--to=copy.db'],
  ];

  async function said(db: string, code: number, line: RegExp, commands = COMMANDS): Promise<void> {
    for (const args of commands) {
      const ended = await obsync(args, { env: { OBSYNC_DB: db, OBSYNC_TOKEN: 'x' } });
      expect(ended, args[0]).toMatchObject({ code, stderr: oneLine(line) });
    }
  }

  test('it says in one line that its server is down, refuses the password or has no connections left', async () => {
    const schema = await testSchema(server.url);
    const away = new URL(schema.url);
    away.port = '1';
    await said(away.href, 1, /nothing listens there/);
    const wrong = new URL(schema.url);
    wrong.password = 'wrong';
    await said(wrong.href, 2, /refused the password/);
    await said(await userWith(schema, 'connection limit 0'), 1, /has too many connections/);
  });

  test('it says in one line that its user may create nothing or only read', async () => {
    const { schema, url } = await setUp();
    const readOnly = await userWith(schema, 'set default_transaction_read_only = on');
    const args = ['sync', `--base-url=${url}`, '--allow-http', '--env=e1'];
    await said(readOnly, 2, /is read-only/, [args]);
    await schema.ask(`revoke create on database postgres from user_${schema.schema};
      alter role user_${schema.schema} reset default_transaction_read_only`);
    await said(readOnly, 2, /refused for lack of permission/, [args]);
  });
});
