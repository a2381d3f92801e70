import { statSync } from 'node:fs';
import { join } from 'node:path';
import type { ExportFolder } from '../export-folder.ts';
import type { DeltaSnapshot } from './delta-action.ts';
import { checkpointOf } from './delta-checkpoint.ts';
import { checkpointPath, commitPath, LOG_NAME, versionsOf } from './delta-log.ts';

/** Readers have to read so many commits at most. */
const COMMITS_PER_CHECKPOINT = 10;

/**
 * How long commits stay that a checkpoint has made superfluous, for readers that follow a log: as long as Delta has it
 * by default.
 */
const COMMIT_MS = 30 * 86_400_000;

/** After a number of commits a checkpoint says what they come to, and old ones are removed. */
export function shortenLog(folder: ExportFolder, table: string, snapshot: DeltaSnapshot, nowMs: number): void {
  const { version, checkpoint, metaData } = snapshot;
  if (version - checkpoint < COMMITS_PER_CHECKPOINT) return;
  const { bytes, actionCount, fileCount } = checkpointOf(snapshot, nowMs);
  folder.replace(`${table}/${checkpointPath(version)}`, bytes);
  const last = { version, size: actionCount, sizeInBytes: bytes.length, numOfAddFiles: fileCount };
  folder.replace(`${table}/${LOG_NAME}/_last_checkpoint`, JSON.stringify(last));
  folder.files.syncFolder(join(folder.path, table, LOG_NAME));
  // Who sets how long a log is kept also cleans it.
  const isSet = Object.keys(metaData?.configuration ?? {}).some((name) => /^delta\..*log/i.test(name));
  if (!isSet) removeOldCommits(folder, table, nowMs);
}

/**
 * Removes what is older than the newest checkpoint that is old itself. The oldest goes first, so that what stays has no
 * gap.
 */
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
