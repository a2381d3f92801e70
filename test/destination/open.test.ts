import { spawnSync } from 'node:child_process';
import { hash } from 'node:crypto';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { readMigrationFiles } from 'drizzle-orm/migrator';
import { beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { migrateFile, sqliteMigrationTimes } from '../../src/destination/sqlite/migrations.ts';
import { createScratchTables } from '../../src/destination/sqlite/mirror-reader.ts';
import { type MirrorFile, mirrorExists, openForReading, openForWriting } from '../../src/destination/sqlite/open.ts';
import { ANYONE, type Installation, installForAnyone } from '../support/anyone.ts';

const MIGRATIONS = new URL('../../schema/migrations/', import.meta.url).pathname;

let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'obsync-'));
  path = join(folder, 'obsync.db');
  onTestFinished(() => {
    chmodSync(folder, 0o755);
    rmSync(folder, { recursive: true });
  });
});

/** The content of every file in the folder, except SQLite's auxiliary files. */
const onDisk = () =>
  readdirSync(folder)
    .filter((name) => !/-(wal|shm)$/.test(name))
    .sort()
    .map((name) => [
      name,
      statSync(join(folder, name)).isFile() ? hash('sha256', readFileSync(join(folder, name))) : 'folder',
    ]);

function database(...statements: string[]): void {
  const connection = new Database(path);
  for (const statement of statements) connection.exec(statement);
  connection.close();
}

function makeMirror(): void {
  openForWriting(path).connection.close();
}

/** A mirror of a build before the first release, with one row. */
function makeUnreleasedMirror(): void {
  makeMirror();
  database(
    'update __drizzle_migrations set created_at = 1',
    "insert into environments (id, name, mirrored_at) values ('e', 'Production', 'now')",
  );
}

/** Migrates the mirror like a later version with one more migration. */
function migrateLater(...sql: string[]): void {
  const connection = new Database(path);
  try {
    const all = readMigrationFiles({ migrationsFolder: MIGRATIONS });
    migrateFile(connection, [...all, { sql, hash: '', bps: true, folderMillis: sqliteMigrationTimes().last + 1 }]);
  } finally {
    connection.close();
  }
}

const indexesOf = ({ connection }: Pick<MirrorFile, 'connection'>): string[] =>
  (connection.prepare("select sql from sqlite_schema where type = 'index' and sql > ''").pluck().all() as string[])
    .map((sql) => sql.replaceAll('`', '"').replaceAll(', ', ',').toLowerCase())
    .sort();

/** During a first sync, there are no secondary indexes. */
function dropIndexes(): void {
  const connection = new Database(path);
  const names = connection.prepare("select name from sqlite_schema where type = 'index' and sql > ''").pluck().all();
  for (const name of names) connection.exec(`drop index ${name}`);
  connection.close();
}

/** One line that names the file and says what to do, with the recovery `usage` (exit 2). */
const clear = (says: string) =>
  expect.objectContaining({
    recovery: 'usage',
    message: expect.stringMatching(new RegExp(`^[^\\n]*${folder}[^\\n]* ${says}[^\\n]*: [^\\n]+$`)),
  });

const openings = [
  ['for writing', openForWriting],
  ['for reading', openForReading],
] as const;

describe.each(openings)('a file opened %s', (_, open) => {
  test.each<[string, () => void, string]>([
    [
      'a file that is not a database',
      () => writeFileSync(path, 'id,name\n1,orders\n'.repeat(200)),
      'is not an SQLite file',
    ],
    ['another program’s database', () => database('create table users (id)'), 'is not a mirror'],
    [
      'the database of another program that uses drizzle',
      () =>
        database(
          'create table users (id); create table __drizzle_migrations (id, hash, created_at numeric)',
          "insert into __drizzle_migrations values (1, 'h', 1)",
        ),
      'is not a mirror',
    ],
    [
      'a mirror of a newer version',
      () => {
        makeMirror();
        database("insert into __drizzle_migrations (hash, created_at) values ('h', 9999999999999)");
      },
      'was made by a newer obsync',
    ],
    ['a folder', () => mkdirSync(path), 'is a folder'],
  ])('%s is refused in one line that says what to do, and nothing on disk changes', (__, make, says) => {
    make();
    const before = onDisk();
    expect(() => open(path)).toThrow(clear(says));
    expect(onDisk()).toEqual(before);
  });

  test('a missing folder is refused in one line that says what to do, and is not created', () => {
    const before = onDisk();
    expect(() => open(join(folder, 'none', 'obsync.db'))).toThrow(clear('does not exist'));
    expect(onDisk()).toEqual(before);
  });
});

/** Opens the mirror as an unprivileged user, whom file permissions bind. @returns its output */
function openAsAnyone(installed: Installation): string {
  const program = `
    const { openForWriting } = await import(${JSON.stringify(join(installed.root, 'src/destination/sqlite/open.ts'))});
    try { openForWriting(${JSON.stringify(path)}); console.log('opened'); }
    catch (error) { console.log(error.recovery + ' ' + error.message); }`;
  const { stdout, stderr } = spawnSync(installed.node, ['--input-type=module', '--eval', program], {
    ...ANYONE,
    cwd: '/',
    encoding: 'utf8',
  });
  return `${stdout}${stderr}`.trim();
}

