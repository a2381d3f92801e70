import {
  CopyObjectCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  PutObjectCommand,
  paginateListObjectsV2,
  S3Client,
} from '@aws-sdk/client-s3';
import { SyncError } from '../../core/errors.ts';
import { yieldToSignal } from '../yield-to-signal.ts';
import type { BucketAddress } from './bucket-address.ts';
import { ObjectConflict, type ObjectStore, type StoredObject, type WriteCondition } from './object-store.ts';

/**
 * Opens a bucket with the credentials, region and endpoint that the AWS tools would use.
 * @throws SyncError
 */
export async function openS3({ bucket, prefix }: BucketAddress, signal: AbortSignal): Promise<ObjectStore> {
  const url = `s3://${bucket}/${prefix}`.replace(/\/$/, '');
  const client = await connect(url);
  const at = (path: string): { Bucket: string; Key: string } => ({ Bucket: bucket, Key: `${prefix}${path}` });
  const attempt = async <T>(path: string, action: () => Promise<T>): Promise<T> => {
    try {
      return await action();
    } catch (error) {
      await yieldToSignal(signal);
      throw failureOf(url, path, error);
    }
  };
  const options = { abortSignal: signal };
  return {
    url,
    list: () =>
      attempt('', async () => {
        const objects: StoredObject[] = [];
        const pages = paginateListObjectsV2({ client }, { Bucket: bucket, Prefix: prefix }, options);
        for await (const { Contents = [] } of pages)
          for (const { Key = '', Size = 0, ETag = '', LastModified } of Contents)
            objects.push({
              path: Key.slice(prefix.length),
              bytes: Size,
              etag: ETag,
              modifiedMs: LastModified?.getTime() ?? 0,
            });
        return objects;
      }),
    read: (path) =>
      attempt(path, async () => {
        const { Body } = await client.send(new GetObjectCommand(at(path)), options);
        return (await Body?.transformToByteArray()) ?? new Uint8Array();
      }),
    write: (path, Body, condition) =>
      attempt(path, async () => {
        const put = new PutObjectCommand({ ...at(path), Body, ...headersOf(condition) });
        return (await client.send(put, options)).ETag ?? '';
      }),
    copy: (from, to) =>
      attempt(to, async () => {
        const source = `${bucket}/${prefix}${from}`.split('/').map(encodeURIComponent).join('/');
        await client.send(new CopyObjectCommand({ ...at(to), CopySource: source }), options);
      }),
    remove: (path) => attempt(path, async () => void (await client.send(new DeleteObjectCommand(at(path)), options))),
    close: () => client.destroy(),
  };
}

async function connect(url: string): Promise<S3Client> {
  const client = new S3Client(hasOwnEndpoint() ? FOR_COMPATIBLE_SERVERS : {});
  try {
    await client.config.region();
    return client;
  } catch (cause) {
    throw new SyncError('usage', `the region of ${url} is unknown: set AWS_REGION`, { cause });
  }
}

const hasOwnEndpoint = (): boolean =>
  ['AWS_ENDPOINT_URL_S3', 'AWS_ENDPOINT_URL'].some((name) => (process.env[name] ?? '') !== '');

/** They seldom have a host name for each bucket, and many refuse the checksums that S3 has had since 2025. */
const FOR_COMPATIBLE_SERVERS = {
  forcePathStyle: true,
  requestChecksumCalculation: 'WHEN_REQUIRED',
  responseChecksumValidation: 'WHEN_REQUIRED',
} as const;

function headersOf(condition: WriteCondition): { IfNoneMatch?: string; IfMatch?: string } {
  if (condition === null) return {};
  return condition === 'absent' ? { IfNoneMatch: '*' } : { IfMatch: condition.etag };
}

interface SdkFailure {
  readonly name?: string;
  readonly code?: unknown;
  readonly $metadata?: { readonly httpStatusCode?: number };
}

function failureOf(url: string, path: string, cause: unknown): unknown {
  const { name = 'Error', code, $metadata } = cause as SdkFailure;
  const status = $metadata?.httpStatusCode;
  if (status === 412 || status === 409) return new ObjectConflict(url, path, { cause });
  if (name === 'NoSuchBucket') return usage(`${url}: there is no such bucket, or not in this region`, cause);
  if (name === 'CredentialsProviderError')
    return usage(`${url} needs credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE`, cause);
  if (status === 301 || status === 307) return usage(`${url} is in another region: set AWS_REGION`, cause);
  if (status === 401 || status === 403)
    return usage(
      `${url} refuses the credentials (${name}): they must allow listing, reading, writing and deleting`,
      cause,
    );
  if (status === 501) return usage(`${url} does not support conditional writes, which exports need (${name})`, cause);
  if (status === undefined && code === undefined && name === 'Error') return cause;
  const what = path === '' ? url : `${url}/${path}`;
  const message = `${what} cannot be read or written (${String(code ?? name)}): check the connection, and export again`;
  return new SyncError('run', message, { cause });
}

const usage = (message: string, cause: unknown): SyncError => new SyncError('usage', message, { cause });
