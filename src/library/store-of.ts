import { SyncError } from '../core/errors.ts';
import { fileStore } from './file-store.ts';
import { addressOf } from './mirror-address.ts';
import type { MirrorStore } from './mirror-store.ts';

/** The store that an address names. @throws SyncError `usage` */
export async function storeOf(given: string): Promise<MirrorStore> {
  const address = addressOf(given);
  if (address.kind === 'file') return fileStore(address.path);
  throw new SyncError('usage', `${address.display} is in PostgreSQL, and this command needs a mirror in a file`);
}
