import { join } from 'node:path';
import type { MirrorFile } from '../../src/destination/sqlite/open.ts';
import { readTable } from './delta-reader.ts';
import { SOME } from './faults.ts';
import { type ExportChoice, exportedMirror, manifestIn } from './setup.ts';

export const DELTA = { format: 'delta', tables: SOME, keep: 0 } as const satisfies ExportChoice;

/** A mirror, and a folder with its export. */
export const exported = (choice: ExportChoice = {}, fill?: (mirror: MirrorFile) => void) =>
  exportedMirror({ ...DELTA, tables: [], ...choice }, fill);

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
