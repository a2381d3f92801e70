import { readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { NODE_FILES } from '../../src/export/export-files.ts';
import type { ExportFormat } from '../../src/export/formats.ts';
import { obsync, start } from '../cli/setup.ts';
import { changedSince, copyOf, countOperations, failingAt, fullAt, killedAt, SOME, watched } from './faults.ts';
import {
  brokenFiles,
  dataFiles,
  exportedMirror,
  exportOf,
  fillMirror,
  folder,
  manifestIn,
  mirroredAt,
  mirrorRows,
  pathsIn,
  readBack,
} from './setup.ts';

describe('an interrupted export', () => {
  test('the last export stays intact, wherever the new one is killed, and the next one is intact', async () => {
    const { mirror, to, first } = await changedSince();
    const most = await countOperations();
    expect(most).toBeGreaterThan(30);
    let hasOld = 0;
    for (let n = 1; n <= most; n++) {
      const copy = copyOf(to);
      await expect(exportOf(mirror, copy, { tables: SOME }, killedAt(n))).rejects.toThrow('killed');
      expect(brokenFiles(copy)).toEqual([]);
      const { instant } = manifestIn(copy);
      if (instant === first.instant) hasOld += 1;
      await exportOf(mirror, copy, { tables: SOME });
      expect(brokenFiles(copy)).toEqual([]);
      const { files, earlier } = manifestIn(copy);
      const paths = new Set([...files.map(({ path }) => path), ...earlier.flatMap(({ paths }) => paths)]);
      expect(dataFiles(copy).sort()).toEqual([...paths].sort());
    }
    // Once the manifest was replaced, the new export is valid.
    expect(hasOld).toBeGreaterThan(30);
    expect(hasOld).toBeLessThan(most);
  });

  test('an interrupted first export doesn’t block the folder, and the next one is intact', async () => {
    const { mirror } = await changedSince();
    for (const n of [1, 2, 3, 10, 30]) {
      const to = folder();
      await expect(exportOf(mirror, to, { tables: SOME }, killedAt(n))).rejects.toThrow('killed');
      expect(readdirSync(to)).not.toContain('manifest.json');
      await exportOf(mirror, to, { tables: SOME });
      expect((await readBack(to, SOME)).rows).toEqual(mirrorRows(mirror, SOME));
      expect(dataFiles(to).sort()).toEqual(pathsIn(to));
    }
  });

  test('if the disk is full the last export stays intact, and the new files are removed', async () => {
    const { mirror, to, first } = await changedSince();
    const before = dataFiles(to).sort();
    const writes = await countOperations({}, 'write');
    expect(writes).toBeGreaterThan(6);
    const views = readFileSync(join(to, 'views.sql'), 'utf8');
    // The last write is views.sql, when the new export is already valid.
    for (let n = 1; n < writes; n++) {
      await expect(exportOf(mirror, to, { tables: SOME }, fullAt(n))).rejects.toThrow(
        expect.objectContaining({
          recovery: 'run',
          message: `the disk of ${to} is full: make room and export again; the last complete export is untouched`,
        }),
      );
      expect({ manifest: manifestIn(to), files: dataFiles(to).sort() }).toEqual({ manifest: first, files: before });
      expect(readFileSync(join(to, 'views.sql'), 'utf8')).toBe(views);
    }
    await expect(exportOf(mirror, to, { tables: SOME, keep: 0 }, fullAt(writes))).rejects.toThrow(
      `the disk of ${to} is full: make room and export again; the new export is complete`,
    );
    expect(manifestIn(to).instant).not.toBe(first.instant);
    expect(brokenFiles(to)).toEqual([]);
    // A reader that uses the old views still finds their files.
    expect(dataFiles(to)).toEqual(expect.arrayContaining(before));
    await exportOf(mirror, to, { tables: SOME });
    expect((await readBack(to, SOME)).rows).toEqual(mirrorRows(mirror, SOME));
  });
});

describe('a file operation that fails once', () => {
  test.each(['EPERM', 'EIO'])(
    'every file named in the manifest is intact, whichever operation fails (%s)',
    async (code) => {
      const { mirror, to, first } = await changedSince();
      const most = await countOperations({ keep: 0 });
      const ends = { new: 0, warned: 0, failed: 0 };
      for (let n = 1; n <= most; n++) {
        const copy = copyOf(to);
        const ended = await exportOf(mirror, copy, { tables: SOME, keep: 0 }, failingAt(n, code)).catch(String);
        expect(brokenFiles(copy)).toEqual([]);
        const isNew = manifestIn(copy).instant !== first.instant;
        if (typeof ended === 'string') {
          expect(ended).toMatch(
            isNew
              ? /; the new export is complete, but not yet in the folder of every table$/
              : /; the last complete export is untouched$/,
          );
          expect(ended).toContain(`${copy} cannot be written (${code}): check`);
        } else {
          expect(ended.warnings).toEqual([expect.stringContaining(`old files in ${copy} cannot be removed (${code})`)]);
        }
        ends[!isNew ? 'failed' : typeof ended === 'string' ? 'new' : 'warned'] += 1;
        expect((await exportOf(mirror, copy, { tables: SOME, keep: 0 })).warnings).toEqual([]);
        expect(brokenFiles(copy)).toEqual([]);
        expect(dataFiles(copy).sort()).toEqual(pathsIn(copy));
        expect(readFileSync(join(copy, 'views.sql'), 'utf8')).toContain(manifestIn(copy).instant);
      }
      // After the manifest was renamed: its sync to disk, views.sql, and the folders of the tables.
      expect(ends.new).toBeGreaterThan(7);
      expect(ends.warned).toBeGreaterThan(3);
      expect(ends.failed).toBeGreaterThan(30);
    },
  );

  test('the error doesn’t speak of an untouched export if there was none', async () => {
    const { mirror } = await changedSince();
    const to = folder();
    await expect(exportOf(mirror, to, { tables: SOME }, fullAt(3))).rejects.toThrow(
      expect.objectContaining({ message: `the disk of ${to} is full: make room and export again` }),
    );
  });
});

describe('views.sql', () => {
  test('it has the new paths after the folder was moved, even if nothing else has changed', async () => {
    const { mirror, to } = await changedSince();
    await exportOf(mirror, to, { tables: SOME });
    const moved = join(folder(), 'moved');
    renameSync(to, moved);
    expect(await exportOf(mirror, moved, { tables: SOME })).toMatchObject({ files_written: 0 });
    expect((await readBack(moved, SOME)).rows).toEqual(mirrorRows(mirror, SOME));
  });

  test('it is recreated after it was deleted, even if nothing else has changed', async () => {
    const { mirror, to } = await changedSince();
    await exportOf(mirror, to, { tables: SOME });
    rmSync(join(to, 'views.sql'));
    expect(await exportOf(mirror, to, { tables: SOME })).toMatchObject({ files_written: 0 });
    expect((await readBack(to, SOME)).rows).toEqual(mirrorRows(mirror, SOME));
  });

  test('it stays that of the last export if the disk is full at the manifest', async () => {
    const { mirror, to } = await changedSince();
    const before = await readBack(to, SOME);
    const writes = await countOperations({}, 'write');
    await expect(exportOf(mirror, to, { tables: SOME }, fullAt(writes - 1))).rejects.toThrow(/is full/);
    expect(await readBack(to, SOME)).toEqual(before);
  });
});

describe('a reader that follows the manifest', () => {
  test('it finds every file of the manifest at every moment of the next export', async () => {
    const { mirror, to, first } = await changedSince();
    const instants = new Set<string>();
    const looking = watched(() => {
      expect(brokenFiles(to)).toEqual([]);
      instants.add(manifestIn(to).instant);
    });
    await exportOf(mirror, to, { tables: SOME }, looking);
    expect([...instants]).toEqual([first.instant, manifestIn(to).instant]);
    const missing = first.files.filter(({ path }) => !dataFiles(to).includes(path));
    expect(missing).toEqual([]);
  });

  test('it sees one instant of the mirror, whatever is committed during the export', async () => {
    const { mirror } = await changedSince();
    const [to, before] = [folder(), mirrorRows(mirror, SOME)];
    let commits = 0;
    const commit = (): void => {
      commits += 1;
      mirror.connection.exec(
        `update test_executions set status = 'n${commits}', mirrored_at = '${mirroredAt(9)}'; delete from asset_lineage`,
      );
    };
    await exportOf(mirror, to, { tables: SOME }, NODE_FILES, commit);
    expect(commits).toBe(SOME.length);
    expect((await readBack(to, SOME)).rows).toEqual(before);
  });
});

describe('an exporting process', () => {
  async function running(format: ExportFormat = 'parquet') {
    const { mirror, to } = await exportedMirror({ format }, (file) => fillMirror(file, { assets: 1500, runs: 15_000 }));
    const first = manifestIn(to);
    mirror.connection.exec(
      ['assets', 'columns', 'tests', 'test_executions']
        .map((table) => `update ${table} set mirrored_at = '${mirroredAt(1)}';`)
        .join(''),
    );
    const args = ['export', '--db', mirror.path, '--to', to, '--format', format];
    const program = start(args);
    await program.logged('assets');
    return { mirror, to, first, args, program };
  }

  test.each(['parquet', 'delta'] as const)(
    'if it is killed, the last export as %s is intact, and so is the next',
    async (format) => {
      const { mirror, to, first, args, program } = await running(format);
      program.kill('SIGKILL');
      await program.ended;
      expect(manifestIn(to)).toEqual(first);
      expect(brokenFiles(to)).toEqual([]);
      expect(await obsync(args)).toMatchObject({ code: 0 });
      expect((await readBack(to, ['tests'])).rows).toEqual(mirrorRows(mirror, ['tests']));
      expect(await obsync(['verify', '--db', mirror.path, '--against', to])).toMatchObject({ code: 0 });
    },
  );

  test('SIGTERM stops it with exit code 143, and it removes what it wrote (R27)', async () => {
    const { to, first, program } = await running();
    program.kill('SIGTERM');
    expect(await program.ended).toMatchObject({ code: 143, stderr: expect.stringContaining('stopped by a signal') });
    expect(manifestIn(to)).toEqual(first);
    expect(dataFiles(to).sort()).toEqual(first.files.map(({ path }) => path).sort());
  });
});
