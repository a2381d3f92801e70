import type { DistributionReport, MirrorChange } from '../destination/mirror-store.ts';
import { givenAddress } from '../settings/addresses/mirror-address.ts';
import { checkOptions } from '../settings/check-options.ts';
import { OptionError } from '../settings/option-error.ts';
import type { OptionsNamed } from '../settings/options.ts';
import { openStore, refuseNetworkFs } from './open-store.ts';

export type MigrateOptions = OptionsNamed<'db' | 'dbFile' | 'allowNetworkFs' | 'citus'>;

export interface MigrateReport {
  /** The mirror; an address in PostgreSQL without its password. */
  readonly db: string;
  readonly change: MirrorChange;
  /** Where the tables are, with `citus`; else null. */
  readonly citus: DistributionReport | null;
}

/** Migrates a mirror, as every run does first, or creates it, and reports what was done. @throws SyncError */
export async function migrate(options: MigrateOptions = {}): Promise<MigrateReport> {
  checkOptions(options);
  const db = givenAddress(options);
  refuseNetworkFs({ ...options, db });
  const store = await openStore(db);
  const distribution = options.citus === true ? store.distribution : null;
  if (options.citus === true && distribution === null)
    throw new OptionError(
      'citus',
      `--citus needs a mirror in PostgreSQL, and ${store.display} is a file: leave it out`,
    );
  await distribution?.check();
  const change = await store.bringUpToDate();
  const citus = distribution === null ? null : await distribution.distribute();
  return { db: store.display, change, citus };
}
