import { randomBytes } from 'node:crypto';
import { Client } from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { testDatabase } from '../support/postgres/database.ts';
import { postgresServer } from '../support/postgres.ts';
import { obsync, refusal, TOKEN } from './setup.ts';

const COMMANDS = [
  ['sync', '--base-url', 'https://api.example.com'],
  ['migrate'],
  ['status'],
  ['query', 'select 1'],
  ['copy', '--to', 'copy.db'],
  ['export', '--to', 'lake'],
  ['accounts', 'add', 'shop', '--base-url', 'https://api.example.com', '--token-env', 'OBSYNC_TOKEN'],
  ['accounts', 'list'],
  ['status', '--all'],
  ['worker'],
];

test('every command refuses a server that is too old in one line, and creates nothing on it', async () => {
  const { url, ask } = await testDatabase();
  // Replaces the server's own function that returns its version.
  await ask(`create schema old;
    create function old.current_setting(text) returns text language sql as $$ select '120022' $$;
    alter database ${new URL(url).pathname.slice(1)} set search_path = old, pg_catalog`);
  for (const command of COMMANDS)
    expect(await obsync(command, { env: { OBSYNC_DB: url, OBSYNC_TOKEN: TOKEN } }), command[0]).toEqual(
      refusal(/runs PostgreSQL 12: obsync needs version 13 or later$/m),
    );
  expect(await ask("select nspname from pg_namespace where nspname like 'obsync%'")).toEqual([]);
});

test('every command refuses a database that cannot store every character in one line, and creates nothing in it', async () => {
  const server = new Client({ connectionString: await postgresServer() });
  await server.connect();
  const name = `obsync_test_${randomBytes(6).toString('hex')}`;
  await server.query(`create database ${name} encoding 'LATIN1' locale 'C' template template0`);
  onTestFinished(async () => {
    await server.query(`drop database ${name} with (force)`);
    await server.end();
  });
  const url = new URL(await postgresServer());
  url.pathname = `/${name}`;
  for (const command of COMMANDS)
    expect(await obsync(command, { env: { OBSYNC_DB: url.href, OBSYNC_TOKEN: TOKEN } }), command[0]).toEqual(
      refusal(/is encoded in LATIN1, [^\n]*: create a database with UTF8/m),
    );
});

test('every command refuses the schema obsync_accounts, which is obsync’s own', async () => {
  const env = { OBSYNC_DB: 'postgres://127.0.0.1:1/none?schema=obsync_accounts', OBSYNC_TOKEN: TOKEN };
  for (const command of COMMANDS)
    expect(await obsync(command, { env }), command[0]).toEqual(
      refusal(/obsync uses the schema obsync_accounts itself/),
    );
});
