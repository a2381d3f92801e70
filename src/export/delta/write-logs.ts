import { statSync } from 'node:fs';
import { join } from 'node:path';
import { SyncError } from '../../core/errors.ts';
import { DAY_MS } from '../../core/time/duration.ts';
import { isSystemError } from '../export-files.ts';
import type { ExportFolder } from '../export-folder.ts';
import type { ExportManifest } from '../manifest.ts';
import { EXPORT_RELATIONS } from '../relation.ts';
import { APP_ID, applyCommit, type DeltaAction, type DeltaSnapshot, NO_TABLE } from './delta-action.ts';
import { checkpointOf } from './delta-checkpoint.ts';
import { commitActions } from './delta-commit.ts';
import { checkpointPath, commitPath, LOG_NAME, readLog, readWritableLog, versionsOf } from './delta-log.ts';
import { type DeltaTable, deltaTables } from './delta-table.ts';

/** A Delta table in a folder before an export. */
interface ExistingTable {
  readonly snapshot: DeltaSnapshot;
  /** Whether an export has written to it. */
  readonly isOurs: boolean;
}

/** By name: tables that the export will write, and tables that have a log. */
export type DeltaTables = ReadonlyMap<string, ExistingTable>;

/** @throws SyncError before anything is written, for a table that is to be written and cannot be */
export async function readLogs(
  folder: string,
  written: readonly string[],
  previous: ExportManifest | null,
): Promise<DeltaTables> {
  const existing = new Map<string, ExistingTable>();
  for (const { name } of EXPORT_RELATIONS) {
    const isWritten = written.includes(name);
    try {
      const snapshot = isWritten ? await readWritableLog(folder, name) : await readLog(join(folder, name));
      existing.set(name, { snapshot, isOurs: snapshot.txns.has(APP_ID) });
    } catch (error) {
      if (isWritten || !(error instanceof SyncError)) throw error;
      // Of a table that is not written, a damaged log does not matter, and the manifest tells whose it was.
      const isOurs = previous?.format === 'delta' && previous.tables.some((table) => table.name === name);
      existing.set(name, { snapshot: NO_TABLE, isOurs });
    }
  }
  return existing;
}

/** The number of the last export that wrote to any of the logs. */
export function lastNumber(tables: DeltaTables): number {
  return Math.max(0, ...[...tables.values()].map(({ snapshot }) => snapshot.txns.get(APP_ID)?.version ?? 0));
}

/** Makes a commit for each table whose log lacks files, and drops other logs. Returns the tables with a commit. */
export function writeLogs(
  folder: ExportFolder,
  manifest: ExportManifest,
  before: DeltaTables,
  nowMs: number,
): CommittedTables {
  const written = deltaTables(manifest);
  const { number, instant } = manifest;
  const modifiedMs = (file: string): number => Math.trunc(statSync(join(folder.path, file)).mtimeMs);
  const after = new Map<string, DeltaSnapshot>();
  for (const table of written) {
    const { snapshot } = before.get(table.name) ?? { snapshot: NO_TABLE };
    const actions = commitActions(table, snapshot, { number, instant, nowMs }, modifiedMs);
    if (actions.length === 0) continue;
    putCommit(folder, table, snapshot.version + 1, actions);
    after.set(table.name, applyCommit(snapshot, snapshot.version + 1, actions));
  }
  // The files of other tables are removed by the next cleaning: without its log, a folder is no longer a table. Logs
  // made by others stay.
  const names = new Set(written.map(({ name }) => name));
  for (const [name, { isOurs }] of before) if (!names.has(name) && isOurs) folder.drop(`${name}/${LOG_NAME}`);
  return after;
}

/** @returns one sentence for each table that another program had changed before its commit */
export function undoneChanges(before: DeltaTables, committed: CommittedTables): string[] {
  return [...committed.keys()].flatMap((name) => {
    const foreign = before.get(name)?.snapshot.foreign ?? [];
    const commits = foreign.map(({ operation, version }) => `${operation}, version ${version}`).join('; ');
    return commits === ''
      ? []
      : [`another program has changed the Delta table ${name} (${commits}): it was put back as the mirror has it`];
  });
}

/** Tables after their commits, by name. */
export type CommittedTables = ReadonlyMap<string, DeltaSnapshot>;

/** A log that stays long does no harm: the next commit retries. Returns a sentence for each such log. */
export function shortenLogs(folder: ExportFolder, to: string, committed: CommittedTables, nowMs: number): string[] {
  const warnings: string[] = [];
  for (const [name, snapshot] of committed) {
    try {
      shortenLog(folder, name, snapshot, nowMs);
    } catch (error) {
      if (!isSystemError(error)) throw error;
      warnings.push(
        `the log of the Delta table ${join(to, name)} cannot be shortened (${String(error.code)}): check the disk and its permissions; a later export does it`,
      );
    }
  }
  return warnings;
}

/** The most commits that readers have to read. */
const COMMITS_PER_CHECKPOINT = 10;

/** How long commits stay after a checkpoint has superseded them, for readers that follow a log: Delta's default. */
const COMMIT_MS = 30 * DAY_MS;

/** After some commits, writes a checkpoint that sums them up, and removes old commits. */
function shortenLog(folder: ExportFolder, table: string, snapshot: DeltaSnapshot, nowMs: number): void {
  const { version, checkpoint, metaData } = snapshot;
  if (version - checkpoint < COMMITS_PER_CHECKPOINT) return;
  const { bytes, actionCount, fileCount } = checkpointOf(snapshot, nowMs);
  folder.replace(`${table}/${checkpointPath(version)}`, bytes);
  const last = { version, size: actionCount, sizeInBytes: bytes.length, numOfAddFiles: fileCount };
  folder.replace(`${table}/${LOG_NAME}/_last_checkpoint`, JSON.stringify(last));
  folder.files.syncFolder(join(folder.path, table, LOG_NAME));
  // Whoever configures how long a log is kept also cleans it.
  const isSet = Object.keys(metaData?.configuration ?? {}).some((name) => /^delta\..*log/i.test(name));
  if (!isSet) removeOldCommits(folder, table, nowMs);
}

/** Removes whatever is older than the newest checkpoint that is old itself, oldest first, so the rest has no gap. */
function removeOldCommits({ path, files }: ExportFolder, table: string, nowMs: number): void {
  const whole = (name: string): string => join(path, table, name);
  const { commits, checkpoints } = versionsOf(join(path, table));
  const isOld = (version: number): boolean =>
    commits.includes(version) && statSync(whole(commitPath(version))).mtimeMs < nowMs - COMMIT_MS;
  const oldest = checkpoints.findLast(isOld) ?? 0;
  for (const version of commits.filter((each) => each < oldest)) {
    if (checkpoints.includes(version)) files.remove(whole(checkpointPath(version)));
    files.remove(whole(commitPath(version)));
  }
}

function putCommit(folder: ExportFolder, { name }: DeltaTable, version: number, actions: readonly DeltaAction[]): void {
  try {
    folder.putNew(`${name}/${commitPath(version)}`, actions.map((action) => `${JSON.stringify(action)}\n`).join(''));
  } catch (cause) {
    if (!isSystemError(cause) || cause.code !== 'EEXIST') throw cause;
    const message = `another program wrote to the Delta table ${name} at the same time: export again`;
    throw new SyncError('run', message, { cause });
  }
}
