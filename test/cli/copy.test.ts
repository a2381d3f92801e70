import { lstatSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openForReading } from '../../src/destination/sqlite/open.ts';
import { allRows, fillAllTables } from '../support/filled-mirror.ts';
import { temporarySchema } from '../support/postgres.ts';
import { folder, mirrorFile, obsync, refusal } from './setup.ts';

function rowsIn(path: string): unknown {
  const { connection } = openForReading(path);
  try {
    return allRows(connection);
  } finally {
    connection.close();
  }
}

const filled = (): string =>
  mirrorFile(({ connection }) => {
    connection.exec("update mirror set cursor_key = 'as a sync makes it'");
    fillAllTables(connection, () => 20);
  });

test('copy copies a mirror to PostgreSQL and back, with the password from variables or a file, and prints no password', async () => {
  const { url } = await temporarySchema();
  const [from, back, dbFile] = [filled(), join(folder(), 'back.db'), join(folder(), 'address')];
  const { password } = new URL(url);
  writeFileSync(dbFile, url, { mode: 0o600 });
  const there = await obsync(['copy', '--db', from], { env: { OBSYNC_TO: url } });
  expect(there).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/\?schema=\S+ is a copy of .* rows in \d+ tables/s),
  });
  const here = await obsync(['copy', '--db-file', dbFile, '--to', back, '--json']);
  expect(here.code).toBe(0);
  expect(JSON.parse(here.stdout)).toMatchObject({ to: back, rows: expect.any(Number) });
  expect(rowsIn(back)).toEqual(rowsIn(from));
  for (const { stdout, stderr } of [there, here])
    for (const secret of [password, decodeURIComponent(password)]) expect(stdout + stderr).not.toContain(secret);
});

test('copy refuses a missing or taken destination in one line, and leaves nothing behind', async () => {
  const from = filled();
  expect(await obsync(['copy', '--db', from])).toEqual(refusal(/no destination for the copy: name one with --to/));
  expect(await obsync(['copy', '--db', from, '--to', from])).toEqual(refusal(/exists already: name a new file/));
  expect(await obsync(['copy', '--db', from, '--to', 'postgres://ann:zX9@h/q'])).toEqual(
    refusal(/--to contains a password, which others can read in the command line: .* or set OBSYNC_TO/),
  );
  const { code, stderr } = await obsync([
    'copy',
    '--db',
    from,
    '--to',
    'postgres://ann@127.0.0.1:1/q',
    '--log-level',
    'warn',
  ]);
  expect(code).toBe(1);
  expect(stderr).toMatch(
    /^obsync: postgres:\/\/ann@127.0.0.1:1\/q\?schema=obsync cannot be reached: nothing listens there/,
  );
});

test('a copy replaces a symbolic link in its way, and leaves what the link points to alone', async () => {
  const cwd = folder();
  writeFileSync(join(cwd, 'victim'), 'kept');
  symlinkSync('victim', join(cwd, '.to.db.copy'));
  expect(await obsync(['copy', '--db', filled(), '--to', 'to.db'], { cwd })).toMatchObject({ code: 0 });
  expect(readFileSync(join(cwd, 'victim'), 'utf8')).toBe('kept');
  expect(lstatSync(join(cwd, 'to.db')).isFile()).toBe(true);
});

test('query prints the same for a mirror in PostgreSQL as for a file, in every format', async () => {
  const { url } = await temporarySchema();
  const from = filled();
  const env = { OBSYNC_DB: url };
  expect((await obsync(['copy', '--db', from], { env: { OBSYNC_TO: url } })).code).toBe(0);
  const sql = 'select env_id, id, name, extra, synced_at, mirrored_at, null as empty from assets order by env_id, id';
  for (const format of ['csv', 'json', 'ndjson', 'table'])
    expect(await obsync(['query', sql, '--format', format], { env })).toEqual(
      await obsync(['query', sql, '--format', format, '--db', from]),
    );
  expect(await obsync(['query', 'delete from assets'], { env })).toEqual(refusal(/query only reads/));
  expect(await obsync(['query', 'selekt 1'], { env })).toEqual(
    refusal(/syntax error at or near "selekt" \(line 1, column 1\)/),
  );
  const slow = await obsync(['query', 'select pg_sleep(600)', '--statement-timeout', '0.05'], { env });
  expect(slow).toMatchObject({
    code: 1,
    stdout: '',
    stderr: expect.stringMatching(/cancelled: it took longer than 0.05 seconds/),
  });
});
