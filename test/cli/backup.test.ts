import {
  chmodSync,
  copyFileSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { describe, expect, test } from 'vitest';
import { openEarlier, openForWriting } from '../../src/destination/sqlite/open.ts';
import { backup, sync, verify } from '../../src/index.ts';
import { takeLock } from '../../state/lock.ts';
import { HOUR } from '../model/world.ts';
import { allRows, fillAllTables } from '../support/filled-mirror.ts';
import { servedWorld } from '../support/served-world.ts';
import { folder, mirrorFile, obsync, refusal, start } from './setup.ts';

const filled = (): string =>
  mirrorFile(({ connection }) => {
    connection.exec("update mirror set cursor_key = 'as a sync makes it'");
    fillAllTables(connection, () => 40);
  });

function rowsIn(path: string): unknown {
  const { connection } = openEarlier(path);
  try {
    return allRows(connection);
  } finally {
    connection.close();
  }
}

/** Adds so many megabytes to a mirror. */
function grow(path: string, megabytes: number): void {
  const mirror = openForWriting(path);
  mirror.connection.exec('create table ballast (content blob)');
  mirror.connection.prepare('insert into ballast values (zeroblob(?))').run(megabytes * 1024 * 1024);
  mirror.connection.close();
}

describe('a backup', () => {
  test('it is one file with all rows and the permissions of the mirror, and reading it needs no file beside it', async () => {
    const db = filled();
    const to = join(folder(), 'backup.db');
    chmodSync(db, 0o640);
    const ended = await obsync(['backup', to, '--db', db]);
    expect(ended).toEqual({
      code: 0,
      stderr: '',
      stdout: expect.stringMatching(/backup\.db is a backup of \S+: \d+ rows, [\d.]+ KiB\.\n$/),
    });
    expect(statSync(to).mode & 0o777).toBe(0o640);
    expect(rowsIn(to)).toEqual(rowsIn(db));
    expect(readdirSync(join(to, '..')).sort()).toEqual(['backup.db', 'backup.db.lock']);
  });

  test('it has the state at its beginning, and a sync that writes meanwhile is not blocked', async () => {
    const db = filled();
    grow(db, 8);
    const before = rowsIn(db);
    const to = join(folder(), 'backup.db');
    const made = backup({ db, to });
    const writer = openForWriting(db);
    let isDone = false;
    let writes = 0;
    const ended = made.finally(() => {
      isDone = true;
    });
    while (!isDone) {
      writer.connection.prepare("update environments set name = name || '.'").run();
      writes += 1;
      await new Promise(setImmediate);
    }
    writer.connection.close();
    expect(await ended).toMatchObject({ db, to, replaced: false, bytes: statSync(to).size });
    expect(writes).toBeGreaterThan(1);
    expect(rowsIn(to)).toEqual(before);
    expect(rowsIn(db)).not.toEqual(before);
  });

  test('a later one replaces it, and says so', async () => {
    const db = filled();
    const to = join(folder(), 'backup.db');
    await backup({ db, to });
    const mirror = openForWriting(db);
    mirror.connection.exec("update environments set name = 'renamed'");
    mirror.connection.close();
    const { stdout } = await obsync(['backup', to, '--db', db, '--json']);
    expect(JSON.parse(stdout)).toMatchObject({ db, to, replaced: true });
    expect(rowsIn(to)).toEqual(rowsIn(db));
  });

  test('the next sync continues a mirror that was restored from it', async () => {
    const { world, server } = await servedWorld();
    const [db, to] = [join(folder(), 'm.db'), join(folder(), 'backup.db')];
    const options = { baseUrl: server.url, token: 'the-token', db, fullEvery: 7 };
    await sync(options);
    await backup({ db, to });
    world.advance(3 * HOUR);
    await sync(options);
    for (const end of ['-wal', '-shm']) rmSync(`${db}${end}`);
    copyFileSync(to, db);
    const next = await sync(options);
    expect(next).toMatchObject({ status: 'done', run: 2 });
    expect(next.streams.filter(({ mode }) => mode === 'scan')).toEqual([]);
    expect(await verify(options)).toMatchObject({ equal: true });
  });
});

describe.each(['backup', 'copy'])('%s', (command) => {
  const args = (db: string, to: string) =>
    command === 'backup' ? ['backup', to, '--db', db] : ['copy', '--db', db, '--to', to];

  test('to a symbolic link, it puts the file where the link leads', async () => {
    const [db, real, link] = [filled(), join(folder(), 'real.db'), join(folder(), 'link.db')];
    symlinkSync(real, link);
    expect(await obsync(args(db, link))).toMatchObject({ code: 0 });
    expect(lstatSync(link).isSymbolicLink()).toBe(true);
    expect(rowsIn(real)).toEqual(rowsIn(db));
  });

  test('to a relative link in a linked folder, it puts the file where SQLite would', async () => {
    const [db, place] = [filled(), folder()];
    for (const each of ['a', 'b/sub']) mkdirSync(join(place, each), { recursive: true });
    symlinkSync('../b/sub', join(place, 'a/linked'));
    symlinkSync('../real.db', join(place, 'b/sub/link.db'));
    expect(await obsync(args(db, join(place, 'a/linked/link.db')))).toMatchObject({ code: 0 });
    expect(rowsIn(join(place, 'b/real.db'))).toEqual(rowsIn(db));
    expect(readdirSync(join(place, 'a'))).toEqual(['linked']);
  });

  test('it refuses a place where the log of another mirror was left, which SQLite would apply to the new file', async () => {
    const [db, other] = [filled(), filled()];
    const mirror = openForWriting(other);
    mirror.connection.exec("update environments set name = 'another'");
    // As after a kill, and `rm` of the mirror alone.
    copyFileSync(`${other}-wal`, `${other}.kept`);
    mirror.connection.close();
    rmSync(other);
    renameSync(`${other}.kept`, `${other}-wal`);
    expect(await obsync(args(db, other))).toEqual(
      refusal(/m\.db-wal was left by a mirror that is no longer here: move it/),
    );
    expect(existsSync(other)).toBe(false);
  });
});

test('a backup with other hard links is replaced, and they keep the earlier one', async () => {
  const [db, to] = [filled(), join(folder(), 'backup.db')];
  await backup({ db, to });
  linkSync(to, `${to}.yesterday`);
  const before = rowsIn(to);
  grow(db, 1);
  expect(await obsync(['backup', to, '--db', db])).toMatchObject({ code: 0 });
  expect(rowsIn(`${to}.yesterday`)).toEqual(before);
  expect(statSync(to).size).toBeGreaterThan(statSync(`${to}.yesterday`).size);
});

describe('a backup that fails', () => {
  const setUp = async () => {
    const db = filled();
    const place = folder();
    const to = join(place, 'backup.db');
    await backup({ db, to });
    grow(db, 4);
    const before = readFileSync(to);
    const expectUnchanged = (): void => {
      expect(readFileSync(to).equals(before)).toBe(true);
      expect(readdirSync(place).sort()).toEqual(['backup.db', 'backup.db.lock']);
    };
    return { db, to, expectUnchanged };
  };

  test('a backup whose file cannot grow leaves the earlier one', async () => {
    const { db, to, expectUnchanged } = await setUp();
    const small = ['-c', 'ulimit -f 1000 && exec "$@"', '-'];
    const { code, stderr } = await start(['backup', to, '--db', db], { within: ['bash', ...small] }).ended;
    expect(stderr).toMatch(/^obsync: \S+backup\.db (could not be read or written|cannot grow)[^\n]*\n$/);
    expect(code).toBe(1);
    expectUnchanged();
  });

  test('a backup of a damaged mirror leaves the earlier one', async () => {
    const { db, to, expectUnchanged } = await setUp();
    const bytes = readFileSync(db);
    // The root of some index: SQLite opens the file and reads other tables as if nothing had happened.
    const { connection } = openEarlier(db);
    const page = Number(connection.prepare("select rootpage from sqlite_schema where type = 'index'").pluck().get());
    const size = Number(connection.pragma('page_size', { simple: true }));
    connection.close();
    bytes.fill(0xff, (page - 1) * size, page * size);
    writeFileSync(db, bytes);
    expect(await obsync(['backup', to, '--db', db])).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^obsync: \S+m\.db is damaged \([^\n]*\): restore it from an earlier backup\n$/),
    });
    expectUnchanged();
  });

  test('a backup that is stopped leaves the earlier one', async () => {
    const { db, to, expectUnchanged } = await setUp();
    const stop = new AbortController();
    const made = backup({ db, to, signal: stop.signal });
    stop.abort();
    await expect(made).rejects.toMatchObject({
      recovery: 'signal',
      message: expect.stringMatching(/nothing was changed/),
    });
    expectUnchanged();
  });

  test('a backup to where another one is being made leaves the earlier one', async () => {
    const { db, to, expectUnchanged } = await setUp();
    const lock = takeLock(to);
    expect(await obsync(['backup', to, '--db', db])).toMatchObject({ code: 4 });
    lock.release();
    expectUnchanged();
  });
});