describe('a mirror opened by an unprivileged user', () => {
  let installed: Installation;
  beforeAll(() => {
    installed = installForAnyone('src', 'state', 'node_modules/drizzle-orm');
    return installed.remove;
  });

  test.each([
    ['that is up to date, in a read-only folder,', makeMirror, 0o555],
    ['of an unreleased build, in a read-only folder,', makeUnreleasedMirror, 0o555],
    ['that is up to date, in a writable folder,', makeMirror, 0o777],
  ])('a mirror %s is refused for writing if its permissions forbid it', (_, make, mode) => {
    make();
    chmodSync(path, 0o444);
    chmodSync(folder, mode);
    const before = onDisk();
    expect(openAsAnyone(installed)).toBe(
      `usage ${path} cannot be written: check the permissions of the file and of its folder`,
    );
    expect(onDisk()).toEqual(before);
  });
});

describe('openForWriting', () => {
  test('a missing or empty file becomes a mirror', () => {
    makeMirror();
    expect(mirrorExists(path)).toBe(true);
    rmSync(path);
    writeFileSync(path, '');
    expect(mirrorExists(path)).toBe(false);
    makeMirror();
    expect(openForReading(path).connection.prepare('select count(*) from assets').pluck().get()).toBe(0);
  });

  test('a mirror whose creation was interrupted before it had tables is created', () => {
    database('create table __drizzle_migrations (id integer primary key, hash text not null, created_at numeric)');
    makeMirror();
    expect(openForReading(path).connection.prepare('select count(*) from assets').pluck().get()).toBe(0);
  });

  test('a mirror of an unreleased build is refused with advice and left unchanged', () => {
    makeUnreleasedMirror();
    const before = onDisk();
    for (const open of [openForWriting, openForReading])
      expect(() => open(path)).toThrow(clear('was made by an unreleased build of obsync'));
    expect(onDisk()).toEqual(before);
  });

  test('a mirror of an older version is migrated and keeps its rows', () => {
    makeMirror();
    database("insert into environments (id, name, mirrored_at) values ('e', 'Production', 'now')");
    migrateLater('create table later (id text)');
    expect(() => openForWriting(path)).toThrow(clear('was made by a newer obsync'));
    const connection = new Database(path);
    expect(connection.prepare('select id, name from environments').all()).toEqual([{ id: 'e', name: 'Production' }]);
    expect(connection.prepare('select count(*) from later').pluck().get()).toBe(0);
    connection.close();
  });

  test('a user’s view that blocks a migration is named in the refusal, and the mirror still opens for reading', () => {
    makeMirror();
    database('create view my_keys as select cursor_key from mirror');
    const migrate = () => migrateLater('alter table mirror drop column cursor_key');
    expect(migrate).toThrow(/of your own \(my_keys\): drop them, run `obsync sync`/);
    openForReading(path).connection.close();
    database('drop view my_keys');
    migrate();
  });

  test('a failed migration leaves the mirror as it was', () => {
    makeMirror();
    expect(() => migrateLater('create table later (id text)', 'create view live_assets as select 1')).toThrow(
      'live_assets already exists',
    );
    const { connection } = openForWriting(path);
    expect(connection.prepare("select 1 from sqlite_schema where name = 'later'").all()).toEqual([]);
    connection.close();
  });

  test('a migration may drop an index that a killed first sync never built', () => {
    makeMirror();
    dropIndexes();
    migrateLater('DROP INDEX `assets_live`;');
    const connection = new Database(path);
    expect(indexesOf({ connection })).toEqual([]);
    connection.close();
  });

  test('the write-ahead log shrinks to its limit once a long reader has ended', () => {
    const writing = openForWriting(path);
    const reading = openForReading(path);
    const insert = writing.connection.prepare(
      "insert into assets (env_id, id, mirrored_at, extra) values ('e', ?, 'now', ?)",
    );
    const logBytes = () => statSync(`${path}-wal`).size;
    reading.connection.exec('begin');
    reading.connection.prepare('select count(*) from assets').get();
    for (let i = 0; i < 30; i += 1) insert.run(`a${i}`, 'x'.repeat(1024 * 1024));
    const greatest = logBytes();
    reading.connection.exec('commit');
    writing.connection.pragma('wal_checkpoint(restart)');
    insert.run('last', null);
    expect([greatest > 30 * 1024 * 1024, logBytes()]).toEqual([true, 16 * 1024 * 1024]);
    for (const { connection } of [reading, writing]) connection.close();
  });

  test('a mirror is in WAL mode and synced at checkpoints, so it can be read while it is written', () => {
    const { connection } = openForWriting(path);
    expect(connection.pragma('journal_mode', { simple: true })).toBe('wal');
    expect(connection.pragma('synchronous', { simple: true })).toBe(1);
    connection.exec("begin immediate; insert into environments (id, name, mirrored_at) values ('e', 'n', 'now')");
    expect(openForReading(path).connection.prepare('select count(*) from environments').pluck().get()).toBe(0);
    connection.close();
  });

  test('little of the recorded keys is cached in memory, whether the mirror is written or compared (R27)', () => {
    const cacheOf = ({ connection }: MirrorFile) => connection.pragma('temp.cache_size', { simple: true });
    const writing = openForWriting(path);
    const comparing = openForReading(path);
    createScratchTables(comparing);
    expect([cacheOf(writing), cacheOf(comparing)]).toEqual([-2000, -2000]);
    for (const { connection } of [writing, comparing]) connection.close();
  });

  test('a mirror opened for reading cannot be written', () => {
    makeMirror();
    const { connection } = openForReading(path);
    expect(() => connection.exec('delete from assets')).toThrow(/readonly/);
  });
});
