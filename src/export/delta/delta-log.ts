import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { SyncError, usageError } from '../../core/errors.ts';
import { isJsonObject } from '../../core/json.ts';
import { applyCommit, type DeltaAction, type DeltaSnapshot, NO_TABLE } from './delta-action.ts';
import { readCheckpoint } from './delta-checkpoint.ts';
import { PROTOCOL } from './delta-table.ts';

export const LOG_NAME = '_delta_log';

/** The file of a commit, relative to the table. */
export const commitPath = (version: number): string => `${LOG_NAME}/${digits(version)}.json`;

export const checkpointPath = (version: number): string => `${LOG_NAME}/${digits(version)}.checkpoint.parquet`;

const digits = (version: number): string => String(version).padStart(20, '0');

/** The versions of a log's commits and checkpoints, in order. */
export function versionsOf(tableFolder: string) {
  const log = join(tableFolder, LOG_NAME);
  const names = existsSync(log) ? readdirSync(log) : [];
  const numbered = (pattern: RegExp): number[] =>
    names
      .flatMap((name) => pattern.exec(name)?.[1] ?? [])
      .map(Number)
      .sort((a, b) => a - b);
  return { commits: numbered(/^(\d{20})\.json$/), checkpoints: numbered(/^(\d{20})\.checkpoint\.parquet$/) };
}

/** The files of a log that are read: its last checkpoint, and the commits after it. */
export function logFilesToRead(tableFolder: string): string[] {
  const { checkpoint, commits } = tailOf(tableFolder);
  return [...(checkpoint < 0 ? [] : [checkpointPath(checkpoint)]), ...commits.map(commitPath)];
}

function tailOf(tableFolder: string): { readonly checkpoint: number; readonly commits: readonly number[] } {
  const { commits, checkpoints } = versionsOf(tableFolder);
  const checkpoint = checkpoints.at(-1) ?? NO_TABLE.checkpoint;
  return { checkpoint, commits: commits.filter((each) => each > checkpoint) };
}

/** The table in a folder, according to its log. @throws SyncError `run` for an incomplete log */
export async function readLog(tableFolder: string): Promise<DeltaSnapshot> {
  const { checkpoint, commits } = tailOf(tableFolder);
  let snapshot = NO_TABLE;
  if (checkpoint >= 0) {
    const path = join(tableFolder, checkpointPath(checkpoint));
    snapshot = { ...applyCommit(snapshot, checkpoint, await actionsIn(path, readCheckpoint)), checkpoint };
  }
  for (const version of commits) {
    const path = join(tableFolder, commitPath(snapshot.version + 1));
    if (version !== snapshot.version + 1) throw damaged(path, 'is missing');
    snapshot = applyCommit(snapshot, version, await actionsIn(path, parseCommit));
  }
  return snapshot;
}

async function actionsIn(
  path: string,
  parse: (bytes: Buffer) => DeltaAction[] | Promise<DeltaAction[]>,
): Promise<DeltaAction[]> {
  const bytes = readFileSync(path);
  try {
    return await parse(bytes);
  } catch {
    throw damaged(path, 'is not a valid part of a Delta log');
  }
}

/** @throws for bytes that are not one action per line */
function parseCommit(bytes: Buffer): DeltaAction[] {
  const lines = bytes.toString().split('\n');
  const actions: unknown[] = lines.filter((line) => line.trim() !== '').map((line) => JSON.parse(line));
  if (actions.length === 0 || !actions.every(isJsonObject)) throw new SyntaxError('not a list of actions');
  return actions as unknown as DeltaAction[];
}

function damaged(path: string, how: string): SyncError {
  return new SyncError('run', `${path} ${how}: remove the folder ${LOG_NAME} that it belongs to, and export again`);
}

/** The table in a folder of the export, if an export can write to it. @throws SyncError */
export async function readWritableLog(folder: string, table: string): Promise<DeltaSnapshot> {
  const snapshot = await readLog(join(folder, table));
  const obstacle = obstacleTo(snapshot);
  if (obstacle === null) return snapshot;
  throw usageError(
    `another program has changed the Delta table ${table}: it ${obstacle}. Remove its folder ${LOG_NAME} and export again, which makes a new table, or name another folder with --to`,
  );
}

/** Why no export can write to a table; null if one can. */
function obstacleTo({ protocol, metaData }: DeltaSnapshot): string | null {
  const { minReaderVersion, minWriterVersion } = protocol ?? PROTOCOL;
  if (minReaderVersion > PROTOCOL.minReaderVersion || minWriterVersion > PROTOCOL.minWriterVersion)
    return 'requires a newer version of the Delta protocol than exports write';
  return metaData?.configuration?.['delta.appendOnly'] === 'true' ? 'is append-only (delta.appendOnly)' : null;
}
