import { statSync } from 'node:fs';
import { join } from 'node:path';
import { SyncError } from '../../core/errors.ts';
import { isSystemError } from '../export-files.ts';
import type { ExportFolder } from '../export-folder.ts';
import type { ExportManifest } from '../manifest.ts';
import { EXPORT_RELATIONS } from '../relation.ts';
import { UNDESCRIBED } from '../table-dictionary.ts';
import { applyCommit, type DeltaAction, type DeltaSnapshot, NO_TABLE } from './delta-action.ts';
import { APP_ID, commitActions } from './delta-commit.ts';
import { commitPath, isOfExport, LOG_NAME, readLog, refuseUnwritable } from './delta-log.ts';
import { type DeltaTable, deltaTable } from './delta-table.ts';
import { shortenLog } from './shorten-log.ts';

/** The Delta tables in a folder before an export, by name: those that it will write, and those that have a log. */
export type DeltaTables = ReadonlyMap<string, DeltaSnapshot>;

/** @throws SyncError for a table that cannot be written to: before anything is written */
export async function readLogs(folder: string, written: readonly string[]): Promise<DeltaTables> {
  const snapshots = new Map<string, DeltaSnapshot>();
  for (const { name } of EXPORT_RELATIONS) {
    const snapshot = await readLog(join(folder, name));
    if (written.includes(name)) refuseUnwritable(name, snapshot);
    snapshots.set(name, snapshot);
  }
  return snapshots;
}

/** The number of the last export that has written to any of the logs. */
export function lastNumber(tables: DeltaTables): number {
  return Math.max(0, ...[...tables.values()].map(({ txns }) => txns.get(APP_ID)?.version ?? 0));
}

/** Makes one commit for each table whose log does not have the files of the manifest, and drops the logs of other tables. */
export function writeLogs(folder: ExportFolder, manifest: ExportManifest, before: DeltaTables, nowMs: number): void {
  const written = manifest.format === 'delta' ? manifest.tables : [];
  const files = Map.groupBy(manifest.files, ({ table }) => table);
  const { number, instant } = manifest;
  const modifiedMs = (file: string): number => Math.trunc(statSync(join(folder.path, file)).mtimeMs);
  const after = new Map<string, DeltaSnapshot>();
  for (const exported of written) {
    const described = folder.dictionary[exported.name] ?? UNDESCRIBED;
    const table = deltaTable(exported, described, files.get(exported.name) ?? []);
    const snapshot = before.get(exported.name) ?? NO_TABLE;
    const actions = commitActions(table, snapshot, { number, instant, nowMs }, modifiedMs);
    if (actions.length === 0) continue;
    putCommit(folder, table, snapshot.version + 1, actions);
    after.set(table.name, applyCommit(snapshot, snapshot.version + 1, actions));
  }
  for (const [name, snapshot] of after) shortenLog(folder, name, snapshot, nowMs);
  // The files of other tables go with the next cleaning: without its log nobody takes one for a table. A log that others made stays.
  const names = new Set(written.map(({ name }) => name));
  for (const [name, snapshot] of before)
    if (!names.has(name) && isOfExport(snapshot)) folder.drop(`${name}/${LOG_NAME}`);
}

function putCommit(folder: ExportFolder, { name }: DeltaTable, version: number, actions: readonly DeltaAction[]): void {
  try {
    folder.putNew(`${name}/${commitPath(version)}`, actions.map((action) => `${JSON.stringify(action)}\n`).join(''));
  } catch (cause) {
    if (!isSystemError(cause) || cause.code !== 'EEXIST') throw cause;
    throw new SyncError('run', `another program wrote to the Delta table ${name} at the same time: export again`, {
      cause,
    });
  }
}
