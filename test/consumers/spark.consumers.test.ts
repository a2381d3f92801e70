import { existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { MirrorFile } from '../../src/destination/sqlite/open.ts';
import { versionsOf } from '../export/delta-setup.ts';
import { copyOf } from '../export/faults.ts';
import { ALL_RELATIONS, exportOf, folder } from '../export/setup.ts';
import { changeAssets, changeMirror, makeAwkwardMirror, writeExpected } from './awkward-mirror.ts';
import { expectReads } from './consumer.ts';
import { DELTA_JARS } from './places.ts';

/** The tables that are read of an export, for Delta with their versions, and the path of what the mirror had. */
interface ExportState {
  readonly mirror: string;
  readonly tables: Readonly<Record<string, number | null | undefined>>;
}

interface ReadExport {
  readonly what: string;
  readonly folder: string;
  readonly format: 'parquet' | 'csv' | 'ndjson' | 'delta';
  readonly states: readonly ExportState[];
}

/** Lets one session of Spark read these exports and then run the statements. */
async function expectSparkReads(reads: readonly ReadExport[], statements: readonly string[] = []): Promise<void> {
  const path = join(folder(), 'reads.json');
  writeFileSync(path, JSON.stringify(reads));
  const expected = reads[0]?.states[0]?.mirror ?? '';
  await expectReads('spark.py', expected, path, DELTA_JARS.join(), ...statements);
}

function awkwardMirror(): MirrorFile {
  const mirror = makeAwkwardMirror();
  onTestFinished(() => void mirror.connection.close());
  return mirror;
}

const ALL_TABLES = Object.fromEntries(ALL_RELATIONS.map((name) => [name, null]));

/** More than ten commits, so there is a checkpoint. */
const LATER_EXPORTS = 11;

/** A copy of a Delta export without the commits up to its checkpoints, and the tables that have one. */
function withoutOldCommits(from: string, { mirror, tables }: ExportState): ReadExport {
  const to = copyOf(from);
  const hasCheckpoint = ([table]: readonly [string, unknown]): boolean => {
    const log = join(to, table, '_delta_log');
    const newest = readdirSync(log).findLast((name) => name.endsWith('.checkpoint.parquet'));
    if (newest === undefined) return false;
    for (const name of readdirSync(log))
      if (name.endsWith('.json') && name.slice(0, 20) <= newest.slice(0, 20)) rmSync(join(log, name));
    return true;
  };
  const state = { mirror, tables: Object.fromEntries(Object.entries(tables).filter(hasCheckpoint)) };
  return { what: 'Delta tables from their checkpoints', folder: to, format: 'delta', states: [state] };
}

// A machine without a JDK leaves them out; the installation says so.
describe.runIf(DELTA_JARS.every((jar) => existsSync(jar)))('Spark', () => {
  test('it reads each table and view of an export by its folder as SQL does', async () => {
    const mirror = awkwardMirror();
    const folders = { parquet: folder(), csv: folder(), ndjson: folder() };
    const reads: ReadExport[] = [];
    const exportAs = async (format: keyof typeof folders, nth: string): Promise<void> => {
      await exportOf(mirror, folders[format], { format, views: true });
      const states = [{ mirror: writeExpected(mirror), tables: ALL_TABLES }];
      const what = `${format} export by folder, ${nth} export`;
      reads.push({ what, folder: copyOf(folders[format]), format, states });
    };
    await exportAs('parquet', 'first');
    changeMirror(mirror);
    for (const format of ['parquet', 'csv', 'ndjson'] as const) await exportAs(format, 'second');
    await expectSparkReads(reads);
  });

  test('it reads every version of each Delta table, and the next export puts back what it has changed', async () => {
    const [mirror, to] = [awkwardMirror(), folder()];
    const exportAgain = async (): Promise<ExportState & { notes: readonly string[] }> => {
      const { notes } = await exportOf(mirror, to, { format: 'delta', views: true, keep: LATER_EXPORTS + 2 });
      return { notes, mirror: writeExpected(mirror), tables: versionsOf(to, ALL_RELATIONS) };
    };
    const states: ExportState[] = [];
    let newest = await exportAgain();
    states.push(newest);
    changeMirror(mirror);
    for (let n = 10; n < 10 + LATER_EXPORTS; n++) {
      changeAssets(mirror, `change ${n}`, n);
      const before = newest.tables;
      newest = await exportAgain();
      const changed = Object.entries(newest.tables).filter(([name, version]) => before[name] !== version);
      states.push({ mirror: newest.mirror, tables: Object.fromEntries(changed) });
    }
    const delta = { what: `Delta tables of ${states.length} exports`, folder: to, format: 'delta' } as const;
    await expectSparkReads(
      [{ ...delta, states }, withoutOldCommits(to, newest)],
      [`delete from delta.\`${to}/assets\` where env_id = '007'`, `optimize delta.\`${to}/tests\``],
    );
    const versionAfter = (table: string): number => (newest.tables[table] ?? 0) + 1;
    const changes = {
      assets: `DELETE, version ${versionAfter('assets')}`,
      tests: `OPTIMIZE, version ${versionAfter('tests')}`,
    };

    const restored = await exportAgain();
    expect(restored.notes).toEqual(
      Object.entries(changes).map(
        ([table, change]) =>
          `another program has changed the Delta table ${table} (${change}): it was put back as the mirror has it`,
      ),
    );
    const tables = Object.fromEntries(Object.keys(changes).map((table) => [table, restored.tables[table]]));
    const after = { ...delta, what: 'Delta tables that it had changed', states: [{ ...restored, tables }] };
    await expectSparkReads([after]);
  });
});
