import { createHash } from 'node:crypto';
import {
  closeSync,
  copyFileSync,
  createReadStream,
  existsSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { SyncError, usageError } from '../core/errors.ts';

/** The operations with which an export changes a folder, and checks its files. */
export type FileOperations = typeof NODE_FILES;

export const NODE_FILES = {
  makeFolder: (path: string): void => void mkdirSync(path, { recursive: true }),
  create: (path: string): number => openSync(path, 'w'),
  // Unlike `writeSync`, this always writes all bytes.
  write: (file: number, bytes: Uint8Array): void => writeFileSync(file, bytes),
  sync: fsyncSync,
  close: closeSync,
  rename: (from: string, to: string): void => renameSync(from, to),
  /** Gives a file a second name, unless the name is taken. */
  link(from: string, to: string): void {
    try {
      linkSync(from, to);
    } catch (error) {
      // Some file systems have no hard links. Only one export at a time writes here, so checking first is enough for
      // them.
      if (!isSystemError(error) || !NO_LINKS.includes(error.code) || existsSync(to)) throw error;
      renameSync(from, to);
    }
  },
  /** Gives a file a second name, which is free; where a file can have only one, a copy. */
  share(from: string, to: string): void {
    try {
      linkSync(from, to);
    } catch (error) {
      if (!isSystemError(error) || ![...NO_LINKS, 'EXDEV'].includes(error.code)) throw error;
      copyFileSync(from, to);
      flush(to, 'r+');
    }
  },
  /** Makes the names within a folder durable. */
  syncFolder(path: string): void {
    // Windows cannot open a folder, and keeps names durable by itself.
    if (process.platform !== 'win32') flush(path, 'r');
  },
  remove: (path: string): void => rmSync(path, { force: true, recursive: true }),
  removeFolder(path: string): void {
    if (readdirSync(path).length === 0) rmdirSync(path);
  },
  /** @returns the SHA-256 of a file, in hexadecimal digits */
  async sha256(path: string): Promise<string> {
    const digest = createHash('sha256').setEncoding('hex');
    await pipeline(createReadStream(path, { highWaterMark: CHUNK_BYTES }), digest);
    return digest.read() as string;
  },
};

const CHUNK_BYTES = 1024 * 1024;

function flush(path: string, flags: 'r' | 'r+'): void {
  const file = openSync(path, flags);
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/** Writes a whole file durably. */
export function writeWhole(path: string, bytes: Uint8Array, files: FileOperations): void {
  const file = files.create(path);
  try {
    files.write(file, bytes);
    files.sync(file);
  } finally {
    files.close(file);
  }
}

/** Refuses a path in a folder that does not exist. @throws SyncError `usage` */
export function refuseNoParent(path: string, noun: 'file' | 'folder', flag = 'to'): void {
  const parent = dirname(resolve(path));
  if (!existsSync(parent))
    throw usageError(`${parent} does not exist: make it, or name another ${noun} with --${flag}`);
}

export function readTextOf(path: string): string | null {
  return existsSync(path) ? readFileSync(path, 'utf8') : null;
}

export function sizeOf(path: string): number | null {
  return statSync(path, { throwIfNoEntry: false })?.size ?? null;
}

/** Whether a file still has the bytes that were written. */
export async function isFileIntact(
  folder: string,
  { path, bytes, sha256 }: { readonly path: string; readonly bytes: number; readonly sha256: string },
  files: Pick<FileOperations, 'sha256'>,
): Promise<boolean> {
  const whole = join(folder, path);
  try {
    return sizeOf(whole) === bytes && (await files.sha256(whole)) === sha256;
  } catch (error) {
    if (isSystemError(error)) return false;
    throw error;
  }
}

/** Every file under a folder, relative to it and with `/`. */
export function filesUnder(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map((entry) => join(entry.parentPath, entry.name).slice(join(folder, '/').length).replaceAll('\\', '/'));
}

const NO_LINKS: readonly unknown[] = ['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK'];

const DISK_FULL: readonly unknown[] = ['ENOSPC', 'EDQUOT'];

export function isDiskFull(error: unknown): boolean {
  return isSystemError(error) && DISK_FULL.includes(error.code);
}

export function isSystemError(error: unknown): error is Error & { readonly code: unknown } {
  return error instanceof Error && 'code' in error && 'syscall' in error;
}

/**
 * Turns an error in the folder of an export into one line that says what to do and which export is current; `standing`
 * is null for none. Other errors are returned as they are.
 */
export function folderError(folder: string, error: unknown, standing: string | null): unknown {
  const end = standing === null ? '' : `; ${standing}`;
  if (error instanceof SyncError && error.recovery === 'signal')
    return new SyncError('signal', `${error.message}${end}`, { cause: error });
  if (!isSystemError(error)) return error;
  const message = isDiskFull(error)
    ? fullDisk(folder)
    : `${folder} cannot be written (${String(error.code)}): check its permissions and the disk, and export again`;
  return new SyncError('run', `${message}${end}`, { cause: error });
}

export const fullDisk = (folder: string): string => `the disk of ${folder} is full: make room and export again`;

/** Like `folderError`, for readers of an export. */
export function unreadableError(folder: string, error: unknown): unknown {
  if (!isSystemError(error)) return error;
  const message = `${folder} cannot be read (${String(error.code)}): check its permissions and the disk, or name another folder`;
  return new SyncError('run', message, { cause: error });
}
