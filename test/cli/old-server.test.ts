import { expect, test } from 'vitest';
import { testDatabase } from '../support/postgres/database.ts';
import { obsync, refusal, TOKEN } from './setup.ts';

const COMMANDS = [
  ['sync', '--base-url', 'https://api.example.com'],
  ['migrate'],
  ['status'],
  ['query', 'select 1'],
  ['accounts', 'add', 'shop', '--base-url', 'https://api.example.com', '--token-env', 'OBSYNC_TOKEN'],
  ['accounts', 'list'],
  ['status', '--all'],
  ['worker'],
];

test('a server that is too old is refused in one line by every command, and nothing is made on it', async () => {
  const { url, ask } = await testDatabase();
  // Stands in for the server's own function, which says which version it is.
  await ask(`create schema old;
    create function old.current_setting(text) returns text language sql as $$ select '120022' $$;
    alter database ${new URL(url).pathname.slice(1)} set search_path = old, pg_catalog`);
  for (const command of COMMANDS)
    expect(await obsync(command, { env: { OBSYNC_DB: url, OBSYNC_TOKEN: TOKEN } }), command[0]).toEqual(
      refusal(/runs PostgreSQL 12: obsync needs version 13 or later$/m),
    );
  expect(await ask("select nspname from pg_namespace where nspname like 'obsync%'")).toEqual([]);
});
