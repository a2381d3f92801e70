import { spawnSync } from 'node:child_process';
import { chmodSync, copyFileSync, existsSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { readMirrored } from '../../src/api/schedule-mirror.ts';
import { closeWritten } from '../../src/destination/sqlite/close.ts';
import { openForReading, openForWriting } from '../../src/destination/sqlite/open.ts';
import { openLocked } from '../../src/destination/sqlite/open-locked.ts';
import { clock } from '../../src/settings/sync-settings.ts';
import { takeLock } from '../../state/lock.ts';
import { ANYONE, type Installation, installForAnyone } from '../support/anyone.ts';

const OPEN = new URL('../../src/destination/sqlite/open.ts', import.meta.url).href;

let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'obsync-readers-'));
  path = join(folder, 'obsync.db');
  onTestFinished(() => {
    permit();
    rmSync(folder, { recursive: true });
  });
});

const ALL = ['obsync.db', 'obsync.db-shm', 'obsync.db-wal'];
const filesBeside = (): string[] => readdirSync(folder).filter((name) => !name.includes('.lock'));

/** Makes the folder and its files read-only. */
function forbidWriting(): void {
  for (const name of readdirSync(folder)) chmodSync(join(folder, name), 0o444);
  chmodSync(folder, 0o555);
}

function permit(): void {
  chmodSync(folder, 0o755);
  for (const name of readdirSync(folder)) chmodSync(join(folder, name), 0o644);
}

const stop = new AbortController();
const neverStop = new AbortController().signal;
beforeAll(() => stop.abort());

/** A mirror without auxiliary files: from an earlier version, or a fresh copy. */
function makeAlone(): void {
  openForWriting(path).connection.close();
  expect(filesBeside()).toEqual(['obsync.db']);
}

describe('a reader without write permission', () => {
  let installed: Installation;
  beforeAll(() => {
    installed = installForAnyone('src', 'state', 'node_modules/drizzle-orm');
  });
  afterAll(() => installed.remove());

  /** The output of a program that an unprivileged user runs. */
  function asReader(program: string): string {
    forbidWriting();
    const { stdout, stderr } = spawnSync(installed.node, ['--input-type=module', '--eval', program], {
      ...ANYONE,
      cwd: installed.root,
      encoding: 'utf8',
    });
    permit();
    return `${stdout}${stderr}`.trim();
  }

  const namesSeen = (): string =>
    asReader(`import Database from 'better-sqlite3';
      const connection = new Database(${JSON.stringify(path)}, { readonly: true });
      console.log(connection.prepare('select name from environments order by id').pluck().all().join(' '));
      connection.close();`);

  const openedByObsync = (): string =>
    asReader(`const { openForReading } = await import(${JSON.stringify(join(installed.root, 'src/destination/sqlite/open.ts'))});
      try { openForReading(${JSON.stringify(path)}).connection.close(); console.log('opened'); }
      catch (error) { console.log(error.recovery + ' ' + error.message); }`);

  test('it reads what was last committed at every moment of a sync, and afterwards', () => {
    const mirror = openForWriting(path);
    const { connection } = mirror;
    const seen: [string, string][] = [];
    const look = (moment: string): void => void seen.push([moment, namesSeen()]);
    const insert = (name: string): void =>
      void connection.prepare("insert into environments (id, name, mirrored_at) values (?, ?, 'now')").run(name, name);
    look('made');
    insert('A');
    look('committed');
    connection.exec('begin immediate');
    insert('B');
    look('in a transaction');
    connection.exec('commit');
    connection.pragma('wal_checkpoint(PASSIVE)');
    look('after a passive checkpoint');
    insert('C');
    connection.pragma('wal_checkpoint(TRUNCATE)');
    look('after a truncating checkpoint');
    insert('D');
    closeWritten(mirror);
    look('closed');
    expect(openedByObsync()).toBe('opened');
    look('read by obsync');
    expect(seen).toEqual([
      ['made', ''],
      ['committed', 'A'],
      ['in a transaction', 'A'],
      ['after a passive checkpoint', 'A B'],
      ['after a truncating checkpoint', 'A B C'],
      ['closed', 'A B C D'],
      ['read by obsync', 'A B C D'],
    ]);
  });

  test('it reads what a writer had committed before being killed in a transaction', () => {
    const program = `const { openForWriting } = await import(${JSON.stringify(OPEN)});
      const { connection } = openForWriting(${JSON.stringify(path)});
      connection.exec("insert into environments (id, name, mirrored_at) values ('a', 'A', 'now')");
      connection.exec("begin; insert into environments (id, name, mirrored_at) values ('b', 'B', 'now')");
      process.kill(process.pid, 'SIGKILL');`;
    const { signal } = spawnSync(process.execPath, ['--input-type=module', '--eval', program]);
    expect([signal, namesSeen()]).toEqual(['SIGKILL', 'A']);
  });

  test('without -wal and -shm, the error advises a sync, or immutable=1 for a fixed copy', async () => {
    makeAlone();
    expect(openedByObsync()).toMatch(
      /^usage [^\n]*obsync\.db needs -wal and -shm beside it[^\n]*: run `obsync sync`[^\n]*file:[^\n]*\?immutable=1$/,
    );
    await openLocked(path, { stop: neverStop, quietMs: 0, clock }).close();
    expect(openedByObsync()).toBe('opened');
  });

  test('the error is about permissions if the file itself cannot be read', () => {
    makeAlone();
    forbidWriting();
    const program = `const { openForReading } = await import(${JSON.stringify(join(installed.root, 'src/destination/sqlite/open.ts'))});
      try { openForReading(${JSON.stringify(path)}); } catch (error) { console.log(error.message); }`;
    chmodSync(path, 0);
    const { stdout } = spawnSync(installed.node, ['--input-type=module', '--eval', program], {
      ...ANYONE,
      cwd: '/',
      encoding: 'utf8',
    });
    expect(stdout.trim()).toBe(`${path} cannot be read: check the permissions of the file and of its folder`);
  });
});

