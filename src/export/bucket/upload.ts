import { hash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { SyncError, usageError } from '../../core/errors.ts';
import { sizeOf } from '../export-files.ts';
import type { ExportWork } from '../export-work.ts';
import { MANIFEST_NAME } from '../manifest.ts';
import { yieldToSignal } from '../yield-to-signal.ts';
import { atOnce, concurrencyOf } from './at-once.ts';
import type { BucketImage, ImageChange } from './bucket-image.ts';
import { digestsText, ETAGS_NAME, type WrittenObject, type WrittenObjects } from './etags.ts';
import { ObjectConflict, type ObjectStore, type WriteCondition } from './object-store.ts';
import { planUpload } from './plan-upload.ts';

/**
 * Makes the changes of an image in the bucket.
 * @returns what went wrong after the new export was complete, one sentence each
 * @throws SyncError that says which export is complete
 */
export async function upload(
  store: ObjectStore,
  image: BucketImage,
  { nowMs, signal }: Pick<ExportWork, 'nowMs' | 'signal'>,
): Promise<string[]> {
  const { path: folder, objects, previous } = image;
  const changes = image.changes();
  const gone = [...objects.keys()].filter((path) => !existsSync(join(folder, path)));
  const plan = planUpload(image, changes, gone, nowMs);
  const concurrency = concurrencyOf([...changes.keys()].map((path) => sizeOf(join(folder, path)) ?? 0));
  const written = new Map(image.written);
  const writer = createWriter(store, image, written);
  let complete = previous === null ? '' : '; the last complete export is untouched';
  try {
    for (const step of plan.writes) {
      await atOnce(concurrency, [...step], async ([path, change]) => {
        await yieldToSignal(signal);
        written.set(path, await writer.apply(path, change));
      });
      if (step.has(MANIFEST_NAME)) complete = '; the new export is complete, but its folders and logs are not';
    }
    if (changes.size > 0) {
      await store.write(ETAGS_NAME, Buffer.from(digestsText(written)), null);
      await writer.refuseOverlap();
    }
  } catch (error) {
    if (!(error instanceof SyncError)) throw error;
    throw new SyncError(error.recovery, `${error.message}${complete}`, { cause: error });
  }
  try {
    for (const paths of plan.removals) {
      await writer.refuseOverlap();
      await atOnce(concurrency, paths, async (path) => {
        await yieldToSignal(signal);
        await store.remove(path);
      });
    }
    return [];
  } catch (error) {
    if (!(error instanceof SyncError) || error instanceof ObjectConflict || error.recovery === 'signal') throw error;
    return [`old objects cannot be removed: ${error.message}`];
  }
}

/** Writes the objects of an image, and knows the manifest that it wrote or found. */
function createWriter(store: ObjectStore, { path: folder, objects }: BucketImage, written: WrittenObjects) {
  const first = objects.get(MANIFEST_NAME)?.etag ?? null;
  let manifestTag = first;
  return {
    async apply(path: string, change: ImageChange): Promise<WrittenObject> {
      if (change.type === 'copy')
        return { etag: await store.copy(change.from, path), sha256: written.get(change.from)?.sha256 ?? '' };
      const bytes = readFileSync(join(folder, path));
      const sha256 = hash('sha256', bytes);
      if (path !== MANIFEST_NAME)
        return { etag: await writeOnce(store, path, bytes, change.isNew ? 'absent' : null), sha256 };
      manifestTag = await writeOnce(store, path, bytes, first === null ? 'absent' : { etag: first });
      if (first === null) await refuseUnconditional(store, bytes);
      return { etag: manifestTag, sha256 };
    },
    /** Another export may have written its manifest after this one, and then the folders of the tables. */
    async refuseOverlap(): Promise<void> {
      if ((await store.etag(MANIFEST_NAME)) !== manifestTag) throw new ObjectConflict(store.url, MANIFEST_NAME);
    },
  };
}

/** Some servers ignore conditions, and two exports at the same time would then destroy each other's. */
async function refuseUnconditional(store: ObjectStore, manifest: Buffer): Promise<void> {
  try {
    await store.write(MANIFEST_NAME, manifest, 'absent');
  } catch (error) {
    if (error instanceof ObjectConflict) return;
    throw error;
  }
  throw usageError(`the server of ${store.url} ignores conditional writes, which exports need`);
}

/** If a response is lost, its request is sent again, and then conflicts with itself. */
async function writeOnce(store: ObjectStore, path: string, bytes: Buffer, condition: WriteCondition): Promise<string> {
  try {
    return await store.write(path, bytes, condition);
  } catch (error) {
    if (!(error instanceof ObjectConflict)) throw error;
    const etag = await store.etag(path);
    if (etag !== null && bytes.equals(await store.read(path))) return etag;
    throw error;
  }
}
