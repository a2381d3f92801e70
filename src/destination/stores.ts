import type { Instant } from '../core/time/instant.ts';
import type { MirrorAddress } from './mirror-address.ts';
import type { MirrorStore } from './mirror-store.ts';

type LoadStore<Kind> = (address: Extract<MirrorAddress, { kind: Kind }>, clock: () => Instant) => Promise<MirrorStore>;

/** The store of each kind of address. Loaded on demand: a mirror in a file needs no driver of PostgreSQL. */
const STORES: { readonly [Kind in MirrorAddress['kind']]: LoadStore<Kind> } = {
  file: async ({ path }, clock) => (await import('./sqlite/store.ts')).sqliteStore(path, clock),
  postgres: async (address, clock) => (await import('./postgres/store.ts')).postgresStore(address, clock),
};

/** The store of the mirror at an address; nothing is opened yet. */
export function loadStore(address: MirrorAddress, clock: () => Instant): Promise<MirrorStore> {
  const load: LoadStore<MirrorAddress['kind']> = STORES[address.kind] as never;
  return load(address, clock);
}
