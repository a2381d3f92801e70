import { randomUUID } from 'node:crypto';
import { existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { SyncError, usageError } from '../core/errors.ts';
import { HOUR_MS } from '../core/time/duration.ts';
import { type FileOperations, isSystemError, NODE_FILES, refuseNoParent, writeWhole } from '../export/export-files.ts';
import { type GeneratedFile, isMarked } from './generated-file.ts';

/** A file in the folder, and whether this run wrote it; otherwise its content was already the same. */
export interface ToolFile {
  readonly path: string;
  readonly bytes: number;
  readonly written: boolean;
}

/**
 * Writes files into a folder that may contain other files too. All are first written next to their final names, so a
 * full disk changes nothing, and new folders are then removed again.
 * @throws SyncError `usage` if another program's file has one of these names
 */
export function writeFiles(to: string, made: readonly GeneratedFile[], files: FileOperations = NODE_FILES): ToolFile[] {
  refuseNoParent(to, 'folder');
  if (existsSync(to) && !statSync(to).isDirectory()) throw usageError(`${to} is a file: name a folder with --to`);
  try {
    const wanted = made.map((file) => ({ ...file, isNew: isNew(to, file) }));
    const changed = wanted.filter(({ isNew }) => isNew);
    replaceFiles(to, changed, files);
    for (const { path } of made) for (const left of leftBeside(join(to, path))) files.remove(left);
    return wanted.map(({ path, bytes, isNew }) => ({ path, bytes: bytes.length, written: isNew }));
  } catch (error) {
    if (!isSystemError(error)) throw error;
    const message = `${to} cannot be written (${String(error.code)}): check the disk and its permissions, then run the command again`;
    throw new SyncError('run', message, { cause: error });
  }
}

/** Whether a file has to be written. @throws SyncError `usage` */
function isNew(to: string, { path, bytes }: GeneratedFile): boolean {
  const place = join(to, path);
  // A dangling symbolic link also belongs to someone else.
  if (lstatSync(place, { throwIfNoEntry: false }) === undefined) return true;
  const present = existsSync(place) && statSync(place).isFile() ? readFileSync(place) : null;
  if (present?.equals(bytes)) return false;
  if (present !== null && (present.length === 0 || isMarked(present))) return true;
  throw usageError(`${place} was not written by obsync: move it, or choose another folder with --to`);
}

function replaceFiles(to: string, made: readonly GeneratedFile[], files: FileOperations): void {
  const begun: string[] = [];
  // Another process may be writing the same files.
  const suffix = randomUUID().slice(0, 8);
  const newFolders: string[] = [];
  const beside = (path: string): string => join(to, dirname(path), `${startBeside(path)}${suffix}${END_BESIDE}`);
  try {
    for (const { path, bytes } of made) {
      const folder = dirname(resolve(to, path));
      newFolders.unshift(...missingFolders(folder));
      mkdirSync(folder, { recursive: true });
      begun.push(beside(path));
      writeWhole(beside(path), bytes, files);
    }
    for (const { path } of made) files.rename(beside(path), join(to, path));
  } catch (error) {
    for (const path of begun) files.remove(path);
    // Inner folders come before the ones that contain them.
    for (const folder of newFolders) if (existsSync(folder)) files.removeFolder(folder);
    throw error;
  }
}

const startBeside = (path: string): string => `.${basename(path)}.`;
const END_BESIDE = '.obsync';

/** What killed runs left beside a file. Younger ones may be another process's, which is writing them now. */
function leftBeside(path: string): string[] {
  const folder = dirname(path);
  return readdirSync(folder)
    .filter((name) => name.startsWith(startBeside(path)) && name.endsWith(END_BESIDE))
    .map((name) => join(folder, name))
    .filter((left) => (statSync(left, { throwIfNoEntry: false })?.mtimeMs ?? 0) < Date.now() - HOUR_MS);
}

/** The missing folders of a path, innermost first. */
function missingFolders(folder: string): string[] {
  return existsSync(folder) ? [] : [folder, ...missingFolders(dirname(folder))];
}
