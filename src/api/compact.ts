import type { CompactedSize } from '../destination/mirror-store.ts';
import { givenAddress } from '../settings/addresses/mirror-address.ts';
import { checkOptions } from '../settings/check-options.ts';
import { OptionError } from '../settings/option-error.ts';
import type { MirrorOptions } from '../settings/options.ts';
import { openStore } from './open-store.ts';

export type CompactOptions = MirrorOptions;

export interface CompactReport extends CompactedSize {
  /** The mirror. */
  readonly db: string;
}

const VACUUM = 'it uses the space of removed rows again, and `vacuum full` returns it';

/**
 * Returns the space of removed rows to the file system, while readers go on reading.
 * @throws SyncError `locked` while a sync runs
 */
export async function compact(options: CompactOptions = {}): Promise<CompactReport> {
  checkOptions(options);
  const store = await openStore(givenAddress(options));
  if (store.compact === undefined) throw new OptionError('db', `${store.display} is in PostgreSQL: ${VACUUM}`);
  return { db: store.display, ...(await store.compact()) };
}
