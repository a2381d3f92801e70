import { spawnSync } from 'node:child_process';
import { hash } from 'node:crypto';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { drizzle } from 'drizzle-orm/better-sqlite3';
import { readMigrationFiles } from 'drizzle-orm/migrator';
import { beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { assetLineage, assets, columnLineage, columns } from '../../schema/assets.ts';
import { latestTestExecutions, testExecutions, tests } from '../../schema/data-tests.ts';
import { syncStreamRuns } from '../../schema/sync.ts';
import { NO_PROGRESS } from '../../src/core/checkpoint.ts';
import { readState } from '../../src/destination/sqlite/file-state.ts';
import { buildSecondaryIndexes } from '../../src/destination/sqlite/migrations.ts';
import { noteApart } from '../../src/destination/sqlite/mirror-reader.ts';
import { type MirrorFile, mirrorExists, openForReading, openForWriting } from '../../src/destination/sqlite/open.ts';
import { loadCheckpoint } from '../../state/checkpoint-store.ts';
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

/** The contents of every file of the folder, without the files that SQLite keeps beside an open database. */
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

/** A mirror as it was after its first migrations, with one row. */
function makeOlderMirror(migrations = 1): void {
  const connection = new Database(path);
  const db = drizzle(connection);
  const session = db as unknown as { dialect: { migrate(...given: unknown[]): void }; session: unknown };
  session.dialect.migrate(readMigrationFiles({ migrationsFolder: MIGRATIONS }).slice(0, migrations), session.session);
  connection.exec("insert into environments (id, name, mirrored_at) values ('e', 'Production', 'now')");
  connection.close();
}

const TABLES = [
  assets,
  assetLineage,
  columns,
  columnLineage,
  tests,
  latestTestExecutions,
  testExecutions,
  syncStreamRuns,
];

const indexesOf = ({ connection }: Pick<MirrorFile, 'connection'>): string[] =>
  (connection.prepare("select sql from sqlite_schema where type = 'index' and sql > ''").pluck().all() as string[])
    .map((sql) => sql.replaceAll('`', '"').replaceAll(', ', ',').toLowerCase())
    .sort();

/** A first sync has no secondary indexes until its end. */
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

describe.each(openings)('opened %s, nothing on disk changes and one line says what to do', (_, open) => {
  test.each<[string, () => void, string]>([
    [
      'if the file is not a database',
      () => writeFileSync(path, 'id,name\n1,orders\n'.repeat(200)),
      'is not an SQLite file',
    ],
    ['another program’s database', () => database('create table users (id)'), 'is not a mirror'],
    [
      'if the database belongs to another program that uses drizzle',
      () =>
        database(
          'create table users (id); create table __drizzle_migrations (id, hash, created_at numeric)',
          "insert into __drizzle_migrations values (1, 'h', 1)",
        ),
      'is not a mirror',
    ],
    [
      'if the mirror is of a later version',
      () => {
        makeMirror();
        database("insert into __drizzle_migrations (hash, created_at) values ('h', 9999999999999)");
      },
      'was made by a newer obsync',
    ],
    ['a folder', () => mkdirSync(path), 'is a folder'],
  ])('%s', (__, make, says) => {
    make();
    const before = onDisk();
    expect(() => open(path)).toThrow(clear(says));
    expect(onDisk()).toEqual(before);
  });

  test('if the folder does not exist', () => {
    const before = onDisk();
    expect(() => open(join(folder, 'none', 'obsync.db'))).toThrow(clear('does not exist'));
    expect(onDisk()).toEqual(before);
  });
});

/** Opens the mirror as a user who is not root, for whom permissions count. @returns its output */
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

describe('opened by a user who is not root', () => {
  let installed: Installation;
  beforeAll(() => {
    installed = installForAnyone('src', 'state');
    return installed.remove;
  });

  test.each([
    ['up to date, in a folder that', makeMirror, 0o555],
    ['older, in a folder that', makeOlderMirror, 0o555],
    ['up to date, that alone', makeMirror, 0o777],
  ])('a mirror, %s can only be read, is not opened for writing', (_, make, mode) => {
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
  test('a mirror is created if there is no file, or an empty one', () => {
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

  test('a mirror of an older version with a view of the user’s own that prevents its migration is refused, by the name of that view, and stays as it is', () => {
    makeOlderMirror(15);
    database('create view my_marks as select last_mark from mirror');
    expect(() => openForWriting(path)).toThrow(/of your own \(my_marks\): drop them, run `obsync sync`/);
    expect(() => openForReading(path)).toThrow(clear('was made by an older obsync'));
    database('drop view my_marks');
    openForWriting(path).connection.close();
    openForReading(path).connection.close();
  });

  test('a mirror of an older version is migrated when it is written, and keeps its rows', () => {
    makeOlderMirror();
    expect(() => openForReading(path)).toThrow(clear('was made by an older obsync'));
    const { connection } = openForWriting(path);
    expect(connection.prepare('select id, name from environments').all()).toEqual([{ id: 'e', name: 'Production' }]);
    expect(connection.prepare('select count(*) from live_assets').pluck().get()).toBe(0);
    connection.close();
    openForReading(path).connection.close();
  });

  test('a mirror of an older version loses the rows and notes of keys longer than 1,000 bytes, but no history (R17, R20)', () => {
    makeOlderMirror(28);
    const [stored, tooLong] = ['é'.repeat(500), `${'é'.repeat(500)}x`];
    for (const id of [stored, tooLong])
      database(
        `insert into assets (env_id, id, mirrored_at) values ('e', '${id}', 'now')`,
        `insert into asset_lineage (env_id, upstream_asset_id, downstream_asset_id, mirrored_at) values ('e', 'a', '${id}', 'now')`,
        `insert into marks (env_id, stream, id, number) values ('e', 'columns', '${id}', 1)`,
        `insert into rejected_rows (run_id, env_id, stream, row_key, reason, payload, seen_at)
          values (1, 'e', 'assets', '${id}', '', '{}', 'now'), (1, 'e', 'tests', '["${id}x"]', '', '["${id}x"]', 'now')`,
        `insert into test_executions (env_id, sub_test_unique_id, id, test_id, sub_type, status, start_time, duration_seconds, mirrored_at)
          values ('e', 's', '${id}', 't', 'x', 'PASS', 'now', 1, 'now')`,
      );
    const { connection } = openForWriting(path);
    const held = (sql: string) => connection.prepare(sql).pluck().all();
    expect(held('select id from assets')).toEqual([stored]);
    expect(held('select downstream_asset_id from asset_lineage')).toEqual([stored]);
    expect(held('select id from marks')).toEqual([stored]);
    expect(held("select row_key from rejected_rows where stream = 'assets'")).toEqual([stored]);
    expect(held("select row_key from rejected_rows where stream = 'tests'")).toHaveLength(2);
    expect(held('select id from test_executions order by id')).toEqual([stored, tooLong]);
    connection.close();
  });

  describe('a mirror of the version before `serve`', () => {
    beforeEach(() => {
      makeOlderMirror(2);
      database(
        "insert into mirror (id, base_url, mirrored_at, last_mark) values (1, 'https://a.example', 'now', 3)",
        "insert into assets (env_id, id, kind, mirrored_at) values ('e', 'a', 'table', 'now')",
        "insert into columns (env_id, id, asset_id, mirrored_at, deleted_at) values ('e', 'c', 'a', 'now', 'now')",
        "insert into tests (env_id, id, disabled, mirrored_at) values ('e', 't', 1, 'now')",
      );
    });
    const rowsOf = ({ connection }: MirrorFile) =>
      ['mirror', 'assets', 'columns', 'tests', 'environments'].map((table) =>
        connection.prepare(`select * from ${table}`).all(),
      );

    test.each([
      ['has all its indexes', () => {}],
      ['has all its indexes, if a first sync was killed that had left them out', dropIndexes],
    ])('keeps its rows and %s', (_, make) => {
      make();
      const mirror = openForWriting(path);
      buildSecondaryIndexes(mirror.connection, TABLES);
      const row = { extra: null, deletion: null, mirrored_at: 'now' };
      expect(rowsOf(mirror)).toMatchObject([
        [{ id: 1, base_url: 'https://a.example' }],
        [{ ...row, id: 'a', kind: 'table', deleted_at: null }],
        [{ ...row, id: 'c', asset_id: 'a', deleted_at: 'now' }],
        [{ ...row, id: 't', disabled: 1, deleted_at: null }],
        [{ id: 'e', name: 'Production' }],
      ]);
      const found = indexesOf(mirror);
      mirror.connection.close();
      rmSync(path);
      expect(found).toEqual(indexesOf(openForWriting(path)));
    });

    test('it continues, in every environment, the clock and the counter that the file had (R18, R21)', () => {
      database("insert into sync_checkpoints (env_id, stream, unavailable) values ('f', 'assets', 0)");
      const { connection } = openForWriting(path);
      expect(connection.prepare('select * from mirror_environments order by env_id').all()).toEqual([
        { env_id: 'e', mirrored_at: 'now', last_mark: 3, returned_count: 0 },
        { env_id: 'f', mirrored_at: 'now', last_mark: 3, returned_count: 0 },
      ]);
      connection.close();
    });

    test('a scan that it has due because an environment is back stays due, until it begins (R13)', () => {
      database(
        "insert into sync_checkpoints (env_id, stream, unavailable, scan_due) values ('e', 'assets', 0, 'returned')",
      );
      const mirror = openForWriting(path);
      expect(readState(mirror, loadCheckpoint('e', 'assets'))).toEqual({ ...NO_PROGRESS, scanDue: 'returned' });
      mirror.connection.close();
    });

    test('it has its own key for the cursors of `serve` from its first opening on', () => {
      const keyOf = () => {
        const { connection } = openForWriting(path);
        const key = connection.prepare('select cursor_key from mirror').pluck().get();
        connection.close();
        return key;
      };
      const key = keyOf();
      expect(key).toMatch(/^[0-9a-f]{64}$/);
      expect(keyOf()).toBe(key);
    });
  });

  test('a mirror whose migration fails stays as it was, and one line says why', () => {
    makeOlderMirror();
    database('create view live_assets as select 1');
    const message = expect.stringMatching(/^[^\n]*obsync\.db [^\n]*live_assets\W already exists$/);
    expect(() => openForWriting(path)).toThrow(expect.objectContaining({ recovery: 'run', message }));
    expect(() => openForReading(path)).toThrow(clear('was made by an older obsync'));
    database('drop view live_assets');
    const { connection } = openForWriting(path);
    expect(connection.prepare('select count(*) from environments').pluck().get()).toBe(1);
    connection.close();
  });

  test('a mirror that had NULL for lists that were left out has empty lists, except where extra has their value', () => {
    makeOlderMirror(9);
    const row = "'e', 'x', 'then'";
    for (const table of ['assets', 'tests'])
      database(
        `insert into ${table} (env_id, id, mirrored_at) values (${row})`,
        `insert into ${table} (env_id, id, mirrored_at, owners, tags) values ('e', 'full', 'then', '["me"]', '[1]')`,
        `insert into ${table} (env_id, id, mirrored_at, extra) values ('e', 'odd', 'then', '{"owners":1,"tags":"pii"}')`,
        `insert into ${table} (env_id, id, mirrored_at, extra) values ('e', 'other', 'then', '{"more":null}')`,
      );
    const { connection } = openForWriting(path);
    for (const table of ['assets', 'tests'])
      expect(connection.prepare(`select id, owners, tags, mirrored_at from ${table} order by id`).raw().all()).toEqual([
        ['full', '["me"]', '[1]', 'then'],
        ['odd', null, null, 'then'],
        ['other', '[]', '[]', 'then'],
        ['x', '[]', '[]', 'then'],
      ]);
    connection.close();
  });

  test('a mirror’s log gives back its disk space although there is always a reader', () => {
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

  test('a mirror can be read while it is written: it is in WAL mode, and synced at checkpoints only', () => {
    const { connection } = openForWriting(path);
    expect(connection.pragma('journal_mode', { simple: true })).toBe('wal');
    expect(connection.pragma('synchronous', { simple: true })).toBe(1);
    connection.exec("begin immediate; insert into environments (id, name, mirrored_at) values ('e', 'n', 'now')");
    expect(openForReading(path).connection.prepare('select count(*) from environments').pluck().get()).toBe(0);
    connection.close();
  });

  test('a mirror keeps few of its noted keys in memory, whether it is written or compared (R27)', () => {
    const cacheOf = ({ connection }: MirrorFile) => connection.pragma('temp.cache_size', { simple: true });
    const writing = openForWriting(path);
    const comparing = openForReading(path);
    noteApart(comparing);
    expect([cacheOf(writing), cacheOf(comparing)]).toEqual([-2000, -2000]);
    for (const { connection } of [writing, comparing]) connection.close();
  });

  test('a mirror that is opened for reading cannot be written', () => {
    makeMirror();
    const { connection } = openForReading(path);
    expect(() => connection.exec('delete from assets')).toThrow(/readonly/);
  });
});
