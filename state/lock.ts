import { lstatSync, readlinkSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import Database from 'better-sqlite3';
import { SyncError } from '../src/core/errors.ts';

/** Held by the one writer of a mirror (R26). */
export interface MirrorLock {
  release(): void;
}

/** A connection that nobody refers to is closed when memory is tidied up, and its lock goes with it. */
const HELD = new Set<Database.Database>();

/**
 * Takes the lock of a mirror, or fails. It is an SQLite lock on an empty file beside the mirror itself, whatever name leads
 * there (R26), which the system drops with the process that holds it, however that ends. The file stays: removing it would race.
 * @throws SyncError `locked`, or `usage` where no lock can be made
 */
export function takeLock(mirrorPath: string): MirrorLock {
  refuseHardLink(mirrorPath);
  const path = lockPath(mirrorPath);
  let connection: Database.Database | null = null;
  try {
    // A moment's patience: `status` takes the lock to see whether a run is dead.
    const held = new Database(path, { timeout: 200 });
    connection = held;
    held.exec('begin exclusive');
    HELD.add(held);
    return {
      release() {
        HELD.delete(held);
        held.close();
      },
    };
  } catch (cause) {
    connection?.close();
    if (isBusy(cause))
      throw new SyncError('locked', `another sync holds ${mirrorPath}: wait for it to end, or stop it`, { cause });
    throw new SyncError('usage', `${path} cannot be locked: check that its folder exists and may be written`, {
      cause,
    });
  }
}

/** The file that a mirror's lock is taken on. */
export function lockPath(mirrorPath: string): string {
  return `${realPath(mirrorPath)}.lock`;
}

/** SQLite follows symbolic links as well: its files stand beside the one that is meant, which need not exist yet. */
function realPath(path: string): string {
  const entry = lstatSync(path, ABSENT);
  if (entry?.isSymbolicLink() && statSync(path, ABSENT) === undefined)
    return realPath(resolve(dirname(path), readlinkSync(path)));
  if (entry !== undefined) return realpathSync(path);
  const folder = statSync(dirname(path), ABSENT) === undefined ? dirname(path) : realpathSync(dirname(path));
  return join(folder, basename(path));
}

const ABSENT = { throwIfNoEntry: false } as const;

/** Nobody can find the other names of such a file: SQLite's own files would stand beside each of them. @throws SyncError `usage` */
function refuseHardLink(path: string): void {
  const names = statSync(path, ABSENT)?.nlink ?? 1;
  if (names > 1)
    throw new SyncError(
      'usage',
      `${path} is one of ${names} names (hard links) of a file, which SQLite cannot keep apart: remove the others, or use symbolic links`,
    );
}

function isBusy(error: unknown): boolean {
  return error instanceof Database.SqliteError && error.code.startsWith('SQLITE_BUSY');
}
