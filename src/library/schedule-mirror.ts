import { loadEnvironments } from '../../state/environment-store.ts';
import { loadLastStarts } from '../../state/last-starts.ts';
import { takeLock } from '../../state/lock.ts';
import { belongsTo } from '../../state/run-log.ts';
import type { StateStatements } from '../../state/state-statements.ts';
import type { ListedEnvironment } from '../core/environments.ts';
import { SyncError } from '../core/errors.ts';
import { closeWritten } from '../destination/sqlite/close.ts';
import { readState } from '../destination/sqlite/file-state.ts';
import { checkMirror, mirrorExists, openForReading, openForWriting } from '../destination/sqlite/open.ts';
import { CATALOGUE } from '../streams/catalogue.ts';
import type { MirroredEnvironments } from '../sync/run-schedule.ts';

const STREAMS = CATALOGUE.map(({ name }) => name);

/** The environments of a mirror and their last runs; nothing without a mirror. @throws SyncError `usage` when it cannot be used */
export function readMirrored(path: string, baseUrl: string): MirroredEnvironments {
  if (!mirrorExists(path)) return { environments: [], lastStarts: new Map() };
  migrate(path);
  const mirror = openForReading(path);
  try {
    return readState(mirror, mirrored(baseUrl, mirror.path));
  } finally {
    mirror.connection.close();
  }
}

/** The environments that the last run found listed. */
export function readEnvironments(path: string): readonly ListedEnvironment[] {
  const mirror = openForReading(path);
  try {
    return readState(mirror, listedEnvironments());
  } finally {
    mirror.connection.close();
  }
}

/** Migrates a mirror of an older version, as a run does. When a run holds the lock, it has already done so. */
function migrate(path: string): void {
  // No lock file is made beside a file that is not a mirror.
  checkMirror(path);
  try {
    const lock = takeLock(path);
    try {
      closeWritten(openForWriting(path));
    } finally {
      lock.release();
    }
  } catch (error) {
    if (!(error instanceof SyncError) || error.recovery !== 'locked') throw error;
  }
}

/** @throws SyncError `usage` if the mirror belongs to another base URL (R26) */
function* mirrored(baseUrl: string, name: string): StateStatements<MirroredEnvironments> {
  yield* belongsTo(baseUrl, name);
  return { environments: yield* listedEnvironments(), lastStarts: yield* loadLastStarts(STREAMS) };
}

function* listedEnvironments(): StateStatements<ListedEnvironment[]> {
  const listed = (yield* loadEnvironments()).filter((row) => row['missing_since'] === null);
  return listed.map((row) => ({
    id: String(row['id']),
    name: String(row['name']),
    cron: row['cron'] as string | null,
  }));
}
