import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import PQueue from 'p-queue';
import { SyncError } from '../../core/errors.ts';
import { sizeOf } from '../export-files.ts';
import { MANIFEST_NAME } from '../manifest.ts';
import { yieldToSignal } from '../yield-to-signal.ts';
import { type BucketImage, CONCURRENT_OBJECTS } from './bucket-image.ts';
import { ObjectConflict, type ObjectStore, type WriteCondition } from './object-store.ts';
import { planUpload } from './plan-upload.ts';

/**
 * Makes the changes of an image in the bucket.
 * @throws SyncError that says which export is complete
 */
export async function upload(
  store: ObjectStore,
  image: BucketImage,
  { nowMs, signal }: { readonly nowMs: number; readonly signal: AbortSignal },
): Promise<void> {
  const { path: folder, objects, previous } = image;
  const changes = image.changes();
  const gone = [...objects.keys()].filter((path) => !existsSync(join(folder, path)));
  const queue = new PQueue({ concurrency: concurrencyOf([...changes.keys()].map((path) => join(folder, path))) });
  let etag = objects.get(MANIFEST_NAME)?.etag;
  let standing = previous === null ? '' : '; the last complete export is untouched';
  const write = async (path: string, isNew: boolean): Promise<void> => {
    const isManifest = path === MANIFEST_NAME;
    const condition = isNew || (isManifest && etag === undefined) ? 'absent' : isManifest && etag ? { etag } : null;
    const written = await writeOnce(store, path, readFileSync(join(folder, path)), condition);
    if (isManifest) etag = written;
  };
  try {
    for (const step of planUpload(image, changes, gone, nowMs)) {
      const apply = [...step].map(([path, change]) => async () => {
        await yieldToSignal(signal);
        if (change.type === 'remove') await store.remove(path);
        else if (change.type === 'copy') await store.copy(change.from, path);
        else await write(path, change.isNew);
      });
      await queue.addAll(apply);
      if (step.has(MANIFEST_NAME)) standing = '; the new export is complete, but its folders and logs are not';
    }
    // Another export that began after this one's manifest may have written the folders of the tables before it.
    if (changes.size > 0 && (await etagOf(store, MANIFEST_NAME)) !== etag)
      throw new ObjectConflict(store.url, MANIFEST_NAME);
  } catch (error) {
    if (!(error instanceof SyncError)) throw error;
    throw new SyncError(error.recovery, `${error.message}${standing}`, { cause: error });
  }
}

/** As many as may be in memory at a time. */
function concurrencyOf(paths: readonly string[]): number {
  const largest = Math.max(1, ...paths.map((path) => sizeOf(path) ?? 0));
  return Math.max(1, Math.min(CONCURRENT_OBJECTS, Math.floor(MAX_BYTES / largest)));
}

const MAX_BYTES = 256 * 2 ** 20;

/** If a response is lost, its request is sent again, and then conflicts with itself. */
async function writeOnce(
  store: ObjectStore,
  path: string,
  bytes: Buffer,
  condition: WriteCondition,
): Promise<string | undefined> {
  try {
    return await store.write(path, bytes, condition);
  } catch (error) {
    if (!(error instanceof ObjectConflict)) throw error;
    const etag = await etagOf(store, path);
    if (etag !== undefined && bytes.equals(await store.read(path))) return etag;
    throw error;
  }
}

async function etagOf(store: ObjectStore, path: string): Promise<string | undefined> {
  return (await store.list()).find((object) => object.path === path)?.etag;
}
