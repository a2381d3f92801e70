import { lstatSync, readFileSync, readlinkSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, isAbsolute, join } from 'node:path';
import Database from 'better-sqlite3';
import { SyncError, usageError } from '../src/core/errors.ts';

/** The lock held by a mirror's only writer (R26). */
export interface MirrorLock {
  release(): void;
}

/** Keeps references to the connections: the garbage collector would close them and release their locks. */
const HELD = new Set<Database.Database>();

/**
 * Takes the lock of a mirror, or fails. It is an SQLite lock on an empty file beside the mirror's real file, whatever
 * name the mirror was opened by (R26). The system releases it when the process ends, for whatever reason. The file
 * stays, because removing it could race with another process. `isReplaced`: the file is replaced, not written in place.
 * @throws SyncError `locked`, or `usage` if no lock can be created
 */
export function takeLock(mirrorPath: string, { isReplaced = false } = {}): MirrorLock {
  if (!isReplaced) refuseHardLink(mirrorPath);
  const path = lockPath(mirrorPath);
  let connection: Database.Database | null = null;
  try {
    // Waits a moment, because `status` briefly takes the lock to see whether a run is dead.
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
    if (isBusy(cause)) {
      const text = `another sync${holderOf(path)} is using ${mirrorPath}: wait until it has ended, or stop it`;
      throw new SyncError('locked', text, { cause });
    }
    const text = `${path} cannot be locked: check that its folder exists and may be written`;
    throw usageError(text, { cause });
  }
}

/** ` (process 123)`, where the system lists locks: Linux does, but not in every sandbox or file system. */
function holderOf(path: string): string {
  try {
    const { dev, ino } = statSync(path);
    const [major, minor] = [(dev >> 8) & 0xfff, (dev & 0xff) | ((dev >> 12) & 0xfff00)];
    const file = [...[major, minor].map((part) => part.toString(16).padStart(2, '0')), ino].join(':');
    const locks = readFileSync('/proc/locks', 'utf8').split('\n');
    const held = locks.map((line) => /\sWRITE (\d+) (\S+) /.exec(line)).find((lock) => lock?.[2] === file);
    return held === undefined || held === null ? '' : ` (process ${held[1]})`;
  } catch {
    // The message is about the lock: without its holder it is still true.
    return '';
  }
}

/** The file that a mirror's lock is taken on. */
export function lockPath(mirrorPath: string): string {
  return `${realPath(mirrorPath)}.lock`;
}

/**
 * SQLite follows symbolic links too, so its own files are beside the real file, which may not exist yet.
 * @throws SyncError `usage` if this user may not look there
 */
export function realPath(path: string): string {
  try {
    return followed(path);
  } catch (cause) {
    throw unreachable(path, cause);
  }
}

export function unreachable(path: string, cause: unknown): SyncError {
  const text = `${path} cannot be reached: check the permissions of its folders, and its links`;
  return usageError(text, { cause });
}

function followed(path: string): string {
  const entry = lstatSync(path, ABSENT);
  if (entry?.isSymbolicLink() && statSync(path, ABSENT) === undefined) return followed(linkTarget(path));
  if (entry !== undefined) return realpathSync(path);
  const folder = statSync(dirname(path), ABSENT) === undefined ? dirname(path) : realpathSync(dirname(path));
  return join(folder, basename(path));
}

/** Not normalized: `..` in a link leads out of the real folder of the link, which may have another name. */
function linkTarget(path: string): string {
  const target = readlinkSync(path);
  return isAbsolute(target) ? target : `${realpathSync(dirname(path))}/${target}`;
}

const ABSENT = { throwIfNoEntry: false } as const;

/**
 * Refuses a file with several hard links: SQLite would put its own files beside each name, and the other names cannot
 * be found.
 * @throws SyncError `usage`
 */
function refuseHardLink(path: string): void {
  const names = statSync(path, ABSENT)?.nlink ?? 1;
  if (names > 1)
    throw usageError(
      `${path} is one of ${names} hard links to the same file, which SQLite cannot use safely: remove the others, or use symbolic links`,
    );
}

export function isBusy(error: unknown): boolean {
  return error instanceof Database.SqliteError && error.code.startsWith('SQLITE_BUSY');
}
