import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Database } from 'better-sqlite3';
import { describe, expect, onTestFinished, test } from 'vitest';
import * as postgresTables from '../../schema/postgres.ts';
import { copy } from '../../src/api/copy.ts';
import { openStore } from '../../src/api/open-store.ts';
import { type CopyEvent, type CopyWatch, copyMirror } from '../../src/destination/copy-mirror.ts';
import { COPIED_TABLES } from '../../src/destination/sql/copied-tables.ts';
import { openForReading, openForWriting } from '../../src/destination/sqlite/open.ts';
import { takeLock } from '../../state/lock.ts';
import { allRows, fillAllTables } from '../support/filled-mirror.ts';
import { transactionPooler } from '../support/postgres/transaction-pooler.ts';
import { postgresServer, temporarySchema } from '../support/postgres.ts';
import { testFolder } from '../support/test-folder.ts';

/** A mirror file with rows in every table. */
function filledMirror(rowsOf: Parameters<typeof fillAllTables>[1] = () => 60): string {
  const path = join(testFolder(), 'm.db');
  const mirror = openForWriting(path);
  fillAllTables(mirror.connection, rowsOf);
  mirror.connection.close();
  return path;
}

function rowsIn(path: string): Record<string, unknown[]> {
  const { connection } = openForReading(path);
  try {
    return allRows(connection);
  } finally {
    connection.close();
  }
}

/** Copies a file into PostgreSQL and back. @returns all rows of the copy */
async function copiedBack(from: string, url: string): Promise<Record<string, unknown[]>> {
  const back = join(testFolder(), 'back.db');
  await copy({ db: from, to: url });
  await copy({ db: url, to: back });
  return rowsIn(back);
}

/** Copies in this thread, so watchers run during the copy. */
async function copyWatched(db: string, to: string, watch: Partial<CopyWatch>) {
  const all = { signal: new AbortController().signal, onProgress: () => {}, ...watch };
  return copyMirror(await openStore(db), await openStore(to), all);
}

