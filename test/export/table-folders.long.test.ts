import { copyFileSync, cpSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { devNull } from 'node:os';
import { basename, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type FileOperations, filesUnder, NODE_FILES } from '../../src/export/export-files.ts';
import type { ExportFormat } from '../../src/export/formats.ts';
import { changedSince, copyOf, countOperations, failingAt, killedAt, SOME, watched } from './faults.ts';
import {
  change,
  exportedMirror,
  exportOf,
  fillMirror,
  folder,
  manifestIn,
  mirroredAt,
  mirrorRows,
  openMirror,
  readByFolder,
  readWith,
  sha256Of,
  TABLES,
  verifyOf,
} from './setup.ts';

/** The content of each file that a glob finds in the folders of the tables. */
function shownIn(to: string): Map<string, string | null> {
  const visible = filesUnder(to).filter((path) => !path.startsWith('.files/') && path.includes('/part-'));
  return new Map(visible.map((path) => [path, sha256Of(join(to, path))]));
}

/** The ids that the NDJSON files in the folders of the tables contain. */
function idsIn(to: string): Set<string> {
  const lines = [...shownIn(to).keys()].flatMap((path) => readFileSync(join(to, path), 'utf8').trim().split('\n'));
  return new Set(lines.map((line) => String((JSON.parse(line) as { id: string }).id)));
}

/** The rows of each table, read by its folder. */
const rowsByFolder = async (to: string, tables: readonly string[], format?: ExportFormat) =>
  (await readByFolder(to, tables, format)).rows;

describe('the folder of a table', () => {
  test('after further exports a reader finds each row once, as the mirror has it, and the last manifest still holds', async () => {
    const { mirror, to } = await exportedMirror();
    for (const n of [1, 2, 3]) {
      const { files } = manifestIn(to);
      change(mirror, n);
      await exportOf(mirror, to);
      expect(await rowsByFolder(to, TABLES)).toEqual(mirrorRows(mirror, TABLES));
      expect(files.filter(({ path, sha256 }) => sha256Of(join(to, path)) !== sha256)).toEqual([]);
    }
    expect(await verifyOf(mirror, to)).toMatchObject({ equal: true });
  });

  test.each(['csv', 'ndjson'] as const)('as %s it has each row once after a further export', async (format) => {
    const { mirror, to } = await exportedMirror({ format });
    change(mirror, 1);
    await exportOf(mirror, to, { format });
    const rows = await rowsByFolder(to, TABLES, format);
    for (const table of TABLES) expect(rows[table]).toHaveLength(mirrorRows(mirror, [table])[table]?.length ?? -1);
  });

  test('a glob over the whole export finds each row once', async () => {
    const [mirror, to] = [openMirror(), folder()];
    const assets = { tables: ['assets'] };
    await exportOf(mirror, to, assets);
    change(mirror, 1);
    await exportOf(mirror, to, assets);
    const { rows } = await readWith('', { assets: `read_parquet('${to}/**/*.parquet')` });
    expect(rows).toEqual(mirrorRows(mirror, ['assets']));
  });

  test('it keeps no rows of a table, an environment or a month that the mirror no longer has', async () => {
    const { mirror, to } = await exportedMirror();
    mirror.connection.exec(`delete from assets; delete from columns where env_id = 'e1';
      delete from test_executions where start_time < '2026-09'`);
    await exportOf(mirror, to);
    expect(await rowsByFolder(to, TABLES)).toEqual(mirrorRows(mirror, TABLES));
    await exportOf(mirror, to, { tables: ['assets', 'tests'] });
    expect(readdirSync(to).sort()).toEqual([
      '.files',
      'assets',
      'manifest.json',
      'manifest.json.lock',
      'tests',
      'views.sql',
    ]);
  });

  test('it has each row once after the format was changed, back and forth', async () => {
    const { mirror, to } = await changedSince();
    for (const format of ['delta', 'parquet', 'csv', 'parquet'] as const) {
      await exportOf(mirror, to, { tables: SOME, format });
      const rows = await rowsByFolder(to, SOME, format);
      for (const table of SOME) expect(rows[table]).toHaveLength(mirrorRows(mirror, [table])[table]?.length ?? -1);
    }
  });

  test('its files have the disk space of the export, and names that no other environment has', async () => {
    const { to } = await exportedMirror({}, (file) => fillMirror(file, { envs: ['prod', 'Prod'] }));
    const paths = [...shownIn(to).keys()];
    for (const path of paths) expect(statSync(join(to, path)).nlink).toBe(2);
    expect(new Set(paths.map((path) => `${path.split('/')[0]} ${basename(path)}`)).size).toBe(paths.length);
  });

  test('verification names a file there that is missing, damaged or left over, and the next export repairs it', async () => {
    const { mirror, to } = await exportedMirror({ tables: SOME });
    const [gone = '', damaged = ''] = [...shownIn(to).keys()].sort();
    rmSync(join(to, gone));
    rmSync(join(to, damaged));
    writeFileSync(join(to, damaged), 'x');
    const stray = 'assets/e9/part-0123456789abcdef.parquet';
    cpSync(join(to, manifestIn(to).files[0]?.path ?? ''), join(to, stray));
    const { differences } = await verifyOf(mirror, to);
    const found = differences.map(({ what, table, path }) => [what, table, path]);
    expect(found.sort()).toEqual([
      ['damaged', gone.split('/')[0], gone],
      ['damaged', damaged.split('/')[0], damaged],
      ['extra', 'assets', stray],
    ]);
    expect(await exportOf(mirror, to, { tables: SOME })).toMatchObject({ files_written: 0 });
    expect(await verifyOf(mirror, to)).toMatchObject({ equal: true });
    expect(await rowsByFolder(to, SOME)).toEqual(mirrorRows(mirror, SOME));
  });
});

describe('a file that can have only one name', () => {
  test('it is copied', () => {
    const copy = join(folder(), 'copy');
    NODE_FILES.share(devNull, copy);
    expect(readFileSync(copy, 'utf8')).toBe('');
    expect(() => NODE_FILES.share(join(copy, 'none'), `${copy}2`)).toThrow(/ENOTDIR/);
  });

  test('the copies are those of the newest export, and stay if nothing has changed', async () => {
    const { mirror, to } = await changedSince();
    rmSync(to, { recursive: true });
    let copies = 0;
    const copying: FileOperations = {
      ...NODE_FILES,
      share(from, as) {
        copies += 1;
        copyFileSync(from, as);
      },
    };
    await exportOf(mirror, to, { tables: SOME }, copying);
    const first = copies;
    expect(first).toBe(manifestIn(to).files.length);
    change(mirror, 2);
    const { files_written } = await exportOf(mirror, to, { tables: SOME }, copying);
    expect(copies - first).toBe(files_written);
    await exportOf(mirror, to, { tables: SOME }, copying);
    expect(copies - first).toBe(files_written);
    expect(await rowsByFolder(to, SOME)).toEqual(mirrorRows(mirror, SOME));
  });
});

describe('a reader of the folders', () => {
  /** The old and the new content of the folders, and a check that some of them have each segment once. */
  async function changing() {
    const { mirror, to } = await changedSince();
    const old = shownIn(to);
    const done = copyOf(to);
    await exportOf(mirror, done, { tables: SOME });
    const next = shownIn(done);
    expect(next).not.toEqual(old);
    const check = (place: string): Map<string, string | null> => {
      const shown = shownIn(place);
      for (const path of new Set([...old.keys(), ...next.keys()])) {
        if (old.has(path) && next.has(path)) expect([old.get(path), next.get(path)]).toContain(shown.get(path));
        else expect([old.get(path), next.get(path)]).toContain(shown.get(path));
      }
      for (const path of shown.keys()) expect(old.has(path) || next.has(path)).toBe(true);
      return shown;
    };
    return { mirror, to, old, next, check };
  }

  test('it finds each segment once, old or new, wherever the export is killed, and the next export completes it', async () => {
    const { mirror, to, old, next, check } = await changing();
    const most = await countOperations();
    const seen = { old: 0, between: 0, new: 0 };
    for (let n = 1; n <= most; n++) {
      const copy = copyOf(to);
      await expect(exportOf(mirror, copy, { tables: SOME }, killedAt(n))).rejects.toThrow('killed');
      const shown = [...check(copy)].sort().join();
      seen[shown === [...old].sort().join() ? 'old' : shown === [...next].sort().join() ? 'new' : 'between'] += 1;
      expect((await exportOf(mirror, copy, { tables: SOME })).warnings).toEqual([]);
      expect(shownIn(copy)).toEqual(next);
      expect(filesUnder(copy).filter((path) => path.includes('.tmp'))).toEqual([]);
    }
    expect(Math.min(...Object.values(seen)), JSON.stringify(seen)).toBeGreaterThan(0);
  });

  test('it finds each segment once, whichever file operation fails, and the error says what is not up to date', async () => {
    const { mirror, to, check, next } = await changing();
    const most = await countOperations();
    const standing = new Set<string>();
    for (let n = 1; n <= most; n++) {
      const copy = copyOf(to);
      const ended = await exportOf(mirror, copy, { tables: SOME }, failingAt(n, 'EIO')).catch(String);
      standing.add(typeof ended === 'string' ? (/; (.*)$/.exec(ended)?.[1] ?? ended) : 'warned');
      check(copy);
      await exportOf(mirror, copy, { tables: SOME });
      expect(shownIn(copy)).toEqual(next);
    }
    expect([...standing]).toEqual([
      'the last complete export is untouched',
      'the new export is complete, but not yet in the folder of every table',
      'warned',
    ]);
  });

  test('it misses no row of a file that an export splits, and finds no temporary file, at any moment', async () => {
    const [mirror, to] = [openMirror((file) => fillMirror(file, { envs: ['e1'], assets: 600, runs: 1 })), folder()];
    const choice = { tables: ['assets'], format: 'ndjson', targetSize: 0.5 } as const;
    await exportOf(mirror, to, choice);
    const before = idsIn(to);
    const filesBefore = shownIn(to).size;
    const add = mirror.connection.prepare(
      `insert into assets (env_id, id, name, description, kind, source_type, owners, tags, mirrored_at)
        select env_id, id || '-' || ?, name, hex(randomblob(1500)), kind, source_type, owners, tags, ? from assets where env_id = 'e1' and id not like '%-_'`,
    );
    for (const n of ['1', '2']) add.run(n, mirroredAt(9));
    mirror.connection.exec(`update mirror_environments set mirrored_at = '${mirroredAt(9)}'`);
    const looking = watched(() => {
      const now = idsIn(to);
      expect([...before].filter((id) => !now.has(id))).toEqual([]);
      expect(filesUnder(to).filter((path) => path.startsWith('assets/') && path.includes('.tmp'))).toEqual([]);
    });
    await exportOf(mirror, to, choice, looking);
    expect(idsIn(to).size).toBe(3 * before.size);
    expect(shownIn(to).size).toBeGreaterThan(filesBefore);
  });

  test('it finds each segment once at every moment of an export', async () => {
    const { mirror, to, check, next } = await changing();
    const looking = watched(() => void check(to));
    await exportOf(mirror, to, { tables: SOME }, looking);
    expect(shownIn(to)).toEqual(next);
  });
});
