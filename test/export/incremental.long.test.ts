import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { MirrorFile } from '../../src/destination/sqlite/open.ts';
import { filesUnder } from '../../src/export/export-files.ts';
import {
  addRun,
  brokenFiles,
  dataFiles,
  type ExportChoice,
  execution,
  exportedMirror,
  exportOf,
  fillMirror,
  insert,
  manifestIn,
  mirroredAt,
  mirrorRows,
  readBack,
  TABLES,
} from './setup.ts';

/** A mirror with its first export. */
const exported = (fill?: (mirror: MirrorFile) => void, keep = 0, choice: ExportChoice = {}) =>
  exportedMirror({ ...choice, keep }, fill);

/** Like a commit, changes rows and stamps them with the mirror's next time (R21). */
function change({ connection }: MirrorFile, statement: string, n = 1): number {
  connection.prepare('update mirror_environments set mirrored_at = ?').run(mirroredAt(n));
  return connection.prepare(statement).run({ now: mirroredAt(n) }).changes;
}

describe('an export into the folder of an earlier one', () => {
  test('nothing is written if nothing has changed', async () => {
    const { mirror, to, first } = await exported();
    const before = manifestIn(to);
    const again = await exportOf(mirror, to, { keep: 0 });
    expect(again).toMatchObject({ files_written: 0, bytes_written: 0, files: first.files, bytes: first.bytes });
    expect(manifestIn(to)).toEqual(before);
  });

  test.each([
    [
      'changed',
      "update columns set name = 'x', mirrored_at = @now where env_id = 'e1' and id = 'model.shop.table_0007.id'",
    ],
    [
      'deleted',
      "update columns set deleted_at = @now, deletion = 'absent', mirrored_at = @now where env_id = 'e1' and id = 'model.shop.table_0007.id'",
    ],
    ['removed', "delete from columns where env_id = 'e1' and id = 'model.shop.table_0007.id' and @now > ''"],
    ['inserted', "insert into columns (env_id, id, mirrored_at) values ('e1', 'new', @now)"],
  ])(
    'only the file of a row that was %s is rewritten, besides the clocks of the environments',
    async (_, statement) => {
      const { mirror, to } = await exported();
      expect(change(mirror, statement)).toBe(1);
      const before = manifestIn(to).files.map(({ path }) => path);
      expect(await exportOf(mirror, to)).toMatchObject({ files_written: 3 });
      const written = manifestIn(to).files.filter(({ path }) => !before.includes(path));
      expect(written.map(({ table, env_id }) => [table, env_id])).toEqual([
        ['columns', 'e1'],
        ['mirror_environments', 'e1'],
        ['mirror_environments', 'É/2 *[x]'],
      ]);
      expect((await readBack(to, TABLES)).rows).toEqual(mirrorRows(mirror, TABLES));
    },
  );

  test('runs that changed nothing cause no writes, even if one was in progress at the first export', async () => {
    const { mirror, to } = await exported((made) => {
      fillMirror(made);
      addRun(made, 2, { ended_at: null });
    });
    expect(await exportOf(mirror, to)).toMatchObject({ files_written: 0 });
    mirror.connection.exec('update sync_runs set ended_at = started_at');
    addRun(mirror, 3);
    expect(await exportOf(mirror, to)).toMatchObject({ files_written: 0 });
  });

  test.each([
    ['before the run', mirroredAt(1)],
    ['during the run', null],
  ])(
    'every file is rewritten after the mirror was restored from a backup made %s that was last exported',
    async (when, endedAt) => {
      const { mirror, to, first } = await exported((made) => {
        fillMirror(made);
        addRun(made, 2, { ended_at: endedAt });
      });
      const renamed = (name: string) => `update columns set name = '${name}', mirrored_at = @now where env_id = 'e1'`;
      change(mirror, renamed('lost'));
      await exportOf(mirror, to);
      mirror.connection.exec('delete from sync_runs where id = 2');
      if (when === 'before the run') addRun(mirror, 2, { nonce: 'another' });
      else addRun(mirror, 2, { ended_at: null });
      addRun(mirror, 3);
      change(mirror, renamed('kept'));
      expect(await exportOf(mirror, to)).toMatchObject({ files_written: first.files });
      expect((await readBack(to, TABLES)).rows).toEqual(mirrorRows(mirror, TABLES));
      expect(await exportOf(mirror, to)).toMatchObject({ files_written: 0 });
    },
  );

  test('partitions without rows are dropped, and a new month becomes a new partition', async () => {
    const { mirror, to } = await exported();
    change(mirror, "delete from test_executions where env_id = 'e1' and start_time < '2026-09' and @now > ''");
    const later = { ...execution('e1', 1, 99_999, 1), start_time: '2027-01-31T23:59:59.999999Z' };
    insert(mirror, 'test_executions', { ...later, mirrored_at: mirroredAt(1) });
    await exportOf(mirror, to, { keep: 0 });
    const months = manifestIn(to).files.filter(({ table, env_id }) => table === 'test_executions' && env_id === 'e1');
    expect(months.map(({ month }) => month)).toEqual(['2026-09', '2026-10', '2026-11', '2027-01']);
    expect((await readBack(to, TABLES)).rows).toEqual(mirrorRows(mirror, TABLES));
    expect(dataFiles(to).filter((path) => path.startsWith('.files/test_executions/e1/2026-08'))).toEqual([]);
  });

  test.each(['parquet', 'delta'] as const)(
    'a %s file that is missing, truncated or altered is rewritten',
    async (format) => {
      const { mirror, to } = await exported(fillMirror, 0, { format });
      const before = dataFiles(to);
      const [gone, short, other] = manifestIn(to).files.map(({ path }) => join(to, path)) as [string, string, string];
      rmSync(gone);
      writeFileSync(short, 'x');
      writeFileSync(other, readFileSync(other).fill(0, 9, 10));
      expect(brokenFiles(to)).toHaveLength(3);
      expect(await exportOf(mirror, to, { format })).toMatchObject({ files_written: 3 });
      expect(brokenFiles(to)).toEqual([]);
      expect(dataFiles(to).sort()).toEqual(before.sort());
      change(mirror, "update tests set name = 'x', mirrored_at = @now where env_id = 'e1'");
      rmSync(gone);
      await exportOf(mirror, to, { format });
      expect(brokenFiles(to)).toEqual([]);
      expect((await readBack(to, TABLES)).rows).toEqual(mirrorRows(mirror, TABLES));
    },
  );

  test('another format rewrites everything and removes the files of the last export', async () => {
    const { mirror, to, first } = await exported();
    expect(await exportOf(mirror, to, { format: 'csv', keep: 0 })).toMatchObject({
      files_written: first.files,
      files_removed: first.files,
    });
    const named = filesUnder(to).filter((path) => path.includes('/part-'));
    expect(new Set(named.map((path) => extname(path)))).toEqual(new Set(['.csv']));
    expect((await readBack(to, TABLES)).rows).toEqual(mirrorRows(mirror, TABLES));
  });

  test('an export in a folder within another one keeps its files', async () => {
    const { mirror, to } = await exported((made) => fillMirror(made, { envs: ['2026-11'], runs: 5, assets: 5 }));
    const inner = join(to, 'test_executions');
    await exportOf(mirror, to, { tables: ['assets'], keep: 0 });
    await exportOf(mirror, inner, { keep: 0 });
    await exportOf(mirror, to, { tables: ['assets', 'tests'], keep: 0 });
    expect(brokenFiles(inner)).toEqual([]);
  });

  test.each([0, 1, 2])('the files of the last %i exports before it are kept', async (keep) => {
    const { mirror, to } = await exported(fillMirror, keep);
    const manifests = [manifestIn(to)];
    for (let n = 1; n <= 3; n++) {
      change(mirror, `update tests set name = 'name ${n}', mirrored_at = @now where env_id = 'e1'`, n);
      await exportOf(mirror, to, { keep });
      manifests.push(manifestIn(to));
    }
    const kept = manifests.slice(-1 - keep).flatMap(({ files }) => files.map(({ path }) => path));
    expect(dataFiles(to).sort()).toEqual([...new Set(kept)].sort());
  });
});

