import { join } from 'node:path';
import { SyncError } from '../../core/errors.ts';
import type { ExportManifest } from '../manifest.ts';
import { UNDESCRIBED } from '../table-dictionary.ts';
import type { DeltaField, DeltaSnapshot } from './delta-action.ts';
import { readLog } from './delta-log.ts';
import { type DeltaTable, deltaTable } from './delta-table.ts';

/** The tables of an export whose Delta log does not have the files and columns that the manifest has. */
export async function unequalLogs(folder: string, { format, tables, files }: ExportManifest): Promise<string[]> {
  const unequal: string[] = [];
  const byTable = Map.groupBy(files, ({ table }) => table);
  for (const exported of format === 'delta' ? tables : []) {
    const table = deltaTable(exported, UNDESCRIBED, byTable.get(exported.name) ?? []);
    const snapshot = await wholeLog(join(folder, exported.name));
    if (snapshot === null || !isEqual(table, snapshot)) unequal.push(exported.name);
  }
  return unequal;
}

/** Null for a log that is not whole. */
async function wholeLog(table: string): Promise<DeltaSnapshot | null> {
  try {
    return await readLog(table);
  } catch (error) {
    if (error instanceof SyncError) return null;
    throw error;
  }
}

function isEqual({ files, metaData }: DeltaTable, snapshot: DeltaSnapshot): boolean {
  return (
    columnsOf(metaData) === columnsOf(snapshot.metaData) &&
    files.size === snapshot.files.size &&
    [...files.values()].every(({ path, size }) => snapshot.files.get(path)?.size === size)
  );
}

function columnsOf(metaData: Pick<DeltaTable['metaData'], 'schemaString'> | null): string {
  const { fields } = JSON.parse(metaData?.schemaString ?? '{"fields":[]}') as {
    readonly fields: readonly DeltaField[];
  };
  return JSON.stringify(fields.map(({ name, type }) => [name, type]));
}
