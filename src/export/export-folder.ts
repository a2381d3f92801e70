import { basename, dirname, join } from 'node:path';
import type { Instant } from '../core/time/instant.ts';
import { type FileOperations, filesUnder, writeWhole } from './export-files.ts';
import type { ExportFormat } from './formats.ts';
import { FILES_FOLDER, isHidden, isOwnPath, removalPathOf } from './partition-path.ts';

/** The folder of an export while files are written to it. */
export interface ExportFolder {
  readonly path: string;
  /** Where readers find it: its path, or the address in object storage. */
  readonly location: string;
  readonly format: ExportFormat;
  /** Makes the names of data files unique; null where a lock prevents two exports at the same time. */
  readonly nonce: string | null;
  readonly instant: Instant;
  readonly schemaVersion: number;
  readonly files: FileOperations;
  /** Creates the folder of a partition, and returns the path for a new file that no reader knows yet. */
  begin(partition: string): string;
  /** Records a data file that has its final name. */
  created(path: string): void;
  /** Puts a data file, or a copy of it, in the place of another one, atomically. */
  share(name: string, as: string): void;
  /** Replaces a file atomically. If that fails, the file is unchanged. */
  replace(name: string, content: string | Uint8Array): void;
  /** Creates a new file, atomically and durably. @throws the system's EEXIST if the name is taken */
  putNew(name: string, text: string): void;
  /** Removes a folder and its contents, atomically. */
  drop(name: string): void;
  /** Makes the names of new data files durable. */
  syncNames(): void;
  /** Makes the names of replaced files durable. */
  sync(): void;
  /** Removes all data files except these. */
  removeOthers(paths: ReadonlySet<string>): FileRemoval;
  /** After a failure, removes the data files that were written or begun. The next export removes any that remain. */
  undo(keptPaths: ReadonlySet<string>): void;
}

interface FileRemoval {
  readonly removed: readonly string[];
  /** What stopped it; null if all files were removed. */
  readonly failure: unknown;
}

export function openExportFolder(
  path: string,
  content: Pick<ExportFolder, 'location' | 'format' | 'nonce' | 'instant' | 'schemaVersion' | 'files'>,
): ExportFolder {
  const { files } = content;
  const partitions = new Set<string>();
  const created: string[] = [];
  let temporary: string | null = null;
  let begun = 0;
  const enter = (partition: string): void => {
    if (!partitions.has(partition)) files.makeFolder(join(path, partition));
    partitions.add(partition);
  };
  return {
    ...content,
    path,
    begin(partition) {
      enter(partition);
      begun += 1;
      temporary = `${partition}/.part-${begun}.tmp`;
      return join(path, temporary);
    },
    share(name, as) {
      // A reader of the table's folder would find a temporary file there.
      const hidden = this.begin(`${FILES_FOLDER}${dirname(as)}`);
      files.remove(hidden);
      files.share(join(path, name), hidden);
      enter(dirname(as));
      files.rename(hidden, join(path, as));
      temporary = null;
    },
    created(name) {
      temporary = null;
      created.push(name);
    },
    replace(name, whole) {
      const bytes = typeof whole === 'string' ? Buffer.from(whole) : whole;
      writeBeside(files, join(path, name), bytes, (beside) => files.rename(beside, join(path, name)));
    },
    putNew: (name, text) => putNew(files, path, name, text),
    drop: (name) => drop(files, path, name),
    syncNames() {
      syncFolders(files, path, partitions);
      partitions.clear();
    },
    sync: () => files.syncFolder(path),
    removeOthers: (paths) => removeAll(files, path, () => ownFilesUnder(path).filter((each) => !paths.has(each))),
    undo(kept) {
      const written = created.filter((each) => !kept.has(each));
      removeAll(files, path, () => (temporary === null ? written : [...written, temporary]));
    },
  };
}

function syncFolders(files: FileOperations, path: string, partitions: ReadonlySet<string>): void {
  const folders = new Set([...partitions].flatMap((each) => [each, ...foldersOf(each)]));
  for (const each of [...folders].sort().reverse()) files.syncFolder(join(path, each));
  if (folders.size > 0) files.syncFolder(path);
}

function putNew(files: FileOperations, folder: string, name: string, text: string): void {
  const path = join(folder, name);
  files.makeFolder(dirname(path));
  writeBeside(files, path, Buffer.from(text), (beside) => {
    files.link(beside, path);
    files.remove(beside);
  });
  for (const each of foldersOf(name)) files.syncFolder(join(folder, each));
  files.syncFolder(folder);
}

function drop(files: FileOperations, folder: string, name: string): void {
  const [path, aside] = [join(folder, name), join(folder, removalPathOf(name))];
  files.remove(aside);
  files.rename(path, aside);
  files.remove(aside);
  files.removeFolder(dirname(path));
}

/** Those that a glob finds come first. An export in a folder within this one keeps its files. */
export function ownFilesUnder(folder: string): string[] {
  const all = filesUnder(folder);
  const nested = all.flatMap((each) => /^(.+\/)manifest\.json(\.lock)?$/.exec(each)?.[1] ?? []);
  const own = all.filter((each) => isOwnPath(each) && !nested.some((inner) => each.startsWith(inner)));
  return own.sort((a, b) => Number(isHidden(a)) - Number(isHidden(b)));
}

/** Removes data files, and folders that become empty. */
function removeAll(files: FileOperations, folder: string, pathsOf: () => readonly string[]): FileRemoval {
  const removed: string[] = [];
  try {
    const paths = pathsOf();
    for (const each of paths) {
      files.remove(join(folder, each));
      removed.push(each);
    }
    const folders = new Set(paths.flatMap(foldersOf));
    for (const each of [...folders].sort().reverse()) files.removeFolder(join(folder, each));
    return { removed, failure: null };
  } catch (failure) {
    return { removed, failure };
  }
}

/** Writes a temporary file beside the final path, and then puts it there. */
function writeBeside(files: FileOperations, path: string, whole: Uint8Array, put: (beside: string) => void): void {
  const beside = join(dirname(path), `.${basename(path)}.tmp`);
  try {
    writeWhole(beside, whole, files);
    put(beside);
  } catch (error) {
    files.remove(beside);
    throw error;
  }
}

/** The folders above a path: of `a/b/c`, `a/b` and `a`. */
function foldersOf(path: string): string[] {
  const parts = path.split('/').slice(0, -1);
  return parts.map((_, i) => parts.slice(0, parts.length - i).join('/'));
}
