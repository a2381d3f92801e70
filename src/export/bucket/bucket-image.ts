import { mkdirSync, mkdtempSync, rmSync, statSync, truncateSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { SyncError, usageError } from '../../core/errors.ts';
import { logFilesToRead } from '../delta/delta-log.ts';
import { type FileOperations, isSystemError, NODE_FILES, readTextOf } from '../export-files.ts';
import { type ExportManifest, MANIFEST_NAME, readManifest } from '../manifest.ts';
import { isLogPath, isOwnPath } from '../partition-path.ts';
import { EXPORT_RELATIONS } from '../relation.ts';
import { tableFiles } from '../table-folders.ts';
import { VIEWS_NAME } from '../views-sql.ts';
import { atOnce, concurrencyOf } from './at-once.ts';
import { ETAGS_NAME, parseDigests, type WrittenObjects } from './etags.ts';
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
  /** What exports wrote, as far as it is still there. */
  readonly written: WrittenObjects;
  /** The last change of each path, relative to the folder, in the order in which an export in a folder makes them. */
  changes(): ReadonlyMap<string, ImageChange>;
}

/** Which objects have their content in an image: those that an export reads, or all that belong to the last export. */
export type ImageContent = 'for-export' | 'whole';

/** Runs an action with a bucket's image. @throws SyncError; `usage` if the prefix has objects of no export */
export async function withImage<T>(
  store: ObjectStore,
  content: ImageContent,
  action: (image: BucketImage) => Promise<T>,
): Promise<T> {
  let path: string | null = null;
  try {
    const objects = await listObjects(store);
    path = makeFolder();
    const image = await makeImage(path, objects, content, store);
    return await action(image);
  } catch (error) {
    if (!(error instanceof SyncError) || path === null) throw error;
    // What is read from the image is an object for the user.
    const message = error.message.replaceAll(join(path, '/'), `${store.url}/`);
    throw new SyncError(error.recovery, message, { cause: error });
  } finally {
    if (path !== null) rmSync(path, { recursive: true, force: true });
    store.close();
  }
}

function makeFolder(): string {
  try {
    return mkdtempSync(join(tmpdir(), 'obsync-bucket-'));
  } catch (cause) {
    if (!isSystemError(cause)) throw cause;
    const message = `${tmpdir()} cannot be written (${String(cause.code)}): set TMPDIR to another folder`;
    throw new SyncError('run', message, { cause });
  }
}

async function makeImage(
  path: string,
  objects: ReadonlyMap<string, StoredObject>,
  content: ImageContent,
  store: ObjectStore,
): Promise<BucketImage> {
  for (const object of objects.values()) makePlaceholder(join(path, object.path), object);
  const contents = new Set<string>();
  const read = async (name: string): Promise<void> => {
    writeFileSync(join(path, name), await store.read(name));
    contents.add(name);
  };
  const readAll = async (names: readonly string[]): Promise<void> => {
    const unread = names.filter((name) => objects.has(name) && !contents.has(name));
    const concurrency = concurrencyOf(unread.map((name) => objects.get(name)?.bytes ?? 0));
    await atOnce(concurrency, unread, read);
  };
  await readAll([MANIFEST_NAME, ETAGS_NAME, VIEWS_NAME]);
  const previous = readManifest(path);
  // An export that was killed before its manifest has left files; the lock's file says whose they are.
  if (previous === null && objects.size > 0) writeFileSync(join(path, `${MANIFEST_NAME}.lock`), '');
  await readAll(
    EXPORT_RELATIONS.flatMap(({ name }) => logFilesToRead(join(path, name)).map((file) => `${name}/${file}`)),
  );
  if (content === 'whole' && previous !== null)
    await readAll([...previous.files.map((file) => file.path), ...tableFiles(previous).keys()]);
  const written = parseDigests(readTextOf(join(path, ETAGS_NAME)), objects);
  return { path, objects, previous, written, ...recorder(path, { objects, written }, contents) };
}

async function listObjects(store: ObjectStore): Promise<Map<string, StoredObject>> {
  const listed = (await store.list()).filter((object) => !isFolderMarker(object));
  const objects = new Map(listed.filter(({ path }) => isOfExport(path)).map((object) => [object.path, object]));
  if (!objects.has(MANIFEST_NAME) && objects.size < listed.length)
    throw usageError(`${store.url} contains objects that are not an export: name an empty prefix with --to`);
  return objects;
}

/** The AWS console makes an empty object for a folder; a prefix with nothing else in it is empty. */
const isFolderMarker = ({ path, bytes }: StoredObject): boolean => bytes === 0 && (path === '' || path.endsWith('/'));

/** Anything else under the prefix is left alone: it must not get a name in a file system. */
function isOfExport(path: string): boolean {
  const isFileName = (part: string): boolean =>
    !/^\.{0,2}$|[\\\0:]/.test(part) && Buffer.byteLength(part) <= MAX_NAME_BYTES;
  return (
    path.split('/').every(isFileName) && (isOwnPath(path) || NAMED.has(path) || isLogPath(path) || NESTED.test(path))
  );
}

const MAX_NAME_BYTES = 255;
const NAMED: ReadonlySet<string> = new Set([MANIFEST_NAME, VIEWS_NAME, ETAGS_NAME]);

/** The manifest of an export within this one. */
const NESTED = /\/manifest\.json$/;

function makePlaceholder(path: string, { bytes, modifiedMs }: StoredObject): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, '');
  truncateSync(path, bytes);
  utimesSync(path, modifiedMs / 1000, modifiedMs / 1000);
}

/** File operations that record what they change; `contents` are the objects whose content is in the image. */
function recorder(
  folder: string,
  { objects, written }: Pick<BucketImage, 'objects' | 'written'>,
  contents: ReadonlySet<string>,
): Pick<BucketImage, 'files' | 'changes'> {
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
      const isPlaceholder = objects.has(name) && !contents.has(name) && !changes.has(name);
      return isPlaceholder ? (written.get(name)?.sha256 ?? '') : NODE_FILES.sha256(path);
    },
  };
  return { files, changes: () => new Map([...changes].filter(([name]) => isFile(join(folder, name)))) };
}

const isFile = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isFile() ?? false;
