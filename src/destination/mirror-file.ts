import { createHash } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { userFolder } from '../../state/user-folder.ts';
import { SyncError } from '../core/errors.ts';
import type { MirrorStore } from './mirror-store.ts';
import { refreshReplica } from './refresh-replica.ts';
import { removeFile } from './sqlite/copy.ts';
import { fileError } from './sqlite/file-error.ts';
import { isDamage } from './sqlite/open.ts';
import type { ReplicaPlace } from './sqlite/replica-file.ts';

export interface MirrorFileOptions {
  /** The file of the replica; by default, one in this user's cache folder. */
  readonly replica?: string | undefined;
  /** Stops the refresh of the replica. */
  readonly signal?: AbortSignal | undefined;
}

const NEVER = new AbortController().signal;

/** Calls `use` with the mirror as an SQLite file: its own, or a replica that is refreshed first. @throws SyncError */
export async function withMirrorFile<Result>(
  store: MirrorStore,
  use: (path: string) => Promise<Result>,
  { replica, signal = NEVER }: MirrorFileOptions = {},
): Promise<Result> {
  if (store.file !== null && replica === undefined) return use(store.file);
  if (store.openReplicaSource === null) throw needsNoReplica(store);
  const place = replicaPlace(store, replica);
  const source = await store.openReplicaSource();
  try {
    await refreshReplica(source, place, signal);
  } catch (error) {
    throw fileError(place.path, error);
  } finally {
    await source.close();
  }
  try {
    return await use(place.path);
  } catch (error) {
    throw isDamage(error) ? damagedReplica(place.path, error) : error;
  }
}

/** The refusal of a replica of a file. */
export function needsNoReplica({ display }: Pick<MirrorStore, 'display'>): SyncError {
  return new SyncError(
    'usage',
    `${display} is a file, which needs no replica: leave it out, or name a mirror in PostgreSQL`,
  );
}

/** @throws SyncError `usage` if there can be no folder for replicas */
export function replicaPlace({ display }: Pick<MirrorStore, 'display'>, replica: string | undefined): ReplicaPlace {
  if (replica !== undefined) return { path: replica, isOwn: false };
  try {
    const folder = userFolder('cache');
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const name = createHash('sha256').update(display).digest('hex').slice(0, 16);
    return { path: join(folder, `replica-${name}.db`), isOwn: true };
  } catch (cause) {
    const text = 'the replica of the mirror cannot be in the cache folder of this user: name a file with --replica';
    throw new SyncError('usage', text, { cause });
  }
}

/** The next command makes it again. */
function damagedReplica(path: string, cause: unknown): SyncError {
  removeFile(path);
  return new SyncError('run', `${path}, the replica of the mirror, was damaged and has been removed: run again`, {
    cause,
  });
}
