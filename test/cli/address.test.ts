import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { folder, mirrorFile, obsync, refusal } from './setup.ts';

const SECRET = 'zX9-secret';
const WITH_PASSWORD = `postgres://ann:${SECRET}@127.0.0.1:1/q`;

const HOW = 'remove it there, and set PGPASSWORD, use ~/.pgpass or a service file';

test.each([
  ['sync', []],
  ['status', []],
  ['query', ['select 1']],
  ['export', ['--to', 'out']],
  ['serve', []],
])('%s refuses an address with a password on the command line, without repeating it', async (command, rest) => {
  for (const db of [['--db', WITH_PASSWORD], [`--db=postgres://127.0.0.1/q?user=ann&password=${SECRET}`]]) {
    const ended = await obsync([command, ...db, ...rest], { env: { OBSYNC_BASE_URL: 'https://x.example' } });
    expect(ended).toEqual(refusal(/--db contains a password, which others can read in the command line/));
    expect(ended.stderr).toContain(HOW);
    expect(ended.stderr).not.toContain(SECRET);
  }
});

test('a config file with a password in the address is refused', async () => {
  const config = join(folder(), 'obsync.json');
  writeFileSync(config, JSON.stringify({ db: WITH_PASSWORD }));
  const ended = await obsync(['status', '--config', config]);
  expect(ended).toEqual(refusal(/obsync\.json/));
  expect(ended.stderr).toContain(HOW);
  expect(ended.stderr).not.toContain(SECRET);
});

test('OBSYNC_DB and the file of --db-file may contain the password, and serve does not print it', async () => {
  const dbFile = join(folder(), 'address');
  writeFileSync(dbFile, `${WITH_PASSWORD}\n`, { mode: 0o600 });
  const env = { OBSYNC_SERVE_TOKEN: 'a-token' };
  const line = /postgres:\/\/ann@127\.0\.0\.1:1\/q\?schema=obsync cannot be reached/;
  for (const [args, variables] of [
    [[], { OBSYNC_DB: WITH_PASSWORD }],
    [['--db-file', dbFile], {}],
  ] as const) {
    const ended = await obsync(['serve', ...args], { env: { ...env, ...variables } });
    expect(ended).toMatchObject({ code: 1, stderr: expect.stringMatching(line) });
    expect(ended.stderr).not.toContain(SECRET);
  }
});

test('a file of --db-file may name a mirror file, and causes a warning if everyone can read it', async () => {
  const dbFile = join(folder(), 'address');
  writeFileSync(dbFile, mirrorFile());
  chmodSync(dbFile, 0o644);
  const { code, stdout, stderr } = await obsync(['query', 'select 1 as x', '--db-file', dbFile]);
  expect({ code, stdout }).toEqual({ code: 0, stdout: 'x\n1\n' });
  expect(stderr).toContain(`every user of this machine can read the address file ${dbFile}`);
});

test('--db-file in a config file is relative to that file', async () => {
  const place = folder();
  writeFileSync(join(place, 'address'), mirrorFile(), { mode: 0o600 });
  writeFileSync(join(place, 'obsync.json'), '{"dbFile": "address"}');
  const { code, stdout } = await obsync(['query', 'select 1 as x', '--config', join(place, 'obsync.json')]);
  expect({ code, stdout }).toEqual({ code: 0, stdout: 'x\n1\n' });
});

test('--db together with --db-file is refused', async () => {
  const dbFile = join(folder(), 'address');
  writeFileSync(dbFile, 'm.db', { mode: 0o600 });
  const line = /two mirrors, one in --db and one in the file .*address: pass only one/;
  expect(await obsync(['status', '--db', 'm.db', '--db-file', dbFile])).toEqual(refusal(line));
  expect(await obsync(['status', '--db-file', dbFile], { env: { OBSYNC_DB: 'm.db' } })).toEqual(refusal(line));
});

test('no message contains a password, even for an invalid address and at any log level', async () => {
  for (const args of [
    [WITH_PASSWORD],
    ['status', WITH_PASSWORD],
    ['status', '--bd', WITH_PASSWORD],
    ['query', 'select 1', `--file=${WITH_PASSWORD}`],
    ['status', '--config', WITH_PASSWORD],
    ['demo', '--db', WITH_PASSWORD, '--log-level', 'debug'],
    ['sync', '--base-url', WITH_PASSWORD, '--log-level', 'debug'],
    ['status', '--db', `mysql://ann:${SECRET}@h/q`],
  ]) {
    const { code, stdout, stderr } = await obsync(args, { env: { OBSYNC_TOKEN: 'a-token' } });
    expect(code).toBe(2);
    expect(stdout + stderr).not.toContain(SECRET);
  }
});

test.each(['--db', '--db-file'])(
  'an unencrypted connection to another host, given by %s, causes a warning',
  async (flag) => {
    const address = 'postgres://ann@db.invalid/q';
    const file = join(folder(), 'address');
    writeFileSync(file, address, { mode: 0o600 });
    const { stderr } = await obsync(['status', flag, flag === '--db' ? address : file]);
    expect(stderr).toMatch(
      /the connection to db\.invalid is not encrypted.*use sslmode=verify-full or sslmode=require/,
    );
    const encrypted = await obsync(['status', '--db', `${address}?sslmode=require`]);
    expect(encrypted.stderr).not.toContain('not encrypted');
  },
);
