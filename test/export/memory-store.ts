import { hash, randomUUID } from 'node:crypto';
import { SyncError } from '../../src/core/errors.ts';
import { ObjectConflict, type ObjectStore } from '../../src/export/bucket/object-store.ts';

interface StoredBytes {
  readonly bytes: Uint8Array;
  readonly etag: string;
  readonly modifiedMs: number;
}

/** Object storage in memory. `before` is called before every operation. */
export interface MemoryStore extends ObjectStore {
  readonly objects: Map<string, StoredBytes>;
  before: (operation: keyof ObjectStore, path: string) => void | Promise<void>;
  /** The age of what is written from now on. */
  ageMs: number;
  /** Whether objects with the same content have different ETags. */
  encrypts: boolean;
}

export function createMemoryStore(objects: Iterable<readonly [string, StoredBytes]> = []): MemoryStore {
  const stored = (path: string): StoredBytes => {
    const found = store.objects.get(path);
    if (found === undefined) throw new SyncError('run', `${path} was removed meanwhile`);
    return found;
  };
  const put = (path: string, bytes: Uint8Array): string => {
    const etag = `"${store.encrypts ? randomUUID() : hash('md5', bytes)}"`;
    store.objects.set(path, { bytes, etag, modifiedMs: Date.now() - store.ageMs });
    return etag;
  };
  const store: MemoryStore = {
    url: 's3://bucket/lake',
    objects: new Map(objects),
    before: () => {},
    ageMs: 0,
    encrypts: false,
    async list() {
      await store.before('list', '');
      return [...store.objects].map(([path, object]) => ({ ...object, path, bytes: object.bytes.length }));
    },
    async etag(path) {
      await store.before('etag', path);
      return store.objects.get(path)?.etag ?? null;
    },
    async read(path) {
      await store.before('read', path);
      return stored(path).bytes;
    },
    async write(path, bytes, condition) {
      await store.before('write', path);
      const etag = store.objects.get(path)?.etag;
      const isMet = condition === null || (condition === 'absent' ? etag === undefined : etag === condition.etag);
      if (!isMet) throw new ObjectConflict(store.url, path);
      return put(path, Uint8Array.from(bytes));
    },
    async copy(from, to) {
      await store.before('copy', to);
      return put(to, stored(from).bytes);
    },
    async remove(path) {
      await store.before('remove', path);
      store.objects.delete(path);
    },
    close() {},
  };
  return store;
}