describe('a backup is refused in one line', () => {
  test('a backup of no mirror, or to no file, is refused', async () => {
    const db = filled();
    expect(await obsync(['backup', 'b.db'])).toEqual(refusal(/obsync\.db does not exist: make it with `obsync sync`/));
    expect(await obsync(['backup', '--db', db])).toEqual(refusal(/a backup is a file: name one/));
    expect(await obsync(['backup', 'postgres://127.0.0.1/d?sslmode=disable', '--db', db])).toEqual(
      refusal(/a backup is a file/),
    );
    for (const to of [['-'], ['--to', '-']])
      expect(await obsync(['backup', ...to, '--db', db])).toEqual(refusal(/cannot be written to stdout/));
  });

  test('a backup of a mirror in PostgreSQL is refused with the command that makes one', async () => {
    expect(await obsync(['backup', 'b.db', '--db', 'postgres://127.0.0.1:1/d?schema=shop'])).toEqual(
      refusal(/is in PostgreSQL: run `pg_dump --schema=shop`, or `obsync copy --to FILE`$/m),
    );
  });

  test.each<[string, RegExp, (place: string, db: string) => string]>([
    ['a folder', /is a folder: name another file/, (place) => place],
    ['a folder that is missing', /in a folder that does not exist/, (place) => join(place, 'none', 'b.db')],
    ['the mirror', /is the mirror itself/, (_, db) => db],
    ['a mirror in use', /is a mirror in use, with a -wal or -shm file/, () => inUse()],
    ['a text', /is not the backup of a mirror/, (place) => written(join(place, 'b.txt'), 'text')],
    ['another database', /is not the backup of a mirror/, (place) => otherDatabase(join(place, 'b.db'))],
  ])('a backup to %s is refused and leaves it unchanged', async (_, reason, choose) => {
    const db = filled();
    const to = choose(folder(), db);
    const before = existsSync(to) && statSync(to).isFile() ? readFileSync(to) : null;
    expect(await obsync(['backup', to, '--db', db])).toEqual(refusal(reason));
    expect(existsSync(to) && statSync(to).isFile() ? readFileSync(to) : null).toEqual(before);
  });

  function inUse(): string {
    const path = filled();
    openForWriting(path);
    return path;
  }

  function written(path: string, text: string): string {
    mkdirSync(join(path, '..'), { recursive: true });
    writeFileSync(path, text);
    return path;
  }

  function otherDatabase(path: string): string {
    const connection = new Database(path);
    connection.exec('create table t (a)');
    connection.close();
    return path;
  }
});
