import { isJsonObject } from '../../core/json.ts';
import { parsedJson } from '../manifest.ts';
import { FILES_FOLDER } from '../partition-path.ts';
import type { StoredObject } from './object-store.ts';

/** Says what exports wrote: reading the objects to see whether they are intact would cost more than writing them. */
export const ETAGS_NAME = `${FILES_FOLDER}etags.json`;

export interface WrittenObject {
  readonly etag: string;
  readonly sha256: string;
}

/** Objects with their ETag and the SHA-256 of their content, by path. */
export type WrittenObjects = ReadonlyMap<string, WrittenObject>;

/** The objects that still have the ETag they were written with. None if the text isn't valid: all are written again. */
export function parseDigests(text: string | null, objects: ReadonlyMap<string, StoredObject>): WrittenObjects {
  const parsed = parsedJson(text ?? '{}');
  const entries = Object.entries(isJsonObject(parsed) ? parsed : {}).flatMap(([path, value]) => {
    const [etag, sha256] = Array.isArray(value) ? (value as unknown[]) : [];
    const isStored = typeof etag === 'string' && typeof sha256 === 'string' && objects.get(path)?.etag === etag;
    return isStored ? [[path, { etag, sha256 }] as const] : [];
  });
  return new Map(entries);
}

export function digestsText(written: WrittenObjects): string {
  const entries = [...written].map(([path, { etag, sha256 }]) => [path, [etag, sha256]] as const);
  return `${JSON.stringify(Object.fromEntries(entries.sort()), null, 1)}\n`;
}
