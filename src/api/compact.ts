import { type CompactReport, compactFile } from '../destination/sqlite/compact-file.ts';
import { addressOf, givenAddress } from '../settings/addresses/mirror-address.ts';
import { checkOptions } from '../settings/check-options.ts';
import { OptionError } from '../settings/option-error.ts';
import type { MirrorOptions } from '../settings/options.ts';

export type CompactOptions = MirrorOptions;
export type { CompactReport };

/**
 * Returns the space of removed rows to the file system, while readers go on reading.
 * @throws SyncError `locked` while a sync runs
 */
export async function compact(options: CompactOptions = {}): Promise<CompactReport> {
  checkOptions(options);
  const address = addressOf(givenAddress(options));
  if (address.kind === 'postgres') throw new OptionError('db', `${address.display} is in PostgreSQL: ${VACUUM}`);
  return compactFile(address.path);
}

const VACUUM = 'it uses the space of removed rows again, and `vacuum full` returns it';
