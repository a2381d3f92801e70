import type { Instant } from '../core/time/instant.ts';
import type { MirrorStore } from './mirror-store.ts';
import type { PostgresAddress } from './postgres/address.ts';

/** Where a mirror is; `kind` selects its store. `display` is the path as the user gave it. */
export type MirrorAddress =
  | { readonly kind: 'file'; readonly path: string; readonly display: string }
  | PostgresAddress;

/** The store for an address; nothing is opened yet. Loaded on demand, so a file needs no PostgreSQL driver. */
export async function loadStore(address: MirrorAddress, clock: () => Instant): Promise<MirrorStore> {
  switch (address.kind) {
    case 'file':
      return (await import('./sqlite/store.ts')).sqliteStore(address.path, clock);
    case 'postgres':
      return (await import('./postgres/store.ts')).postgresStore(address, clock);
  }
}
