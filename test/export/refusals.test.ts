import { linkSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { beforeAll, describe, expect, test } from 'vitest';
import { lockError } from '../../src/api/export-mirror.ts';
import { SyncError } from '../../src/core/errors.ts';
import type { MirrorFile } from '../../src/destination/sqlite/open.ts';
import { NODE_FILES } from '../../src/export/export-files.ts';
import { EXPORT_FORMATS } from '../../src/export/formats.ts';
import { takeLock } from '../../state/lock.ts';
import { obsync, refusal } from '../cli/setup.ts';
import { failingAt } from './faults.ts';
import { exportOf, fillMirror, folder, makeMirror, manifestIn, openMirror } from './setup.ts';

const fillTiny = (mirror: MirrorFile): void => fillMirror(mirror, { assets: 2, runs: 2 });

let db: string;

beforeAll(() => {
  const mirror = makeMirror(fillTiny);
  db = mirror.path;
  mirror.connection.close();
});

const exporting = (to: string, ...args: string[]) => obsync(['export', '--db', db, '--to', to, ...args]);

describe('obsync export', () => {
  test('it prints what the folder holds and what it wrote', async () => {
    const to = join(folder(), 'new');
    const { code, stdout } = await exporting(to, '--table', 'assets,columns');
    expect({ code, stdout }).toMatchObject({ code: 0, stdout: expect.stringContaining('4 files written') });
    const again = await exporting(to, '--table', 'assets', '--table', 'columns', '--json');
    expect(JSON.parse(again.stdout)).toMatchObject({ format: 'parquet', rows: 8, files: 4, files_written: 0 });
  });

  test('it reports tables and environments that the folder no longer holds, with the number of files', async () => {
    const to = folder();
    await exporting(to, '--table', 'assets,columns,tests');
    const fewer = ['--table', 'assets', '--env', 'e1'];
    const { stdout } = await exporting(to, ...fewer);
    expect(stdout).toContain(
      'No longer exported: 2 tables (columns, tests) and 1 environment (É/2 *[x]), with 5 files\n',
    );
    expect((await exporting(to, ...fewer)).stdout).not.toContain('No longer');
    const json = JSON.parse((await exporting(to, '--table', 'tests', '--env', 'e1', '--json')).stdout);
    expect(json).toMatchObject({ dropped_tables: ['assets'], dropped_environments: [], dropped_files: 1 });
  });

  test('it refuses an unknown table and names the known ones', async () => {
    const to = folder();
    expect(await exporting(to, '--table', 'asset')).toEqual(refusal(/no table asset: choose from .*assets, /));
    expect(readdirSync(to)).toEqual([]);
  });

  test('it refuses an unknown environment', async () => {
    const to = folder();
    expect(await exporting(to, '--env', 'e9')).toEqual(
      refusal(/no environment e9 in the mirror: choose from name of e1/),
    );
    expect(readdirSync(to)).toEqual([]);
  });

  test.each([
    ['files of another program', 'notes.txt', 'mine'],
    ['a manifest of another program', 'manifest.json', '{"name":"an app"}'],
    ['a manifest that is not JSON', 'manifest.json', '{"progr'],
    ['a manifest without its lists', 'manifest.json', '{"program":"obsync export","layout":1}'],
    [
      'a manifest whose files have no paths',
      'manifest.json',
      '{"program":"obsync export","layout":1,"number":1,"format":"csv","instant":"","schema_version":1,"limited":false,"environments":[],"tables":[],"files":[{}],"earlier":[]}',
    ],
    ['the manifest of a later version', 'manifest.json', '{"program":"obsync export","layout":99}'],
  ])('it refuses a folder with %s, and touches nothing', async (_, name, text) => {
    const to = folder();
    writeFileSync(join(to, name), text);
    await expect(exportOf(openMirror(fillTiny), to)).rejects.toMatchObject({
      recovery: 'usage',
      message: expect.stringMatching(/^.*(name|--to).*$/),
    });
    expect(readdirSync(to)).toEqual([name]);
  });

  test('it refuses a file in place of the folder, a folder whose parent is missing, and no folder at all', async () => {
    const file = join(folder(), 'file');
    writeFileSync(file, '');
    expect(await exporting(file)).toEqual(refusal(/is a file: name a folder/));
    expect(await exporting(join(folder(), 'no', 'where'))).toEqual(refusal(/does not exist: make it/));
    expect(await obsync(['export', '--db', db])).toEqual(refusal(/no folder to export to: name one with --to/));
  });

  test('it refuses a mirror of an earlier version, and one that was never synced', async () => {
    const [older, empty] = [makeMirror(fillTiny), makeMirror(fillTiny)];
    older.connection.exec('delete from __drizzle_migrations where created_at > 0');
    empty.connection.exec('delete from mirror');
    for (const { connection } of [older, empty]) connection.close();
    const to = folder();
    expect(await obsync(['export', '--db', older.path, '--to', to])).toEqual(refusal(/made by an older obsync: run/));
    expect(await obsync(['export', '--db', empty.path, '--to', to])).toEqual(refusal(/mirrors nothing yet: run/));
    expect(readdirSync(to)).toEqual([]);
  });

  test('files with other hard links, as snapshots have, are replaced, and the other names keep the earlier export', async () => {
    const [to, snapshot] = [folder(), folder()];
    await exporting(to);
    linkSync(join(to, 'manifest.json'), join(snapshot, 'manifest.json'));
    const earlier = readFileSync(join(snapshot, 'manifest.json'), 'utf8');
    expect(await obsync(['export', '--db', db, '--to', to, '--format', 'csv'])).toMatchObject({ code: 0 });
    expect(readFileSync(join(snapshot, 'manifest.json'), 'utf8')).toBe(earlier);
  });

  test('it exits 4 while another export writes to the folder', async () => {
    const to = folder();
    const lock = takeLock(join(to, 'manifest.json'));
    const ended = await exporting(to);
    lock.release();
    expect(ended).toMatchObject({ code: 4, stderr: expect.stringMatching(/another export is writing to/) });
  });

  test('the error for a folder that cannot be locked says whether the disk is full', async () => {
    const to = folder();
    mkdirSync(join(to, 'manifest.json.lock'));
    const mirror = openMirror(fillTiny);
    const full = { recovery: 'run', message: `the disk of ${to} is full: make room and export again` };
    for (const code of ['ENOSPC', 'EDQUOT'])
      await expect(exportOf(mirror, to, {}, failingAt(1, code, 'create'))).rejects.toMatchObject(full);
    const closed = { recovery: 'usage', message: expect.stringContaining(`${to} cannot be written: check its perm`) };
    await expect(exportOf(mirror, to, {}, failingAt(1, 'EACCES', 'create'))).rejects.toMatchObject(closed);
    await expect(exportOf(mirror, to)).rejects.toMatchObject(closed);
    expect(readdirSync(to)).toEqual(['manifest.json.lock']);
    const cause = new SyncError('usage', 'locked', { cause: new Database.SqliteError('full', 'SQLITE_FULL') });
    expect(lockError(to, join(to, 'manifest.json'), cause, NODE_FILES)).toMatchObject(full);
  });

  test('it names the column that holds a value of another type, and leaves the last export intact', async () => {
    const mirror = openMirror(fillTiny);
    const to = folder();
    await exportOf(mirror, to);
    const before = manifestIn(to);
    mirror.connection.exec("update test_executions set failure_count = 'many', mirrored_at = 'later'");
    const ended = await obsync(['export', '--db', mirror.path, '--to', to, '--log-level', 'warn']);
    expect(ended).toMatchObject({ code: 1, stderr: expect.stringMatching(/"many" in a column failure_count of type/) });
    expect(manifestIn(to)).toEqual(before);
  });

  describe.each(EXPORT_FORMATS)('as %s', (format) => {
    test.each([
      ['an integer that is not exact', 'test_executions', 'failure_count', '9007199254740993'],
      ['an integer with a fraction', 'test_executions', 'failure_count', '1.5'],
      ['an infinite real', 'test_executions', 'duration_seconds', '9e999'],
      ['a flag of two', 'tests', 'disabled', '2'],
      ['a time without its microseconds', 'assets', 'mirrored_at', "'2026-11-20T04:00:00Z'"],
      ['a time that no calendar has', 'assets', 'mirrored_at', "'2026-13-41T04:00:00.000000Z'"],
    ])('it refuses %s, and names table and column (R4)', async (_, table, column, value) => {
      const mirror = openMirror(fillTiny);
      mirror.connection.exec(`update ${table} set ${column} = ${value}`);
      const to = folder();
      await expect(exportOf(mirror, to, { format, tables: [table] })).rejects.toThrow(
        expect.objectContaining({
          recovery: 'run',
          message: expect.stringMatching(`^the mirror has .* in a column ${column} of type \\w+, in ${table}: was`),
        }),
      );
      expect(readdirSync(to)).not.toContain('manifest.json');
    });
  });

  test('it leaves other files and folders alone', async () => {
    const mirror = openMirror(fillTiny);
    const to = folder();
    await exportOf(mirror, to, { tables: ['assets'] });
    mkdirSync(join(to, 'notes'));
    writeFileSync(join(to, 'notes', 'part-1.txt'), 'mine');
    writeFileSync(join(to, 'assets', 'README'), 'mine');
    await exportOf(mirror, to, { tables: ['tests'], keep: 0 });
    expect(readdirSync(join(to, 'notes'))).toEqual(['part-1.txt']);
    expect(readdirSync(join(to, 'assets'))).toEqual(['README']);
  });
});