describe('the files -wal and -shm beside a mirror', () => {
  const expectLeft = (): void => {
    expect(filesBeside()).toEqual(ALL);
    expect(statSync(`${path}-wal`).size).toBe(0);
    takeLock(path).release();
  };

  test.each([
    ['a run that ended', neverStop],
    ['a run that was stopped', stop.signal],
  ])('they exist from its opening on and stay, with an empty log, after %s', async (_, signal) => {
    makeAlone();
    const mirror = openLocked(path, { stop: signal, quietMs: 0, clock });
    expect(filesBeside()).toEqual(ALL);
    await mirror.state.claimMirror('https://a.example');
    await mirror.close();
    expectLeft();
    expect((await readMirrored(path, 'https://a.example')).environments).toEqual([]);
  });

  test('they stay after an open transaction, which is rolled back on closing', async () => {
    const mirror = openForWriting(path);
    mirror.connection.exec("begin; insert into environments (id, name, mirrored_at) values ('e', 'n', 'now')");
    closeWritten(mirror);
    expectLeft();
    expect((await readMirrored(path, '')).environments).toEqual([]);
  });

  test('they stay after a read for a schedule, and after any other reader', async () => {
    makeAlone();
    await readMirrored(path, 'https://a.example');
    expectLeft();
    openForReading(path).connection.close();
    expectLeft();
  });

  test('they stay after an opening that failed', async () => {
    await openLocked(path, { stop: neverStop, quietMs: 0, clock }).close();
    const writer = new Database(path);
    writer.exec('drop index assets_by_kind; create table assets_by_kind (x)');
    writer.close();
    expect(() => openLocked(path, { stop: neverStop, quietMs: 0, clock })).toThrow('assets_by_kind');
    expectLeft();
  });

  test('the log is not emptied on closing while a reader is in a transaction', async () => {
    const mirror = openForWriting(path);
    const reader = new Database(path, { readonly: true });
    reader.exec('begin');
    reader.prepare('select count(*) from environments').get();
    mirror.connection.exec("insert into environments (id, name, mirrored_at) values ('e', 'n', 'now')");
    closeWritten(mirror);
    expect(filesBeside()).toEqual(ALL);
    reader.close();
    expect((await readMirrored(path, '')).environments).toHaveLength(1);
    expectLeft();
  });

  test('the next run creates them for a copy of the file alone', async () => {
    await openLocked(path, { stop: neverStop, quietMs: 0, clock }).close();
    const copy = join(folder, 'copy.db');
    copyFileSync(path, copy);
    expect(existsSync(`${copy}-wal`)).toBe(false);
    await openLocked(copy, { stop: neverStop, quietMs: 0, clock }).close();
    expect([existsSync(`${copy}-wal`), existsSync(`${copy}-shm`)]).toEqual([true, true]);
  });
});
