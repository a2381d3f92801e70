import { openWorkDatabase, type WorkDatabase } from '../workers/database.ts';
import { migrateAccounts } from '../workers/migrate.ts';
import { addressOf, givenAddress } from './mirror-address.ts';
import { OptionError } from './option-error.ts';
import type { MirrorOptions } from './options.ts';

/** Opens the database that holds the accounts, and makes their tables where they are missing. The caller closes it. @throws SyncError */
export async function openWorkPlace(
  mirrorOptions: MirrorOptions,
  onLost?: (error: Error) => void,
): Promise<WorkDatabase> {
  const address = addressOf(givenAddress(mirrorOptions));
  if (address.kind === 'file')
    throw new OptionError(
      mirrorOptions.dbFile === undefined ? 'db' : 'dbFile',
      `accounts are kept in PostgreSQL, and ${address.display} is a file: name the database with --db postgres://user@host/database`,
    );
  const database = openWorkDatabase(address, onLost);
  try {
    await migrateAccounts(database);
    return database;
  } catch (error) {
    await database.close();
    throw database.explain(error);
  }
}

/** Does something in the database and closes it. @throws SyncError */
export async function inWorkPlace<Done>(
  mirrorOptions: MirrorOptions,
  work: (workDatabase: WorkDatabase) => Promise<Done>,
): Promise<Done> {
  const database = await openWorkPlace(mirrorOptions);
  try {
    return await work(database);
  } catch (error) {
    throw database.explain(error);
  } finally {
    await database.close();
  }
}

/** The address of the mirror in another schema of the same database. It may hold a password. @throws SyncError `usage` for no valid name */
export function inSchema(address: string, schema: string): string {
  const [place = '', ...query] = address.split('?');
  const others = query
    .join('?')
    .split('&')
    .filter((each) => each !== '' && !each.startsWith('schema='));
  const named = `${place}?${[...others, `schema=${schema}`].join('&')}`;
  addressOf(named);
  return named;
}
