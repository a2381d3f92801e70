import type { MirrorChange } from '../core/mirror-change.ts';
import type { DistributionReport } from '../destination/postgres/citus.ts';
import { givenAddress } from '../settings/addresses/mirror-address.ts';
import { checkOptions } from '../settings/check-options.ts';
import type { MirrorOptions } from '../settings/options.ts';
import { storeOf } from './open-store.ts';

export interface MigrateOptions extends MirrorOptions {
  /** Also distributes the tables of a mirror in PostgreSQL over the nodes of Citus, by environment. */
  readonly citus?: boolean | undefined;
}

export interface MigrateReport {
  /** The mirror; an address in PostgreSQL without its password. */
  readonly db: string;
  readonly change: MirrorChange;
  /** Where the tables are, with `citus`; else null. */
  readonly citus: DistributionReport | null;
}

/**
 * Brings a mirror up to date, as every run does first, and says what was done. It makes the mirror if there is none. @throws SyncError
 */
export async function migrate(options: MigrateOptions = {}): Promise<MigrateReport> {
  checkOptions(options);
  const store = await storeOf(givenAddress(options));
  if (options.citus === true) await store.checkCitus();
  const change = await store.bringUpToDate();
  const citus = options.citus === true ? await store.distribute() : null;
  return { db: store.display, change, citus };
}
