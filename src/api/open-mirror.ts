import { usageError } from '../core/errors.ts';
import { openForReading } from '../destination/sqlite/open.ts';
import { type ReadResult, readStatement, type StatementOptions } from '../destination/sqlite/read-statement.ts';
import { givenFile } from '../settings/addresses/mirror-address.ts';
import { checkOptions } from '../settings/check-options.ts';
import type { MirrorOptions } from '../settings/options.ts';
import { statusOf } from './status.ts';
import type { StatusReport } from './status-report.ts';

/** A mirror opened for reading. A sync may write to it meanwhile. */
export interface ReadableMirror {
  readonly path: string;
  /** Runs one SQL statement that only reads. @throws SyncError */
  query(sql: string, options?: StatementOptions): ReadResult;
  /** All reads inside `read` see the same state of the mirror, whatever is committed meanwhile. */
  snapshot<Result>(read: () => Result): Result;
  /** @throws SyncError */
  status(): StatusReport;
  close(): void;
}

/** Opens an existing mirror for reading. @throws SyncError `usage` */
export async function openMirror(options: MirrorOptions = {}): Promise<ReadableMirror> {
  checkOptions(options);
  const mirror = openForReading(givenFile(options, 'openMirror (unlike query)'));
  const { path, connection } = mirror;
  const unfinished = new Set<() => void>();
  /** SQLite neither begins nor ends a transaction while a result is unread. */
  const refuseUnfinished = (): void => {
    if (unfinished.size > 0)
      throw usageError('the rows of an earlier query are not all read: read or close its result first');
  };
  const closeUnfinished = (): void => {
    for (const close of unfinished) close();
  };
  return {
    path,
    query: (sql, options) => readStatement(mirror, sql, options, unfinished),
    snapshot(read) {
      refuseUnfinished();
      return connection.transaction(() => {
        try {
          const result = read();
          refuseUnfinished();
          return result;
        } finally {
          closeUnfinished();
        }
      })();
    },
    status() {
      refuseUnfinished();
      return statusOf(mirror);
    },
    close() {
      closeUnfinished();
      connection.close();
    },
  };
}
