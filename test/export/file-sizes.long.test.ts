import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { MirrorFile } from '../../src/destination/sqlite/open.ts';
import { readCommit, readDelta, readTable } from './delta-reader.ts';
import {
  execution,
  exportedMirror,
  exportOf,
  fillMirror,
  fillWide,
  insert,
  manifestIn,
  mirroredAt,
  mirrorRows,
  readBack,
  verifyOf,
} from './setup.ts';

const MIB = 2 ** 20;

describe('the files of a table', () => {
  const WIDE = { tables: ['columns'], keep: 0, targetSize: 1 } as const;
  const sizes = (to: string): number[] => manifestIn(to).files.map(({ bytes }) => bytes);

  test('a table is split at the target size, and no file is smaller than half of it', async () => {
    const { mirror, to } = await exportedMirror(WIDE, (made) => fillWide(made, { columns: 6000 }));
    expect(sizes(to).length).toBeGreaterThan(3);
    expect(Math.min(...sizes(to))).toBeGreaterThan(MIB / 2);
    expect(Math.max(...sizes(to))).toBeLessThan(2 * MIB);
    await exportOf(mirror, to, { ...WIDE, format: 'csv', targetSize: 100 });
    expect(sizes(to)).toHaveLength(1);
  });

  test('only the files with changed rows are written again', async () => {
    const { mirror, to } = await exportedMirror(WIDE, (made) => fillWide(made, { columns: 6000 }));
    const range = "id >= 'column.003000' and id < 'column.003060'";
    mirror.connection.exec(`update columns set data_type = 'x', mirrored_at = '${mirroredAt(1)}' where ${range}`);
    const { files_written } = await exportOf(mirror, to, WIDE);
    expect([1, 2]).toContain(files_written);
    expect((await readBack(to, ['columns'])).rows).toEqual(mirrorRows(mirror, ['columns']));
  });

  test('a file that has become small is joined with its neighbour', async () => {
    const { mirror, to } = await exportedMirror(WIDE, (made) => fillWide(made, { columns: 6000 }));
    const before = sizes(to).length;
    const { from = '' } = manifestIn(to).files[1] ?? {};
    mirror.connection.exec(`delete from columns where id > '${from}' and id < '${manifestIn(to).files[2]?.from}'`);
    await exportOf(mirror, to, WIDE);
    expect(sizes(to).length).toBeLessThan(before);
    expect(Math.min(...sizes(to))).toBeGreaterThan(MIB / 2);
    expect((await readBack(to, ['columns'])).rows).toEqual(mirrorRows(mirror, ['columns']));
    mirror.connection.exec("delete from columns where id <> 'column.000000'");
    await exportOf(mirror, to, WIDE);
    expect(sizes(to)).toHaveLength(1);
    expect(await verifyOf(mirror, to)).toMatchObject({ equal: true });
  });
});

