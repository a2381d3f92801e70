import type { MirrorStore } from '../destination/mirror-store.ts';
import { loadStore } from '../destination/stores.ts';
import { addressOf } from '../settings/addresses/mirror-address.ts';
import { clock } from '../settings/sync-settings.ts';

/**
 * The store of an address.
 * @throws SyncError `usage`
 */
export async function openStore(given: string): Promise<MirrorStore> {
  return loadStore(addressOf(given), clock);
}
