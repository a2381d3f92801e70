import { addressOf } from '../settings/addresses/mirror-address.ts';
import { fileStore } from './file-store.ts';
import type { MirrorStore } from './mirror-store.ts';

/** The store that an address names. @throws SyncError `usage` */
export async function storeOf(given: string): Promise<MirrorStore> {
  const address = addressOf(given);
  if (address.kind === 'file') return fileStore(address.path);
  // Loaded only here: a mirror in a file needs no driver of PostgreSQL.
  return (await import('./postgres-store.ts')).postgresStore(given, address);
}
