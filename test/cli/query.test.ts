import { spawnSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { describe, expect, test } from 'vitest';
import { environments } from '../../schema/assets.ts';
import { folder, MAIN, mirrorFile, NODE, obsync, refusal } from './setup.ts';

const query = (sql: string, ...args: string[]) => obsync(['query', sql, '--db', mirrorFile(), ...args]);

describe('obsync query', () => {
  test('it prints rows of the mirror, as CSV unless stdout is a terminal', async () => {
    const row = { id: 'e', name: 'Production', mirrored_at: '2026-11-20T04:10:00.000000Z' };
    const db = mirrorFile((mirror) => mirror.db.insert(environments).values(row).run());
    const sql = 'select id, name, cron from environments';
    expect(await obsync(['query', sql, '--db', db])).toEqual({
      code: 0,
      stdout: 'id,name,cron\ne,Production,\n',
      stderr: '',
    });
  });

  test.each([
    ['csv', 'a,b\n1,\n'],
    ['json', '[\n{"a":1,"b":null}\n]\n'],
    ['ndjson', '{"a":1,"b":null}\n'],
    ['table', '┌───┬──────┐\n│ a │ b    │\n├───┼──────┤\n│ 1 │ NULL │\n└───┴──────┘\n'],
  ])('it prints rows as %s', async (format, stdout) => {
    expect(await query('select 1 as a, null as b', '--format', format)).toEqual({ code: 0, stdout, stderr: '' });
  });

  test.each(['-- why\nselect 1 as a', '--why\nselect 1 as a'])(
    'it accepts SQL that starts with a comment: %j',
    async (sql) => {
      expect(await query(sql)).toEqual({ code: 0, stdout: 'a\n1\n', stderr: '' });
    },
  );

  test('it reads its statement from a file', async () => {
    const file = join(folder(), 'q.sql');
    writeFileSync(file, '-- one\nselect 1 as a;\n');
    const db = mirrorFile();
    expect(await obsync(['query', '-f', file, '--db', db])).toEqual({ code: 0, stdout: 'a\n1\n', stderr: '' });
  });

  test.each([['-'], ['-f', '-'], ['-f-'], ['--file', '-'], ['--file=-']])(
    'it reads its statement from stdin: %s %s',
    async (...words) => {
      const args = ['query', ...words.filter((word) => word !== undefined), '--db', mirrorFile()];
      expect(await obsync(args, {}, 'select 2 as b')).toEqual({ code: 0, stdout: 'b\n2\n', stderr: '' });
    },
  );

  test('its process reads its stdin, and exits quietly if the reader of its output closes the pipe', () => {
    const endless = 'with recursive c(x) as (select 1 union all select x + 1 from c) select x from c';
    const shell = '"$0" "$1" query - --db "$2" | head -c 1 >/dev/null; echo "$PIPESTATUS"';
    const args = ['-c', shell, NODE, MAIN, mirrorFile()];
    const { stdout, stderr } = spawnSync('bash', args, { encoding: 'utf8', input: endless });
    expect({ stdout, stderr }).toEqual({ stdout: '0\n', stderr: '' });
  });
});

describe('obsync query refuses in one line and exits 2', () => {
  test('a statement that writes is refused and changes nothing', async () => {
    const db = mirrorFile();
    expect(await obsync(['query', 'delete from mirror', '--db', db])).toEqual(refusal(/only reads/));
    expect((await obsync(['query', 'select count(*) as n from mirror', '--db', db])).stdout).toBe('n\n1\n');
  });

  test('a statement that attaches another file is refused and creates none', async () => {
    const cwd = folder();
    const sql = "attach 'other.db' as other";
    expect(await obsync(['query', sql, '--db', mirrorFile()], { cwd })).toEqual(refusal(/returns no rows/));
    expect(existsSync(join(cwd, 'other.db'))).toBe(false);
  });

  test('a statement that is not valid SQL is refused', async () => {
    expect(await query('selec 1')).toEqual(refusal(/near "selec": syntax error/));
  });

  test('a statement with an unknown name is refused', async () => {
    expect(await query('select * from asset')).toEqual(refusal(/no such table: asset\n$/));
  });

  test('a statement with a row that cannot be computed is refused', async () => {
    expect(await query("select json('{')")).toEqual(refusal(/malformed JSON/));
  });

  test('an unknown format is refused', async () => {
    expect(await query('select 1', '--format', 'xml')).toEqual(refusal(/format.*"csv"/));
  });

  test('anything but exactly one statement is refused', async () => {
    expect(await obsync(['query'])).toEqual(refusal(/./));
    expect(await obsync(['query', 'select 1', 'select 2'])).toEqual(refusal(/select 2/));
  });

  test('a missing mirror file is refused and not created', async () => {
    const cwd = folder();
    expect(await obsync(['query', 'select 1', '--db', 'm.db'], { cwd })).toEqual(refusal(/m\.db does not exist/));
    expect(existsSync(join(cwd, 'm.db'))).toBe(false);
  });

  test('a file that is not a mirror is refused', async () => {
    const foreign = join(folder(), 'foreign.db');
    new Database(foreign).exec('create table t (a)').close();
    expect(await obsync(['query', 'select 1', '--db', foreign])).toEqual(refusal(/not a mirror/));
  });
});
