import { basename, dirname, join } from 'node:path';
import { type FileOperations, filesUnder, writeWhole } from './export-files.ts';
import { FILES_FOLDER, isHidden, isOwnPath } from './partition-path.ts';

/** The folder of an export while files are written to it. The names that it is given are relative to it. */
export class ExportFolder {
  readonly path: string;
  readonly files: FileOperations;
  /** Folders that have new names in them. */
  readonly #partitions = new Set<string>();
  readonly #created: string[] = [];
  #temporary: string | null = null;
  #begun = 0;

  constructor(path: string, files: FileOperations) {
    this.path = path;
    this.files = files;
  }

  /** Creates the folder of a partition, and returns the path for a new file that no reader knows yet. */
  begin(partition: string): string {
    this.#enter(partition);
    this.#begun += 1;
    this.#temporary = `${partition}/.part-${this.#begun}.tmp`;
    return join(this.path, this.#temporary);
  }

  /** Gives a data file that was begun its final name. */
  complete(temporary: string, name: string): void {
    this.files.rename(temporary, join(this.path, name));
    this.#temporary = null;
    this.#created.push(name);
  }

  /** Puts a data file, or a copy of it, in the place of another one, atomically. */
  share(name: string, as: string): void {
    // A reader of the table's folder would find a temporary file there.
    const hidden = this.begin(`${FILES_FOLDER}${dirname(as)}`);
    this.files.remove(hidden);
    this.files.share(join(this.path, name), hidden);
    this.#enter(dirname(as));
    this.files.rename(hidden, join(this.path, as));
    this.#temporary = null;
  }

  /** Replaces a file atomically. If that fails, the file is unchanged. */
  replace(name: string, content: string | Uint8Array): void {
    const path = join(this.path, name);
    this.#writeBeside(path, content, (beside) => this.files.rename(beside, path));
  }

  /** Creates a new file, atomically and durably. @throws the system's EEXIST if the name is taken */
  putNew(name: string, content: string): void {
    const path = join(this.path, name);
    this.files.makeFolder(dirname(path));
    this.#writeBeside(path, content, (beside) => {
      this.files.link(beside, path);
      this.files.remove(beside);
    });
    for (const each of foldersOf(name)) this.files.syncFolder(join(this.path, each));
    this.sync();
  }

  /** Removes a folder and its contents, atomically. */
  drop(name: string): void {
    const path = join(this.path, name);
    const aside = join(dirname(path), `.${basename(path)}.tmp`);
    this.files.remove(aside);
    this.files.rename(path, aside);
    this.files.remove(aside);
    this.files.removeFolder(dirname(path));
  }

  /** Makes the names of new data files durable. */
  syncNames(): void {
    const folders = new Set([...this.#partitions].flatMap((each) => [each, ...foldersOf(each)]));
    for (const each of [...folders].sort().reverse()) this.files.syncFolder(join(this.path, each));
    if (folders.size > 0) this.sync();
    this.#partitions.clear();
  }

  /** Makes the names of replaced files durable. */
  sync(): void {
    this.files.syncFolder(this.path);
  }

  /** Removes all data files except these. @returns the removed ones, and what stopped it; null if nothing did */
  removeOthers(paths: ReadonlySet<string>) {
    return this.#removeAll(() => ownFilesUnder(this.path).filter((each) => !paths.has(each)));
  }

  /** After a failure, removes the data files that were written or begun. The next export removes any that remain. */
  undo(keptPaths: ReadonlySet<string>): void {
    const written = this.#created.filter((each) => !keptPaths.has(each));
    this.#removeAll(() => (this.#temporary === null ? written : [...written, this.#temporary]));
  }

  #enter(partition: string): void {
    if (!this.#partitions.has(partition)) this.files.makeFolder(join(this.path, partition));
    this.#partitions.add(partition);
  }

  /** Removes data files, and folders that become empty. */
  #removeAll(pathsOf: () => readonly string[]): { readonly removed: readonly string[]; readonly failure: unknown } {
    const removed: string[] = [];
    try {
      const paths = pathsOf();
      for (const each of paths) {
        this.files.remove(join(this.path, each));
        removed.push(each);
      }
      const folders = new Set(paths.flatMap(foldersOf));
      for (const each of [...folders].sort().reverse()) this.files.removeFolder(join(this.path, each));
      return { removed, failure: null };
    } catch (failure) {
      return { removed, failure };
    }
  }

  /** Writes a temporary file beside the final path, and then puts it there. */
  #writeBeside(path: string, content: string | Uint8Array, put: (beside: string) => void): void {
    const beside = join(dirname(path), `.${basename(path)}.tmp`);
    try {
      writeWhole(beside, Buffer.from(content), this.files);
      put(beside);
    } catch (error) {
      this.files.remove(beside);
      throw error;
    }
  }
}

/** Those that a glob finds come first. An export in a folder within this one keeps its files. */
export function ownFilesUnder(folder: string): string[] {
  const all = filesUnder(folder);
  const nested = all.flatMap((each) => /^(.+\/)manifest\.json(\.lock)?$/.exec(each)?.[1] ?? []);
  const own = all.filter((each) => isOwnPath(each) && !nested.some((inner) => each.startsWith(inner)));
  return own.sort((a, b) => Number(isHidden(a)) - Number(isHidden(b)));
}

/** The folders above a path: of `a/b/c`, `a/b` and `a`. */
function foldersOf(path: string): string[] {
  const parts = path.split('/').slice(0, -1);
  return parts.map((_, i) => parts.slice(0, parts.length - i).join('/'));
}
