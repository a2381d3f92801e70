import { statSync } from 'node:fs';
import { attempt } from './file-error.ts';
import { refuseMissing, underLock, writeTo } from './open.ts';

/** The size of a mirror, with its log, before and after it was compacted. */
export interface CompactReport {
  readonly db: string;
  readonly bytes_before: number;
  readonly bytes_after: number;
}

/**
 * Rewrites the file without the pages that removed rows left empty, under the mirror's lock. Readers aren't blocked; if
 * one still needs the old pages, the file shrinks with the next sync.
 * @throws SyncError
 */
export function compactFile(db: string): CompactReport {
  refuseMissing(db);
  const compact = (): CompactReport => {
    const bytes_before = bytesOf(db);
    writeTo(db, ({ connection }) => connection.exec('vacuum'));
    return { db, bytes_before, bytes_after: bytesOf(db) };
  };
  return attempt(db, () => underLock(db, compact));
}

function bytesOf(path: string): number {
  return statSync(path).size + (statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0);
}
