import { usageError } from '../core/errors.ts';
import type { MirrorStore } from '../destination/mirror-store.ts';
import { networkFileSystemOf } from '../destination/sqlite/network-folder.ts';
import { loadStore } from '../destination/stores.ts';
import { addressOf } from '../settings/addresses/mirror-address.ts';
import type { OptionsNamed } from '../settings/options.ts';
import { clock } from '../settings/sync-settings.ts';

/** @throws SyncError `usage` */
export async function openStore(given: string): Promise<MirrorStore> {
  return loadStore(addressOf(given), clock);
}

type WrittenPlace = OptionsNamed<'allowNetworkFs'> & { readonly db: string };

/**
 * Refuses to write a file on a network file system, before any request is made: SQLite's WAL mode needs memory that all
 * its users share, so it can lose rows there.
 * @throws SyncError `usage`
 */
export function refuseNetworkFs(place: WrittenPlace): void {
  const found = refusedFs(place);
  if (found === null) return;
  const text = `${place.db} is on a network file system (${found}), where SQLite can lose rows`;
  const advice =
    'put the mirror on a local disk or into PostgreSQL (--db postgres://user@host/database), or pass --allow-network-fs if only one machine opens it';
  throw usageError(`${text}: ${advice}`);
}

/** The network file system that a file must not be written to; null if it may be. */
export function refusedFs({ db, allowNetworkFs }: WrittenPlace): string | null {
  const address = addressOf(db);
  return allowNetworkFs || address.kind !== 'file' ? null : networkFileSystemOf(address.path);
}
