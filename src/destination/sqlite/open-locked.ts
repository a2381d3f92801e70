import { takeLock } from '../../../state/lock.ts';
import type { OpenMirror } from '../../core/ports/open-mirror.ts';
import type { Instant } from '../../core/time/instant.ts';
import { CATALOGUE } from '../../streams/catalogue.ts';
import type { WriterOptions } from '../mirror-store.ts';
import { tableNamed } from '../sql/tables.ts';
import { closeWritten, orClose, release } from './close.ts';
import { createSqliteDestination } from './destination.ts';
import { withFileErrors } from './file-error.ts';
import { buildSecondaryIndexes, dropSecondaryIndexes } from './migrations.ts';
import { type MirrorFile, openForWriting, refuseInvalidMirror } from './open.ts';
import { fileState } from './open-state.ts';

interface FileWriterOptions extends WriterOptions {
  readonly stop: AbortSignal;
  readonly clock: () => Instant;
}

/** Opens the mirror under its lock. @throws SyncError */
export function openLocked(path: string, { stop, quietMs, clock, alertRules }: FileWriterOptions): OpenMirror {
  refuseInvalidMirror(path);
  return orClose(takeLock(path), release, (lock) => {
    const mirror = openIndexed(path, quietMs);
    return {
      state: fileState(mirror, clock),
      destination: (envId, run) => createSqliteDestination(mirror, { envId, run, clock, alertRules }),
      // The lock of the file covers all its environments.
      hold: async () => {},
      flush: withFileErrors(path)(() => mirror.transactions.flush()),
      async close() {
        try {
          if (!stop.aborted) finish(mirror.connection);
        } catch {
          // The result of the run stands; the next run completes the rest.
        } finally {
          closeWritten(mirror);
          lock.release();
        }
      },
    };
  });
}

function openIndexed(path: string, quietMs?: number): MirrorFile {
  return orClose(openForWriting(path, quietMs), closeWritten, (mirror) => {
    // A killed first sync may not have built them.
    buildSecondaryIndexes(mirror.connection, INDEXED);
    dropSecondaryIndexes(mirror.connection, INDEXED);
    return mirror;
  });
}

/** Work that makes reads faster. A run that has to stop skips it (R27), and the next run does it first. */
function finish(connection: MirrorFile['connection']): void {
  buildSecondaryIndexes(connection, INDEXED);
  connection.pragma('analysis_limit = 400');
  connection.pragma('optimize');
}

/** Tables whose indexes are built after the first sync; not those of histories, looked up while they grow. */
const INDEXED = CATALOGUE.filter((stream) => stream.method !== 'window').map((stream) => tableNamed(stream.table));