test('a view has one file per environment, which is written again as a whole', async () => {
  const views = { tables: ['live_columns'], keep: 0, targetSize: 0.001 };
  const { mirror, to, first } = await exported((made) => fillMirror(made, { assets: 500, runs: 0 }), 0, views);
  expect(first).toMatchObject({ files: 2, rows: 1000 });
  expect(await exportOf(mirror, to, views)).toMatchObject({ files_written: 0 });
  mirror.connection.exec("update columns set name = 'x' where env_id = 'e1' and id = 'model.shop.table_0007.id'");
  expect(await exportOf(mirror, to, views)).toMatchObject({ files_written: 1, files: 2 });
  expect((await readBack(to, views.tables)).rows).toEqual(mirrorRows(mirror, views.tables));
  mirror.connection.exec('vacuum');
  expect(await exportOf(mirror, to, views)).toMatchObject({ files_written: 0 });
});

/** The share of a table's bytes that the next export writes, in percent. */
async function shareWritten(table: string, { mirror, to }: Awaited<ReturnType<typeof exported>>): Promise<number> {
  const { tables } = await exportOf(mirror, to);
  expect((await readBack(to, [table])).rows).toEqual(mirrorRows(mirror, [table]));
  const written = tables.find((each) => each.table === table);
  return (100 * (written?.bytes_written ?? 0)) / (written?.bytes ?? 0);
}

describe('an export after one row in a hundred was added', () => {
  const fill = (assets: number, runs: number) => (mirror: MirrorFile) =>
    fillMirror(mirror, { assets, runs, envs: ['e1'] });

  test('it writes at most 3 % of the bytes if executions were added', async () => {
    const place = await exported(fill(100, 50_000));
    for (let n = 0; n < 500; n++) {
      const start_time = `2026-11-19T23:59:59.${String(n).padStart(6, '0')}Z`;
      const run = { ...execution('e1', n % 100, 100_000 + n, 1), start_time, mirrored_at: mirroredAt(1) };
      insert(place.mirror, 'test_executions', run);
    }
    expect(await shareWritten('test_executions', place)).toBeLessThanOrEqual(3);
  });
});
