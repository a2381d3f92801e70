import { join } from 'node:path';
import type { ExportReport } from '../../src/api/export-mirror.ts';
import type { MirrorFile } from '../../src/destination/sqlite/open.ts';
import type { FileOperations } from '../../src/export/export-files.ts';
import { readTable } from './delta-reader.ts';
import { SOME } from './faults.ts';
import { type ExportChoice, exportedMirror, exportOf, fillMirror, manifestIn, mirroredAt } from './setup.ts';

export const DELTA = { format: 'delta', tables: SOME, keep: 0 } as const satisfies ExportChoice;

export const ASSETS = { ...DELTA, tables: ['assets'] };

/** A mirror, and a folder with its export. */
export const exported = (choice: ExportChoice = {}, fill?: (mirror: MirrorFile) => void) =>
  exportedMirror({ ...DELTA, tables: [], ...choice }, fill);

export const fillAssets = (mirror: MirrorFile): void => fillMirror(mirror, { assets: 10, runs: 0 });

/** The `n`th commit of a mirror, and of the Delta table with its assets: it changes the files of one environment. */
export function commitAssets(mirror: MirrorFile, to: string, n: number, files?: FileOperations): Promise<ExportReport> {
  mirror.connection.exec(`update assets set name = 'n${n}', mirrored_at = '${mirroredAt(n)}' where env_id = 'e1'`);
  return exportOf(mirror, to, ASSETS, files);
}

/** The version of each Delta table. */
export const versionsOf = (to: string, tables: readonly string[] = SOME): Record<string, number | undefined> =>
  Object.fromEntries(tables.map((table) => [table, readTable(join(to, table))?.version]));

/** The files of a table by its log and by the manifest. */
export function filesOf(to: string, table: string): { log: string[]; manifest: string[] } {
  const read = readTable(join(to, table));
  const ofTable = manifestIn(to).files.filter((file) => file.table === table);
  return {
    log: [...(read?.files.keys() ?? [])].sort(),
    manifest: ofTable.map(({ path }) => path.slice(table.length + 1)).sort(),
  };
}
