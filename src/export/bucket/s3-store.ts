import {
  CopyObjectCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  PutObjectCommand,
  paginateListObjectsV2,
  S3Client,
} from '@aws-sdk/client-s3';
import { SyncError, usageError } from '../../core/errors.ts';
import { yieldToSignal } from '../yield-to-signal.ts';
import type { BucketAddress } from './bucket-address.ts';
import { ObjectConflict, type ObjectStore, type StoredObject, type WriteCondition } from './object-store.ts';

/** Opens a bucket with the credentials, region and endpoint that the AWS tools would use. @throws SyncError */
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
    list: () => attempt('', () => listObjects(client, { bucket, prefix }, options)),
    etag: (path) =>
      attempt(path, async () => {
        const found = await client.send(new HeadObjectCommand(at(path)), options).catch(nullIfAbsent);
        return found === null ? null : (found.ETag ?? '');
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
        const copied = await client.send(new CopyObjectCommand({ ...at(to), CopySource: source }), options);
        return copied.CopyObjectResult?.ETag ?? '';
      }),
    remove: (path) => attempt(path, async () => void (await client.send(new DeleteObjectCommand(at(path)), options))),
    close: () => client.destroy(),
  };
}

async function listObjects(
  client: S3Client,
  { bucket, prefix }: BucketAddress,
  options: { readonly abortSignal: AbortSignal },
): Promise<StoredObject[]> {
  const objects: StoredObject[] = [];
  const pages = paginateListObjectsV2({ client }, { Bucket: bucket, Prefix: prefix }, options);
  for await (const { Contents = [] } of pages)
    for (const { Key = '', Size: bytes = 0, ETag: etag = '', LastModified } of Contents)
      objects.push({ path: Key.slice(prefix.length), bytes, etag, modifiedMs: LastModified?.getTime() ?? 0 });
  return objects;
}

function nullIfAbsent(error: SdkFailure): null {
  if (error.$metadata?.httpStatusCode === NOT_FOUND) return null;
  throw error;
}

async function connect(url: string): Promise<S3Client> {
  const client = new S3Client({ requestHandler: TIMEOUTS, ...(hasOwnEndpoint() ? FOR_COMPATIBLE_SERVERS : {}) });
  try {
    await client.config.region();
    return client;
  } catch (cause) {
    throw usageError(`the region of ${url} is unknown: set AWS_REGION`, { cause });
  }
}

/** How long a server may be silent; without these, forever. */
const TIMEOUTS = {
  connectionTimeout: 10_000,
  socketTimeout: 60_000,
  requestTimeout: 300_000,
  throwOnRequestTimeout: true,
} as const;

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

const NOT_FOUND = 404;

function failureOf(url: string, path: string, cause: unknown): unknown {
  const { name = 'Error', code, $metadata } = cause as SdkFailure;
  const what = path === '' ? url : `${url}/${path}`;
  switch ($metadata?.httpStatusCode) {
    case 409:
    case 412:
      return new ObjectConflict(url, path, { cause });
    case 301:
    case 307:
      return usageError(`${url} is in another region: set AWS_REGION`, { cause });
    case 401:
    case 403:
      return usageError(`${url} refuses the credentials (${name}): let them list, read, write and delete objects`, {
        cause,
      });
    case NOT_FOUND:
      return name === 'NoSuchBucket'
        ? usageError(`${url}: there is no such bucket, or not in this region`, { cause })
        : new SyncError('run', `${what} was removed meanwhile: export again`, { cause });
    case 501:
      return usageError(`${url} does not support conditional writes, which exports need (${name})`, { cause });
  }
  if (CREDENTIAL_ERRORS.has(name))
    return usageError(
      `${url} needs credentials (${name}): set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE`,
      { cause },
    );
  // Anything else is a fault of this program.
  if ($metadata === undefined && code === undefined && name !== 'TimeoutError') return cause;
  const message = `${what} cannot be read or written (${String(code ?? name)}): check the connection, and export again`;
  return new SyncError('run', message, { cause });
}

const CREDENTIAL_ERRORS = new Set(['CredentialsProviderError', 'ExpiredToken', 'TokenRefreshRequired']);
