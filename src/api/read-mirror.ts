import { mirror as mirrorTable } from '../../schema/sync.ts';
import { closeAfter } from '../core/close-after.ts';
import { usageError } from '../core/errors.ts';
import { type MirrorFileOptions, withMirrorFile } from '../destination/mirror-file.ts';
import type { MirrorStore } from '../destination/mirror-store.ts';
import { type MirrorFile, openForReading } from '../destination/sqlite/open.ts';

/** Calls `read` with the mirror, or a replica of it, opened for reading. @throws SyncError `usage` if it is empty */
export function readMirror<Result>(
  store: MirrorStore,
  read: (mirror: MirrorFile) => Result | Promise<Result>,
  options: MirrorFileOptions,
): Promise<Result> {
  const readFile = async (path: string): Promise<Result> => {
    const mirror = openForReading(path);
    return closeAfter(mirror.connection, async () => {
      if (mirror.db.select().from(mirrorTable).get() === undefined)
        throw usageError(`${store.display} mirrors nothing yet: run \`obsync sync\` first`);
      return read(mirror);
    });
  };
  return withMirrorFile(store, readFile, options);
}
