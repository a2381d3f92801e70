import { SyncError } from '../../core/errors.ts';
import type { ExportManifest } from '../manifest.ts';
import type { DeltaField, DeltaSnapshot, MetaDataAction } from './delta-action.ts';
import { readWritableLog } from './delta-log.ts';
import { type DeltaTable, deltaTables } from './delta-table.ts';

/**
 * The tables of an export whose log does not match the manifest's files and columns, each with the reason why the next
 * export refuses the log, and what to do first; null if it repairs the log.
 */
export async function unequalLogs(folder: string, manifest: ExportManifest) {
  const unequal: { readonly table: string; readonly reason: string | null }[] = [];
  for (const table of deltaTables(manifest)) {
    try {
      if (!isEqual(table, await readWritableLog(folder, table.name))) unequal.push({ table: table.name, reason: null });
    } catch (error) {
      if (!(error instanceof SyncError)) throw error;
      unequal.push({ table: table.name, reason: error.message });
    }
  }
  return unequal;
}

function isEqual({ files, metaData }: DeltaTable, snapshot: DeltaSnapshot): boolean {
  return (
    snapshot.protocol !== null &&
    snapshot.metaData !== null &&
    columnsOf(metaData) === columnsOf(snapshot.metaData) &&
    files.size === snapshot.files.size &&
    [...files.values()].every(({ path, size }) => snapshot.files.get(path)?.size === size)
  );
}

/** Another program's log may lack what the protocol requires. */
function columnsOf({ schemaString = '{}' }: Partial<MetaDataAction>): string {
  const { fields = [] } = JSON.parse(schemaString) as { readonly fields?: readonly DeltaField[] };
  return JSON.stringify(fields.map(({ name, type }) => [name, type]));
}
