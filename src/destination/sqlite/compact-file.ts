import { statSync } from 'node:fs';
import { takeLock } from '../../../state/lock.ts';
import { closeWritten } from './close.ts';
import { fileError } from './file-error.ts';
import { openForWriting, refuseMissing } from './open.ts';

/** The size of a mirror before and after it was compacted. */
export interface CompactReport {
  /** The mirror. */
  readonly db: string;
  readonly bytes_before: number;
  readonly bytes_after: number;
}

/**
 * Rewrites the file without the pages that removed rows left empty, under the mirror's lock. Readers go on reading; the
 * file shrinks once none of them needs its old pages.
 * @throws SyncError
 */
export function compactFile(db: string): CompactReport {
  refuseMissing(db);
  const lock = takeLock(db);
  try {
    const bytes_before = statSync(db).size;
    const mirror = openForWriting(db);
    try {
      mirror.connection.exec('vacuum');
    } finally {
      closeWritten(mirror);
    }
    return { db, bytes_before, bytes_after: statSync(db).size };
  } catch (error) {
    throw fileError(db, error);
  } finally {
    lock.release();
  }
}
