import { createHash } from 'node:crypto';
import { existsSync, mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { takeLock } from '../../state/lock.ts';
import { userFolder } from '../../state/user-folder.ts';
import { closeAfter } from '../core/close-after.ts';
import { SyncError, translateErrors, usageError } from '../core/errors.ts';
import type { MirrorStore } from './mirror-store.ts';
import { refreshReplica } from './refresh-replica.ts';
import { removeFile } from './sqlite/copy.ts';
import { fileError } from './sqlite/file-error.ts';
import { sqliteMigrationTimes } from './sqlite/migrations.ts';
import { networkFileSystemOf } from './sqlite/network-folder.ts';
import { isDamage } from './sqlite/open.ts';
import { isIntact, type ReplicaPlace } from './sqlite/replica-file.ts';

export interface MirrorFileOptions {
  /** The file of the replica; by default, one in this user's cache folder. */
  readonly replica?: string | undefined;
  /** Stops the refresh of the replica. */
  readonly signal?: AbortSignal | undefined;
  /** As in `RefreshOptions`. */
  readonly readsAll?: boolean;
}

const NEVER = new AbortController().signal;

/** Calls `use` with the mirror as an SQLite file: its own, or a replica that is refreshed first. @throws SyncError */
export async function withMirrorFile<Result>(
  store: MirrorStore,
  use: (path: string) => Promise<Result>,
  { replica, signal = NEVER, readsAll = false }: MirrorFileOptions = {},
): Promise<Result> {
  if (store.file !== null && replica === undefined) return use(store.file);
  if (store.openReplicaSource === null) throw needsNoReplica(store);
  const place = replicaPlace(store, replica);
  const refreshed = closeAfter(await store.openReplicaSource(), (source) =>
    refreshReplica(source, place, { signal, readsAll }),
  );
  await translateErrors(refreshed, (error) => fileError(place.path, error));
  return translateErrors(use(place.path), (error) => (isDamage(error) ? damagedReplica(place.path, error) : error));
}

export function needsNoReplica({ display }: Pick<MirrorStore, 'display'>): SyncError {
  const text = `${display} is a file, which needs no replica: leave out --replica or --follow, or name a mirror in PostgreSQL with --db`;
  return usageError(text);
}

/** @throws SyncError `usage` if there can be no replica */
export function replicaPlace(
  store: Pick<MirrorStore, 'display'>,
  replica: string | undefined,
  allowNetworkFs = false,
): ReplicaPlace {
  // SQLite ignores spaces around the name: with them, the lock would be another file's (R26).
  const place = replica === undefined ? ownPlace(store) : { path: replica.trim(), isOwn: false };
  // An address may contain a password, so no message repeats it.
  if (/^[a-z][a-z0-9+.-]+:\/|\bpassword\s*=/i.test(place.path))
    throw usageError('a replica is a file, not a database: name a file, such as replica.db');
  const folder = dirname(place.path);
  if (!existsSync(folder))
    throw usageError(`${folder} does not exist: make the folder, or name another file for the replica`);
  const fs = allowNetworkFs ? null : networkFileSystemOf(place.path);
  if (fs === null) return place;
  const text = `${place.path}, the replica of the mirror, is on a network file system (${fs}), where SQLite can lose rows`;
  const otherwise = place.isOwn ? ' with --replica, or a folder with XDG_CACHE_HOME' : '';
  throw usageError(`${text}: name a file on a local disk${otherwise}`);
}

function ownPlace({ display }: Pick<MirrorStore, 'display'>): ReplicaPlace {
  try {
    const folder = userFolder('cache');
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    // Versions of obsync don't replace each other's replicas.
    const of = `${display} ${sqliteMigrationTimes().last}`;
    const name = createHash('sha256').update(of).digest('hex').slice(0, 16);
    return { path: join(folder, `replica-${name}.db`), isOwn: true };
  } catch (cause) {
    const text = 'the replica of the mirror cannot be in the cache folder of this user: name a file with --replica';
    throw usageError(text, { cause });
  }
}

/** Removes a damaged replica, unless another process is replacing it: the next command makes it again. */
function damagedReplica(path: string, cause: unknown): SyncError {
  try {
    const lock = takeLock(path);
    if (!isIntact(path)) removeFile(path);
    lock.release();
  } catch {
    // The damage is what the user has to know.
  }
  return new SyncError('run', `${path}, the replica of the mirror, was damaged: run again`, { cause });
}
