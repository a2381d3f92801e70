import type { BucketAddress } from '../export/bucket/bucket-address.ts';
import type { ObjectStore } from '../export/bucket/object-store.ts';

/** Opens a bucket. Loads the client only now, as few exports need it. @throws SyncError */
export async function openBucket(address: BucketAddress, signal: AbortSignal): Promise<ObjectStore> {
  return (await import('../export/bucket/s3-store.ts')).openS3(address, signal);
}
