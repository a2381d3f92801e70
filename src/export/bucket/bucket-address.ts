import { usageError } from '../../core/errors.ts';

export interface BucketAddress {
  readonly bucket: string;
  /** Ends with `/`, unless it is empty. */
  readonly prefix: string;
}

/** Reads `s3://bucket/prefix`; null for the path of a folder. @throws SyncError `usage` */
export function bucketAddress(to: string): BucketAddress | null {
  const [, scheme, rest = ''] = /^([a-z][a-z0-9+.-]+):\/\/(.*)$/is.exec(to) ?? [];
  if (scheme === undefined) return null;
  if (scheme.toLowerCase() !== 's3')
    throw usageError(`exports go to a folder or to s3://BUCKET/PREFIX, not to ${scheme}://`);
  const [bucket = '', ...parts] = rest.replace(/\/+$/, '').split('/');
  if (!/^[\w.-]+$/.test(bucket) || parts.some((part) => ['', '.', '..'].includes(part)))
    throw usageError(`${to} is not an address: name the bucket and a prefix, as in s3://BUCKET/PREFIX`);
  return { bucket, prefix: parts.map((part) => `${part}/`).join('') };
}
