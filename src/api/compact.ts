import { type CompactReport, compactFile } from '../destination/sqlite/compact-file.ts';
import { givenFile } from '../settings/addresses/mirror-address.ts';
import { checkOptions } from '../settings/check-options.ts';
import type { MirrorOptions, OptionsNamed } from '../settings/options.ts';
import { refuseNetworkFs } from './open-store.ts';

export type CompactOptions = MirrorOptions & OptionsNamed<'allowNetworkFs'>;

/** Returns the space of removed rows; the caller waits, readers don't. @throws SyncError `locked` while a sync runs */
export async function compact(options: CompactOptions = {}): Promise<CompactReport> {
  checkOptions(options);
  const db = givenFile(
    options,
    ({ display }) =>
      `compact works on a file, and ${display} is in PostgreSQL. Autovacuum reuses the space; to return it to the disk, run \`vacuum full\``,
  );
  refuseNetworkFs({ ...options, db });
  return compactFile(db);
}
