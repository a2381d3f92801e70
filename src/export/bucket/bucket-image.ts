import {
  closeSync,
  ftruncateSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import PQueue from 'p-queue';
import { SyncError } from '../../core/errors.ts';
import { LOG_NAME, logFilesToRead } from '../delta/delta-log.ts';
import { type FileOperations, NODE_FILES, readTextOf } from '../export-files.ts';
import { type ExportManifest, MANIFEST_NAME, parseManifest } from '../manifest.ts';
import { isOwnPath } from '../partition-path.ts';
import { EXPORT_RELATIONS } from '../relation.ts';
import { tableFiles } from '../table-folders.ts';
import { VIEWS_NAME } from '../views-sql.ts';
import type { ObjectStore, StoredObject } from './object-store.ts';

/** What puts a file in its place: its own bytes, or those of another object. `isNew` if it must not replace one. */
export type ImageChange =
  | { readonly type: 'write'; readonly isNew: boolean }
  | { readonly type: 'copy'; readonly from: string };

/**
 * An export in object storage, as a temporary folder: it has a file for each object, but with content only for those
 * that are read. An export into this folder changes nothing in the bucket; `changes` says what an upload has to do.
 */
export interface BucketImage {
  readonly path: string;
  readonly files: FileOperations;
  readonly objects: ReadonlyMap<string, StoredObject>;
  readonly previous: ExportManifest | null;
  /** The last change of each path, relative to the folder, in the order in which an export in a folder makes them. */
  changes(): ReadonlyMap<string, ImageChange>;
}

/** How many objects are read or written at a time. */
export const CONCURRENT_OBJECTS = 8;

/**
 * Runs an action with the image of a bucket, which it then closes. Pass `whole` for an image with the content of every
 * object.
 * @throws SyncError; `usage` if the prefix has objects, but not of an export
 */
export async function withImage<T>(
  store: ObjectStore,
  { whole }: { readonly whole: boolean },
  action: (image: BucketImage) => Promise<T>,
): Promise<T> {
  const path = mkdtempSync(join(tmpdir(), 'obsync-bucket-'));
  try {
    const objects = await listObjects(store);
    for (const object of objects.values()) makePlaceholder(join(path, object.path), object);
    const contents = new Set<string>();
    const read = async (name: string): Promise<void> => {
      writeFileSync(join(path, name), await store.read(name));
      contents.add(name);
    };
    if (objects.has(MANIFEST_NAME)) await read(MANIFEST_NAME);
    // An export that was killed before its manifest has left files; the lock's file says whose they are.
    else if (objects.size > 0) writeFileSync(join(path, `${MANIFEST_NAME}.lock`), '');
    const names = whole ? [...objects.keys()] : namesToRead(path, objects);
    const unread = names.filter((name) => !contents.has(name));
    await new PQueue({ concurrency: CONCURRENT_OBJECTS }).addAll(unread.map((name) => () => read(name)));
    const previous = previousOf(path, store.url);
    return await action({ path, objects, previous, ...recorder(path, digestsOf(objects, contents, previous)) });
  } finally {
    rmSync(path, { recursive: true, force: true });
    store.close();
  }
}

async function listObjects(store: ObjectStore): Promise<Map<string, StoredObject>> {
  const listed = await store.list();
  const objects = new Map(listed.filter(({ path }) => isOfExport(path)).map((object) => [object.path, object]));
  if (!objects.has(MANIFEST_NAME) && objects.size < listed.length)
    throw new SyncError(
      'usage',
      `${store.url} contains objects that are not an export: name an empty prefix with --to`,
    );
  return objects;
}

function previousOf(folder: string, url: string): ExportManifest | null {
  const text = readTextOf(join(folder, MANIFEST_NAME));
  return text === null ? null : parseManifest(text, `${url}/${MANIFEST_NAME}`);
}

/** Anything else under the prefix is left alone. */
function isOfExport(path: string): boolean {
  return isOwnPath(path) || path === MANIFEST_NAME || path === VIEWS_NAME || LOG_FILE.test(path);
}

const LOG_FILE = new RegExp(`^(${EXPORT_RELATIONS.map(({ name }) => name).join('|')})/${LOG_NAME}/[^/]+$`);

function makePlaceholder(path: string, { bytes, modifiedMs }: StoredObject): void {
  mkdirSync(dirname(path), { recursive: true });
  const file = openSync(path, 'w');
  ftruncateSync(file, bytes);
  closeSync(file);
  utimesSync(path, modifiedMs / 1000, modifiedMs / 1000);
}

function namesToRead(folder: string, objects: ReadonlyMap<string, StoredObject>): string[] {
  const logs = EXPORT_RELATIONS.flatMap(({ name }) =>
    logFilesToRead(join(folder, name)).map((file) => `${name}/${file}`),
  );
  return [...(objects.has(VIEWS_NAME) ? [VIEWS_NAME] : []), ...logs];
}

/**
 * The SHA-256 of the files without content. An object with the name and size of a file is that file, unless it was
 * written after the manifest.
 */
function digestsOf(
  objects: ReadonlyMap<string, StoredObject>,
  contents: ReadonlySet<string>,
  previous: ExportManifest | null,
): ReadonlyMap<string, string> {
  const digests = new Map<string, string>();
  for (const name of objects.keys()) if (!contents.has(name)) digests.set(name, '');
  const known = (path: string, sha256: string): void => void (digests.has(path) && digests.set(path, sha256));
  const writtenMs = objects.get(MANIFEST_NAME)?.modifiedMs ?? 0;
  for (const { path, sha256 } of previous?.files ?? [])
    if ((objects.get(path)?.modifiedMs ?? 0) <= writtenMs) known(path, sha256);
  // A copy has the ETag of what it is a copy of.
  for (const [path, file] of previous === null ? [] : tableFiles(previous))
    if (objects.get(path)?.etag === objects.get(file.path)?.etag) known(path, file.sha256);
  return digests;
}

function recorder(folder: string, digests: ReadonlyMap<string, string>): Pick<BucketImage, 'files' | 'changes'> {
  const changes = new Map<string, ImageChange>();
  const nameOf = (path: string): string => relative(folder, path).replaceAll('\\', '/');
  const record = (to: string, change: ImageChange): void => {
    const name = nameOf(to);
    changes.delete(name);
    changes.set(name, change);
  };
  const files: FileOperations = {
    ...NODE_FILES,
    // Nothing here outlives the run.
    sync() {},
    syncFolder() {},
    rename(from, to) {
      NODE_FILES.rename(from, to);
      record(to, changes.get(nameOf(from)) ?? { type: 'write', isNew: false });
      changes.delete(nameOf(from));
    },
    link(from, to) {
      NODE_FILES.link(from, to);
      record(to, { type: 'write', isNew: true });
    },
    share(from, to) {
      NODE_FILES.close(NODE_FILES.create(to));
      record(to, { type: 'copy', from: nameOf(from) });
    },
    sha256: async (path) => {
      const name = nameOf(path);
      return changes.has(name) ? NODE_FILES.sha256(path) : (digests.get(name) ?? NODE_FILES.sha256(path));
    },
  };
  return { files, changes: () => new Map([...changes].filter(([name]) => isFile(join(folder, name)))) };
}

const isFile = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isFile() ?? false;
