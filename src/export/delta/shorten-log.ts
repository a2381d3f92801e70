import { statSync } from 'node:fs';
import { join } from 'node:path';
import { DAY_MS } from '../../core/time/duration.ts';
import type { ExportFolder } from '../export-folder.ts';
import type { DeltaSnapshot } from './delta-action.ts';
import { checkpointOf } from './delta-checkpoint.ts';
import { checkpointPath, commitPath, LOG_NAME, versionsOf } from './delta-log.ts';

/** The most commits that readers have to read. */
const COMMITS_PER_CHECKPOINT = 10;

/** How long commits stay after a checkpoint has superseded them, for readers that follow a log: Delta's default. */
const COMMIT_MS = 30 * DAY_MS;

/** After some commits, writes a checkpoint that sums them up, and removes old commits. */
export function shortenLog(folder: ExportFolder, table: string, snapshot: DeltaSnapshot, nowMs: number): void {
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
