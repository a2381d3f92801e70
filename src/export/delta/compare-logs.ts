import { SyncError } from '../../core/errors.ts';
import type { ExportManifest } from '../manifest.ts';
import type { DeltaField, DeltaSnapshot } from './delta-action.ts';
import { readWritableLog } from './delta-log.ts';
import { type DeltaTable, deltaTable } from './delta-table.ts';

/** A table whose Delta log does not match the manifest's files and columns. */
interface UnequalLog {
  readonly table: string;
  /** Why the next export refuses the log, and what to do first; null if it repairs the log. */
  readonly reason: string | null;
}

/** The tables of an export whose log is not the one that the export wrote. */
export async function unequalLogs(folder: string, { format, tables, files }: ExportManifest): Promise<UnequalLog[]> {
  const unequal: UnequalLog[] = [];
  const byTable = Map.groupBy(files, ({ table }) => table);
  for (const exported of format === 'delta' ? tables : []) {
    const table = deltaTable(exported, byTable.get(exported.name) ?? []);
    const log = await readWritableLog(folder, exported.name).catch(refusalOf);
    const reason = log instanceof SyncError ? log.message : null;
    if (log instanceof SyncError || !isEqual(table, log)) unequal.push({ table: exported.name, reason });
  }
  return unequal;
}

/** Why the next export refuses a log. */
function refusalOf(error: unknown): SyncError {
  if (error instanceof SyncError) return error;
  throw error;
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

function columnsOf(metaData: Pick<DeltaTable['metaData'], 'schemaString'> | null): string {
  const { fields = [] } = JSON.parse(metaData?.schemaString ?? '{}') as { readonly fields?: readonly DeltaField[] };
  return JSON.stringify(fields.map(({ name, type }) => [name, type]));
}
