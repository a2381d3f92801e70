import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { MirrorFile } from '../../src/destination/sqlite/open.ts';
import { EXPORT_FORMATS } from '../../src/export/formats.ts';
import { obsync, refusal } from '../cli/setup.ts';
import {
  type ExportChoice,
  execution,
  exportedMirror,
  exportOf,
  fillMirror,
  folder,
  insert,
  manifestIn,
  mirroredAt,
  verifyOf,
} from './setup.ts';

async function exported(choice: ExportChoice = {}, fill?: (mirror: MirrorFile) => void) {
  const { mirror, to: against } = await exportedMirror(choice, fill);
  return { mirror, against, verify: () => verifyOf(mirror, against) };
}

const fileOf = (against: string, table: string) => manifestIn(against).files.find((file) => file.table === table);

describe('obsync verify --against', () => {
  test.each(EXPORT_FORMATS)('an export of tables and views as %s is equal', async (format) => {
    const { verify, against } = await exported({ format, views: true });
    const { files } = manifestIn(against);
    const rows = files.reduce((sum, file) => sum + file.rows, 0);
    expect(await verify()).toMatchObject({ equal: true, differences: [], files: files.length, rows });
  });

  test('an export written in parts by several exports, with many files, is equal', async () => {
    const large = (mirror: MirrorFile): void => fillMirror(mirror, { assets: 30, runs: 6000, envs: ['e1'] });
    const { mirror, against, verify } = await exported({}, large);
    mirror.connection.exec(`update test_executions set status = 'WARN', mirrored_at = '${mirroredAt(1)}' where id like '%77';
      delete from test_executions where id like '%5'`);
    expect((await verify()).differences.length).toBeGreaterThan(6);
    await exportOf(mirror, against);
    expect(await verify()).toMatchObject({ equal: true, differences: [] });
    // Destroys the order in which SQLite stores the rows.
    mirror.connection.exec('vacuum');
    expect(await verify()).toMatchObject({ equal: true, differences: [] });
  });

  test.each([
    ['changed', "update test_executions set result_reason = 'other' where id = 'run-0'", 'unequal'],
    ['changed in its key alone', "update test_executions set id = 'run-00' where id = 'run-0'", 'unequal'],
    ['removed', "delete from test_executions where id = 'run-0'", 'unequal'],
    ['removed with all others of its month', "delete from test_executions where start_time < '2026-09'", 'extra'],
  ] as const)(
    'the file of a row that was %s is named, even if the mirror recorded no change',
    async (_, statement, what) => {
      const { mirror, verify } = await exported({ environments: ['e1'], tables: ['test_executions', 'assets'] });
      mirror.connection.exec(`${statement.replace('where', "where env_id = 'e1' and")}`);
      const path = expect.stringMatching(/^\.files\/test_executions\/e1\/2026-08\/[0-9a-f]+$/);
      expect(await verify()).toMatchObject({
        equal: false,
        differences: [{ what, table: 'test_executions', env_id: 'e1', month: '2026-08', path }],
      });
    },
  );

  test('a new partition is named, of a month or of an environment', async () => {
    const { mirror, verify } = await exported({ tables: ['test_executions'] });
    const later = { ...execution('e1', 1, 99_999, 1), start_time: '2027-01-31T23:59:59.999999Z' };
    insert(mirror, 'test_executions', later);
    insert(mirror, 'test_executions', { ...later, env_id: 'e3' });
    const place = { what: 'missing', table: 'test_executions', month: '2027-01', path: null, reason: null };
    expect((await verify()).differences).toEqual([
      { ...place, env_id: 'e1' },
      { ...place, env_id: 'e3' },
    ]);
  });

  test('environments that were not exported are left out', async () => {
    const { mirror, verify } = await exported({ environments: ['e1'] });
    mirror.connection.exec("delete from assets where env_id <> 'e1'");
    expect(await verify()).toMatchObject({ equal: true });
  });

  test.each([
    ['is gone', (path: string) => rmSync(path)],
    [
      'cannot be read',
      (path: string) => {
        rmSync(path);
        symlinkSync(path, path);
      },
    ],
    ['was cut short', (path: string) => writeFileSync(path, readFileSync(path).subarray(1))],
    ['has one other byte', (path: string) => writeFileSync(path, readFileSync(path).fill(0, 9, 10))],
  ])('a file that %s is named', async (_, damage) => {
    const { against, verify } = await exported();
    const { path = '', table, env_id } = fileOf(against, 'columns') ?? {};
    damage(join(against, path));
    expect((await verify()).differences).toEqual([{ what: 'damaged', table, env_id, month: null, path, reason: null }]);
  });

  test('it exits 0 if the export equals the mirror, and 1 with a line for each difference', async () => {
    const { mirror, against } = await exported({ tables: ['assets'] });
    const args = ['verify', '--against', against, '--db', mirror.path];
    expect(await obsync(args)).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('The export equals the mirror'),
    });
    mirror.connection.exec("update assets set name = 'x' where env_id = 'e1'");
    const { code, stdout } = await obsync(args);
    expect({ code, stdout }).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/unequal: \.files\/assets\/e1\/[0-9a-f]+:/),
    });
    const json = await obsync([...args, '--json']);
    expect(JSON.parse(json.stdout)).toMatchObject({ equal: false, differences: [{ what: 'unequal' }] });
  });

  test('it refuses a folder without an export, an export of an older mirror, and a repair', async () => {
    const { mirror, against } = await exported({ tables: ['assets'] });
    const verify = (to: string, ...args: string[]) => obsync(['verify', '--against', to, '--db', mirror.path, ...args]);
    expect(await verify(folder())).toEqual(refusal(/contains no export: create one with/));
    expect(await verify(join(folder(), 'none'))).toEqual(refusal(/contains no export: create one with/));
    expect(await verify(against, '--repair')).toEqual(refusal(/--repair is for the mirror/));
    expect(await verify(against, '--env', 'e1')).toEqual(refusal(/--env is for the mirror/));
    expect(await verify(against, '--stream', 'tests')).toEqual(refusal(/--stream is for the mirror/));
    const text = readFileSync(join(against, 'manifest.json'), 'utf8');
    writeFileSync(join(against, 'manifest.json'), text.replace(/"schema_version": \d+/, '"schema_version": 1'));
    expect(await verify(against)).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/earlier version of the mirror/),
    });
    rmSync(join(against, 'manifest.json'));
    mkdirSync(join(against, 'manifest.json'));
    expect(await verify(against)).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/cannot be read \(EISDIR\): check its permissions/),
    });
  });
});
