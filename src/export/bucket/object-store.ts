import { SyncError } from '../../core/errors.ts';

/** An object under the prefix of an export; `path` is relative to it. */
export interface StoredObject {
  readonly path: string;
  readonly bytes: number;
  readonly etag: string;
  readonly modifiedMs: number;
}

/** What a write requires of the object in its place; null for nothing. */
export type WriteCondition = 'absent' | { readonly etag: string } | null;

/** The objects under one prefix of a bucket. Every operation throws a SyncError that tells the user what to do. */
export interface ObjectStore {
  /** `s3://bucket/prefix`, for messages and for readers. */
  readonly url: string;
  list(): Promise<StoredObject[]>;
  etag(path: string): Promise<string | null>;
  read(path: string): Promise<Uint8Array>;
  /** Creates or replaces an object, and returns its ETag. @throws ObjectConflict if the condition is not met */
  write(path: string, bytes: Uint8Array, condition: WriteCondition): Promise<string>;
  /** Copies an object within the bucket. @returns the ETag of the copy */
  copy(from: string, to: string): Promise<string>;
  /** Removes an object; one that does not exist is no error. */
  remove(path: string): Promise<void>;
  close(): void;
}

/** Another program wrote the object at the same time. */
export class ObjectConflict extends SyncError {
  constructor(url: string, path: string, options?: { cause?: unknown }) {
    super('run', `another program wrote ${url}/${path} at the same time: export again`, options);
  }
}
