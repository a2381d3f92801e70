import { statSync } from 'node:fs';
import { takeLock } from '../../../state/lock.ts';
import type { CompactedSize } from '../mirror-store.ts';
import { closeWritten } from './close.ts';
import { openForReading, openForWriting } from './open.ts';

/**
 * Rewrites the file without the pages that removed rows left empty, under the mirror's lock. Readers go on reading; the
 * file shrinks once none of them needs its old pages.
 * @throws SyncError
 */
export function compactFile(path: string): CompactedSize {
  openForReading(path).connection.close();
  const lock = takeLock(path);
  try {
    const bytes_before = statSync(path).size;
    const mirror = openForWriting(path);
    try {
      mirror.connection.exec('vacuum');
    } finally {
      closeWritten(mirror);
    }
    return { bytes_before, bytes_after: statSync(path).size };
  } finally {
    lock.release();
  }
}