describe('copy', () => {
  test('the list of copied tables has every table of a mirror, in both databases', () => {
    const inPostgres = Object.values(postgresTables).map(
      (table) => table[Symbol.for('drizzle:Name') as never] as string,
    );
    expect(COPIED_TABLES.filter(({ name }) => !inPostgres.includes(name))).toEqual([]);
    expect(new Set(COPIED_TABLES.map(({ name }) => name)).size).toBe(COPIED_TABLES.length);
    const path = filledMirror(() => 0);
    const { connection } = openForReading(path);
    const ofFile = connection
      .prepare(
        "select name from sqlite_schema where type = 'table' and name not like 'sqlite_%' and name not like '\\_\\_%' escape '\\'",
      )
      .pluck()
      .all() as string[];
    connection.close();
    expect(ofFile.toSorted()).toEqual(COPIED_TABLES.map(({ name }) => name).toSorted());
  });

  test('copying a file to PostgreSQL and back preserves every row of every table', async () => {
    const [from, back, { url }] = [filledMirror(), join(testFolder(), 'back.db'), await temporarySchema()];
    const events: CopyEvent[] = [];
    const there = await copy({ db: from, to: url, onProgress: (event) => events.push(event) });
    const here = await copy({ db: url, to: back });
    expect(rowsIn(back)).toEqual(rowsIn(from));
    expect(here.tables).toEqual(there.tables);
    expect(events.map(({ table, rows }) => ({ table, rows }))).toEqual(there.tables);
    expect(there.rows).toBeGreaterThan(1000);
  });

  test('copying between two PostgreSQL schemas, and between two files, preserves every row', async () => {
    const [from, other, back] = [filledMirror(), join(testFolder(), 'other.db'), join(testFolder(), 'back.db')];
    const [one, two] = [await temporarySchema(), await temporarySchema()];
    await copy({ db: from, to: other });
    await copy({ db: other, to: one.url });
    await copy({ db: one.url, to: two.url });
    await copy({ db: two.url, to: back });
    expect(rowsIn(back)).toEqual(rowsIn(from));
  });

  test('it works through a pooler in transaction mode', async () => {
    const pooler = await transactionPooler(await postgresServer());
    onTestFinished(() => pooler.close());
    const { schema: name } = await temporarySchema();
    const url = `${pooler.url}?schema=${name}`;
    const from = filledMirror();
    expect(await copiedBack(from, url)).toEqual(rowsIn(from));
  });

  test('a copy in a file has the indexes, statistics and journal mode of a mirror, and no leftover files', async () => {
    const [from, { url }] = [filledMirror(), await temporarySchema()];
    await copy({ db: from, to: url });
    const to = join(testFolder(), 'to.db');
    await copy({ db: url, to });
    const [one, other] = [openForReading(from).connection, openForReading(to).connection];
    const shape = "select type, name, tbl_name, sql from sqlite_schema where name not like 'sqlite_%' order by 1, 2";
    const plain = (row: Record<string, unknown>) => ({
      ...row,
      sql: String(row['sql'])
        .toLowerCase()
        .replaceAll(/[`"\s]/g, ''),
    });
    const shapeOf = (connection: Database) =>
      connection
        .prepare(shape)
        .all()
        .map(plain as never);
    expect(shapeOf(other)).toEqual(shapeOf(one));
    expect(other.prepare('select count(*) from sqlite_stat1').pluck().get()).toBeGreaterThan(20);
    expect(other.pragma('journal_mode', { simple: true })).toBe('wal');
    one.close();
    other.close();
    expect(readdirSync(join(to, '..')).filter((name) => !/^to\.db(\.lock|-wal|-shm)?$/.test(name))).toEqual([]);
  });

  test('a copy in PostgreSQL continues its sequences after the largest id', async () => {
    const { url, ask } = await temporarySchema();
    await copy({ db: filledMirror(), to: url });
    const [greatest] = await ask('select max(id) as id from sync_runs');
    const [next] = await ask(
      "insert into sync_runs (cycle_id, status, started_at) values (1, 'done', now()) returning id",
    );
    expect(Number(next?.['id'])).toBe(Number(greatest?.['id']) + 1);
  });

  test('a copy of an empty mirror is an empty mirror', async () => {
    const { url, ask } = await temporarySchema();
    const empty = filledMirror(() => 0);
    const back = await copiedBack(empty, url);
    expect(back['sync_runs']).toEqual([]);
    const [next] = await ask(
      "insert into sync_runs (cycle_id, status, started_at) values (1, 'done', now()) returning id",
    );
    expect(next).toEqual({ id: '1' });
  });

  test('a copy is of one instant, whatever is committed meanwhile', async () => {
    const { url } = await temporarySchema();
    const from = filledMirror();
    const before = rowsIn(from);
    const writer = openForWriting(from).connection;
    onTestFinished(() => void writer.close());
    const back = join(testFolder(), 'back.db');
    await copyWatched(from, url, {
      onProgress: () => void writer.exec("update assets set name = 'later'; delete from marks; delete from mirror"),
    });
    await copy({ db: url, to: back });
    expect(rowsIn(back)).toEqual(before);
  });

  test('rows of any size are copied in portions', async () => {
    const from = filledMirror(({ name }) => (name === 'marks' ? 20_000 : 3));
    const { connection } = openForWriting(from);
    connection.prepare('update rejected_rows set payload = ?').run('x'.repeat(3_000_000));
    connection.close();
    expect(await copiedBack(from, (await temporarySchema()).url)).toEqual(rowsIn(from));
  });
});

describe('the refusals of copy', () => {
  test('a destination that has a mirror or another file is refused', async () => {
    const [from, { url }] = [filledMirror(), await temporarySchema()];
    await copy({ db: from, to: url });
    await expect(copy({ db: from, to: url })).rejects.toMatchObject({
      recovery: 'usage',
      message: expect.stringMatching(/holds a mirror already: drop its schema/),
    });
    const taken = join(testFolder(), 'x');
    writeFileSync(taken, 'of another program');
    for (const to of [from, taken])
      await expect(copy({ db: from, to })).rejects.toMatchObject({
        recovery: 'usage',
        message: `${to} exists already: name a new file, or move it away first, with its -wal if there is one`,
      });
  });

  test('a missing mirror, folder or destination is refused', async () => {
    const { url } = await temporarySchema();
    await expect(copy({ db: url, to: join(testFolder(), 'x.db') })).rejects.toMatchObject({
      recovery: 'usage',
      message: expect.stringMatching(/holds no mirror: make it with `obsync sync`/),
    });
    await expect(copy({ db: join(testFolder(), 'none.db'), to: url })).rejects.toThrow('does not exist');
    await expect(copy({ db: filledMirror(), to: join(testFolder(), 'none', 'x.db') })).rejects.toThrow(
      'make the folder',
    );
    await expect(copy({ db: filledMirror() } as never)).rejects.toThrow(
      'no destination for the copy: name one with --to',
    );
    await expect(copy({ db: filledMirror(), to: 'postgres:x' })).rejects.toThrow('is not valid');
  });

  test('a destination that a sync has locked is refused', async () => {
    const to = join(testFolder(), 'to.db');
    const lock = takeLock(to);
    onTestFinished(() => lock.release());
    await expect(copy({ db: filledMirror(), to })).rejects.toMatchObject({ recovery: 'locked' });
  });

  test('U+0000 becomes U+FFFD in PostgreSQL, in texts and JSON (R19)', async () => {
    const from = filledMirror();
    const { connection } = openForWriting(from);
    const sql = 'update assets set name = ?, tags = ? where id = (select min(id) from assets) returning id';
    const { id } = connection.prepare(sql).get('a\0b', '["\\u0000","\\\\u0000"]') as { id: string };
    connection.close();
    const { url, ask } = await temporarySchema();
    await copy({ db: from, to: url });
    const stored = await ask(`select name, tags->>0 as first, tags->>1 as second from assets where id = '${id}'`);
    expect(stored).toEqual([{ name: 'a\ufffdb', first: '\ufffd', second: '\\u0000' }]);
  });

  test('a key that PostgreSQL cannot store is refused, and the message names it', async () => {
    const from = filledMirror();
    const { connection } = openForWriting(from);
    connection.prepare('update assets set id = ? where id = (select min(id) from assets)').run('a\0b');
    connection.close();
    const { url, ask } = await temporarySchema();
    await expect(copy({ db: from, to: url })).rejects.toMatchObject({
      recovery: 'usage',
      message: expect.stringMatching(
        /cannot hold the character U\+0000, which is in the key \[.*a\\u0000b"\] of assets/,
      ),
    });
    expect(await ask('select current_schema() as found')).toEqual([{ found: null }]);
    await copy({ db: from, to: join(testFolder(), 'file.db') });
  });

  test('a stopped or failed copy leaves nothing behind', async () => {
    const [from, { url, ask }] = [filledMirror(), await temporarySchema()];
    const stop = new AbortController();
    const stopLate = ({ table }: CopyEvent): void => {
      if (table === 'assets') stop.abort();
    };
    const to = join(testFolder(), 'to.db');
    for (const where of [to, url])
      await expect(copyWatched(from, where, { signal: stop.signal, onProgress: stopLate })).rejects.toMatchObject({
        recovery: 'signal',
      });
    expect(existsSync(to)).toBe(false);
    expect(readdirSync(join(to, '..'))).toEqual(['to.db.lock']);
    expect(await ask('select current_schema() as found')).toEqual([{ found: null }]);
    await copy({ db: from, to });
    await copy({ db: from, to: url });
  });
});
