import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { filesUnder } from '../../src/export/export-files.ts';
import { readCheckpoint, readDelta, readTable } from './delta-reader.ts';
import { commitAssets, DELTA, exported, filesOf, fillAssets, versionsOf } from './delta-setup.ts';
import { changedSince, copyOf, countOperations, failingAt, killedAt, SOME, watched } from './faults.ts';
import { exportOf, folder, mirrorRows, openMirror } from './setup.ts';

describe('an interrupted export to Delta tables', () => {
  test('each table is old or new, wherever the export is killed, and the next one makes the missing commits', async () => {
    const { mirror, to } = await changedSince(DELTA);
    const old = SOME.map((table) => filesOf(to, table).log);
    const most = await countOperations(DELTA);
    const seen = new Set<string>();
    for (let n = 1; n <= most; n++) {
      const copy = copyOf(to);
      await expect(exportOf(mirror, copy, DELTA, killedAt(n))).rejects.toThrow('killed');
      const versions = versionsOf(copy);
      seen.add(Object.values(versions).join());
      for (const [i, table] of SOME.entries()) {
        const { log, manifest } = filesOf(copy, table);
        expect(log).toEqual(versions[table] === 0 ? old[i] : manifest);
      }
      await exportOf(mirror, copy, DELTA);
      expect(versionsOf(copy)).toEqual({ assets: 1, test_executions: 1, asset_lineage: 1 });
      for (const table of SOME) expect(filesOf(copy, table).log).toEqual(filesOf(copy, table).manifest);
      expect(filesUnder(copy).filter((path) => path.includes('.tmp'))).toEqual([]);
    }
    expect([...seen]).toEqual(['0,0,0', '1,0,0', '1,0,1', '1,1,1']);
  });

  test('an interrupted first export is completed by the next one', async () => {
    const { mirror } = await changedSince(DELTA);
    const most = await countOperations(DELTA);
    for (let n = 1; n <= most; n++) {
      const to = folder();
      const ended = await exportOf(mirror, to, DELTA, killedAt(n)).catch(String);
      expect(ended).toBe('Error: killed');
      await exportOf(mirror, to, DELTA);
      expect(versionsOf(to)).toEqual({ assets: 0, test_executions: 0, asset_lineage: 0 });
      for (const table of SOME) expect(filesOf(to, table).log).toEqual(filesOf(to, table).manifest);
    }
  });

  test('each table is intact, whichever file operation fails', async () => {
    const { mirror, to } = await changedSince(DELTA);
    const old = SOME.map((table) => filesOf(to, table).log);
    const most = await countOperations(DELTA);
    const standing = new Set<string>();
    for (let n = 1; n <= most; n++) {
      const copy = copyOf(to);
      const ended = await exportOf(mirror, copy, DELTA, failingAt(n, 'EIO')).catch(String);
      standing.add(typeof ended === 'string' ? (/; (.*)$/.exec(ended)?.[1] ?? ended) : 'warned');
      for (const [i, table] of SOME.entries()) {
        const { log, manifest } = filesOf(copy, table);
        expect([old[i], manifest]).toContainEqual(log);
      }
      expect((await exportOf(mirror, copy, DELTA)).warnings).toEqual([]);
      expect(versionsOf(copy)).toEqual({ assets: 1, test_executions: 1, asset_lineage: 1 });
      for (const table of SOME) expect(filesOf(copy, table).log).toEqual(filesOf(copy, table).manifest);
      expect(filesUnder(copy).filter((path) => path.includes('.tmp'))).toEqual([]);
    }
    expect([...standing]).toEqual([
      'the last complete export is untouched',
      'the new export is complete, but not yet in every Delta log',
      'the new export is complete',
      'warned',
    ]);
  });

  test('if the disk is full while a log is written, the error says which export is valid', async () => {
    const { mirror, to } = await changedSince(DELTA);
    await expect(exportOf(mirror, to, DELTA, failingAt(1, 'ENOSPC', 'link'))).rejects.toThrow(
      `the disk of ${to} is full: make room and export again; the new export is complete, but not yet in every Delta log`,
    );
    await exportOf(mirror, to, DELTA);
    expect((await readDelta(to, SOME)).rows).toEqual(mirrorRows(mirror, SOME));
  });

  test('an interrupted removal of a table’s log is completed by the next export', async () => {
    const { mirror, to } = await exported({ tables: SOME });
    for (let n = 1; n <= 60; n++) {
      const copy = copyOf(to);
      const narrow = { ...DELTA, tables: ['assets'] };
      await exportOf(mirror, copy, narrow, killedAt(n)).catch(String);
      const log = join(copy, 'asset_lineage', '_delta_log');
      if (existsSync(log)) expect(readTable(join(copy, 'asset_lineage'))?.files.size).toBeGreaterThan(0);
      await exportOf(mirror, copy, narrow);
      expect(filesUnder(copy).filter((path) => /^(asset_lineage|test_executions)/.test(path))).toEqual([]);
    }
  });

  test('a reader sees each table intact meanwhile, as of the last export or the new one', async () => {
    const { mirror, to } = await changedSince(DELTA);
    const old = SOME.map((table) => filesOf(to, table).log);
    const looking = watched(() => {
      for (const [i, table] of SOME.entries()) {
        const { log, manifest } = filesOf(to, table);
        expect([old[i], manifest]).toContainEqual(log);
      }
    });
    await exportOf(mirror, to, { ...DELTA, keep: 1 }, looking);
    expect((await readDelta(to, SOME)).rows).toEqual(mirrorRows(mirror, SOME));
  });

  test('a later export writes the checkpoint of a log if an export was killed before, and the table stays intact', async () => {
    const [mirror, to] = [openMirror(fillAssets), folder()];
    for (let n = 0; n < 9; n++) await commitAssets(mirror, to, n);
    for (let n = 1; ; n++) {
      const copy = copyOf(to);
      const table = join(copy, 'assets');
      const ended = await commitAssets(mirror, copy, 9, killedAt(n)).catch(String);
      expect([8, 9]).toContain(readTable(table)?.version);
      await commitAssets(mirror, copy, 10);
      const names = readdirSync(join(table, '_delta_log')).filter((name) => name.endsWith('.checkpoint.parquet'));
      const version = Number.parseInt(names[0] ?? '', 10);
      const actions = await readCheckpoint(table, version);
      expect(readTable(table, { version, actions })).toEqual(readTable(table));
      expect(filesUnder(copy).filter((path) => path.includes('.tmp'))).toEqual([]);
      if (typeof ended !== 'string') break;
    }
  });
});
