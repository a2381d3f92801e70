import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type MirrorFile, openForReading } from '../../src/destination/sqlite/open.ts';
import { readStatement } from '../../src/destination/sqlite/read-statement.ts';
import { mirrorFile } from '../cli/setup.ts';

let mirror: MirrorFile;
beforeAll(() => {
  mirror = openForReading(mirrorFile());
});
afterAll(() => mirror.connection.close());

const refused = (message: RegExp) =>
  expect.objectContaining({ recovery: 'usage', message: expect.stringMatching(message) });
const rows = (sql: string) => [...readStatement(mirror, sql).rows];
/** Reads like the command. */
const EXACT = { bigints: true };

describe('a statement that query accepts', () => {
  test('its columns are named as in the statement, and whole numbers are exact', () => {
    const reading = readStatement(
      mirror,
      "select 9223372036854775807 as n, 0.5 as part, x'00ff' as blob, 'x' as n; -- done",
      EXACT,
    );
    expect(reading.columns).toEqual(['n', 'part', 'blob', 'n']);
    expect([...reading.rows]).toEqual([[9223372036854775807n, 0.5, Buffer.from([0, 255]), 'x']]);
  });

  test.each([
    'select 1',
    'with t as (select 1) select * from t',
    'values (1)',
    'pragma user_version',
    'explain select 1',
  ])('any statement that reads is accepted: %s', (sql) => expect(rows(sql)).not.toHaveLength(0));

  test('the file can be closed before the rows are read to the end', () => {
    const other = openForReading(mirror.path);
    const reading = readStatement(other, 'select 1 as a union all select 2', EXACT);
    const [first] = reading.rows;
    expect(first).toEqual([1n]);
    reading.close();
    expect(() => other.connection.close()).not.toThrow();
  });
});

describe('a statement that query refuses', () => {
  test.each([
    'delete from environments',
    'insert into environments (id, name, mirrored_at) values (1, 2, 3) returning id',
    'create table t (a)',
    'create temp table t (a)',
    'pragma user_version = 7',
    'pragma journal_mode = delete',
    'pragma wal_checkpoint',
    'vacuum',
  ])('it writes: %s', (sql) => expect(() => readStatement(mirror, sql)).toThrow(refused(/only reads/)));

  test.each(["attach 'other.db' as other", 'detach main', 'begin', 'pragma query_only = 0', 'pragma cache_size = 1'])(
    'it returns no rows: %s',
    (sql) => expect(() => readStatement(mirror, sql)).toThrow(refused(/returns no rows/)),
  );

  test.each(['', ' ', '-- nothing', 'select 1; select 2', 'select 1; delete from environments'])(
    'it is not one statement: %o',
    (sql) => expect(() => readStatement(mirror, sql)).toThrow(refused(/one SQL statement/)),
  );

  test.each([
    ['selec 1', /near "selec": syntax error/],
    ['select * from nowhere', /no such table: nowhere/],
    ['select nope from assets', /no such column: nope/],
    ["select load_extension('x')", /not authorized|no such function/],
  ])('it is invalid, with SQLite’s message shown: %s', (sql, words) => expect(() => rows(sql)).toThrow(refused(words)));

  test.each(['select ?', 'select :id'])('it has parameters without values: %s', (sql) =>
    expect(() => rows(sql)).toThrow(refused(/parameters/)),
  );

  test('it fails on its first row, before anything is printed', () =>
    expect(() => readStatement(mirror, "select json('{')")).toThrow(refused(/malformed JSON/)));

  test('it fails on a later row', () => {
    const sql = `select json(value) from json_each('["1", "{"]')`;
    expect(() => rows(sql)).toThrow(refused(/malformed JSON/));
  });
});