describe('the files of a history', () => {
  const CHOICE = { tables: ['test_executions'], keep: 0, format: 'delta' } as const;
  const fill = (mirror: MirrorFile): void => fillMirror(mirror, { assets: 5, runs: 300, envs: ['e1'] });
  const paths = (to: string): string[] => manifestIn(to).files.map(({ path }) => path);
  const commitsOf = (to: string) => {
    const table = join(to, 'test_executions');
    const { version = -1 } = readTable(table) ?? {};
    const commit = readCommit(join(table, '_delta_log', `${String(version).padStart(20, '0')}.json`));
    return commit.filter(([name]) => name === 'add' || name === 'remove');
  };

  /** A commit of the mirror with a new execution. */
  function add(mirror: MirrorFile, n: number, start_time: string): void {
    const row = { ...execution('e1', 1, 10_000 + n, 20_000), start_time, mirrored_at: mirroredAt(n) };
    insert(mirror, 'test_executions', row);
  }

  test('new rows get a file of their own, so a Delta commit only adds it, with bounds of mirrored_at', async () => {
    const { mirror, to } = await exportedMirror(CHOICE, fill);
    const before = paths(to);
    add(mirror, 1, '2026-11-02T00:00:00.000000Z');
    add(mirror, 2, '2026-11-01T00:00:00.000000Z');
    expect(await exportOf(mirror, to, CHOICE)).toMatchObject({ files_written: 1, files_removed: 0 });
    expect(paths(to)).toEqual(expect.arrayContaining(before));
    const [[name, action] = ['', {}], ...others] = commitsOf(to);
    expect([name, action['dataChange'], others]).toEqual(['add', true, []]);
    const time = (n: number): string => `${mirroredAt(n).slice(0, 23)}Z`;
    expect(JSON.parse(String(action['stats']))).toMatchObject({
      numRecords: 2,
      minValues: { start_time: '2026-11-01T00:00:00.000Z', mirrored_at: time(1) },
      maxValues: { start_time: '2026-11-02T00:00:00.000Z', mirrored_at: time(2) },
    });
    expect((await readDelta(to, CHOICE.tables)).rows).toEqual(mirrorRows(mirror, CHOICE.tables));
    expect(await verifyOf(mirror, to)).toMatchObject({ equal: true });
    expect(await exportOf(mirror, to, CHOICE)).toMatchObject({ files_written: 0 });
  });

  test('a changed row leaves its old file for a new one', async () => {
    const { mirror, to } = await exportedMirror(CHOICE, fill);
    mirror.connection.exec(
      `update test_executions set status = 'x', mirrored_at = '${mirroredAt(1)}' where id = 'run-299'`,
    );
    expect(await exportOf(mirror, to, CHOICE)).toMatchObject({ files_written: 2 });
    expect((await readDelta(to, CHOICE.tables)).rows).toEqual(mirrorRows(mirror, CHOICE.tables));
    expect(await exportOf(mirror, to, CHOICE)).toMatchObject({ files_written: 0 });
  });

  test.each(['delta', 'parquet'] as const)(
    'as %s, eight small files of the newest month are joined, and two of an older one, without a change of data',
    async (format) => {
      const choice = { ...CHOICE, format };
      const { mirror, to } = await exportedMirror(choice, fill);
      const inMonth = (month: string): number => manifestIn(to).files.filter((file) => file.month === month).length;
      const seen: number[] = [];
      for (let n = 1; n <= 9; n++) {
        add(mirror, n, `2026-11-19T00:00:0${n}.000000Z`);
        await exportOf(mirror, to, choice);
        seen.push(inMonth('2026-11'));
        expect((await readBack(to, CHOICE.tables)).rows).toEqual(mirrorRows(mirror, CHOICE.tables));
        if (format === 'delta' && n === 8) {
          const changes = commitsOf(to).map(([name, { dataChange }]) => `${name} ${String(dataChange)}`);
          expect(changes.sort()).toEqual(['add false', 'add true', ...Array.from({ length: 8 }, () => 'remove false')]);
        }
      }
      expect(seen).toEqual([2, 3, 4, 5, 6, 7, 8, 2, 3]);
      for (let n = 10; n <= 12; n++) {
        add(mirror, n, `2026-09-19T00:00:0${n % 10}.000000Z`);
        await exportOf(mirror, to, choice);
        expect(inMonth('2026-09')).toBe(2);
      }
      expect(await verifyOf(mirror, to)).toMatchObject({ equal: true });
      expect(readFileSync(join(to, 'manifest.json'), 'utf8')).toContain('"joins"');
    },
  );
});

test.each(['parquet', 'delta'] as const)(
  'after changes of all kinds each export as %s equals the mirror, and the next one writes nothing',
  async (format) => {
    const choice = { tables: ['columns', 'test_executions', 'live_columns'], format, targetSize: 0.5, keep: 1 };
    const { mirror, to } = await exportedMirror(choice, (made) => fillWide(made, { columns: 2500, runs: 1500 }));
    const changes = changesOf(mirror);
    for (const [round, numbers] of [
      [0, 4, 2],
      [1, 5],
      [4, 4],
      [0, 3, 5],
      [2, 1, 3],
      [4, 0, 5],
      [4],
      [2, 3, 4, 5],
    ].entries()) {
      for (const [i, number] of numbers.entries()) changes[number]?.(10 * round + i + 1);
      await exportOf(mirror, to, choice);
      expect((await verifyOf(mirror, to)).differences).toEqual([]);
      expect((await readBack(to, choice.tables)).rows).toEqual(mirrorRows(mirror, choice.tables));
      expect(await exportOf(mirror, to, choice)).toMatchObject({ files_written: 0 });
    }
  },
);

/** Commits of a mirror; each takes its number. */
function changesOf(mirror: MirrorFile): readonly ((n: number) => void)[] {
  const place = (n: number): number => (n * 977) % 2500;
  const range = (n: number, length: number): string => {
    const [first, next] = [place(n), place(n) + length].map((at) => `'column.${String(at).padStart(6, '0')}'`);
    return `id >= ${first} and id < ${next}`;
  };
  const stamp = (n: number): string => `mirrored_at = '${mirroredAt(n)}'`;
  const addRuns = (n: number, count: number): void => {
    for (let i = 0; i < count; i++) {
      const start_time = `2026-${['08', '10', '11', '12'][i % 4]}-1${i % 9}T00:00:00.000000Z`;
      const row = { ...execution('e1', 1, 500_000 + 1000 * n + i, 600_000), start_time, mirrored_at: mirroredAt(n) };
      insert(mirror, 'test_executions', row);
    }
  };
  return [
    (n) => void mirror.connection.exec(`delete from columns where ${range(n, 600)}`),
    (n) => void mirror.connection.exec(`update columns set data_type = 'x', ${stamp(n)} where ${range(n, 30)}`),
    (n) => void mirror.connection.exec(`delete from test_executions where rowid % ${2 + n} = 0`),
    (n) =>
      void mirror.connection.exec(`update test_executions set status = 'x', ${stamp(n)} where rowid % ${90 + n} = 0`),
    (n) => addRuns(n, 600),
    (n) => addRuns(n, 1),
  ];
}
