import { hash } from 'node:crypto';
import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { type FileOperations, isFileIntact, isSystemError } from './export-files.ts';
import { ownFilesUnder } from './export-folder.ts';
import { type ExportFormat, extensionOf } from './formats.ts';
import type { ExportedFile, ExportManifest } from './manifest.ts';
import { isSharedName, NAME_DIGITS, partitionPath } from './partition-path.ts';

/**
 * The path of a file in the folder of its table, where readers without the manifest find exactly the files of the
 * newest export. Its name is that of the segment: a new version replaces the old one atomically, so a reader never
 * finds a row of a segment twice, or not at all. It has the environment too: some file systems ignore case.
 */
function tablePath(file: ExportedFile, format: ExportFormat): string {
  const digest = hash('sha256', JSON.stringify([file.env_id, file.month, file.from]));
  const name = `part-${digest.slice(0, NAME_DIGITS)}.${extensionOf(format)}`;
  return `${partitionPath(file.table, file)}/${name}`;
}

/** The files of an export by their paths in the folders of the tables. A Delta table has its files there anyway. */
export function tableFiles({ format, files }: ExportManifest): ReadonlyMap<string, ExportedFile> {
  return new Map(format === 'delta' ? [] : files.map((file) => [tablePath(file, format), file]));
}

/** Paths in the tables' folders with a missing or changed file. Missing ones come first: rows may move to them. */
export async function unsharedPaths(
  folder: string,
  manifest: ExportManifest,
  files: FileOperations,
): Promise<string[]> {
  const [missing, changed]: [string[], string[]] = [[], []];
  for (const [path, file] of tableFiles(manifest))
    if (
      !isSameFile(join(folder, file.path), join(folder, path)) &&
      !(await isFileIntact(folder, { ...file, path }, files))
    )
      (existsSync(join(folder, path)) ? changed : missing).push(path);
  return [...missing, ...changed];
}

/** The files in the folders of the tables that the export does not have. */
export function strayPaths(folder: string, manifest: ExportManifest): string[] {
  if (manifest.format === 'delta') return [];
  const files = tableFiles(manifest);
  return ownFilesUnder(folder).filter((path) => isSharedName(path) && !files.has(path));
}

function isSameFile(one: string, other: string): boolean {
  try {
    const [a, b] = [one, other].map((path) => statSync(path, { bigint: true }));
    // Some file systems have no inode numbers.
    return a?.ino !== 0n && a?.ino === b?.ino && a?.dev === b?.dev;
  } catch (error) {
    if (isSystemError(error)) return false;
    throw error;
  }
}
