import { openConnection } from '../destination/postgres/open-connection.ts';
import { WAITING, withRetry } from '../destination/postgres/retry.ts';
import { addressOf, givenAddress } from '../settings/addresses/mirror-address.ts';
import { OptionError } from '../settings/option-error.ts';
import type { MirrorOptions } from '../settings/options.ts';
import { openWorkDatabase, type WorkConnections, type WorkDatabase } from '../workers/database.ts';
import { hasAccounts, migrateAccounts } from '../workers/migrate.ts';

/**
 * Opens the database that holds the accounts, and makes their tables where they are missing. The caller closes it.
 * @throws SyncError
 */
export async function openAccountsDatabase(
  mirrorOptions: MirrorOptions,
  workConnections?: WorkConnections,
): Promise<WorkDatabase> {
  const database = await connectTo(mirrorOptions, workConnections);
  try {
    await withRetry(WAITING, () => migrateAccounts(database));
    return database;
  } catch (error) {
    await database.close();
    throw database.explain(error);
  }
}

/** Does something in the database and closes it. @throws SyncError */
export async function withAccountsDatabase<Done>(
  mirrorOptions: MirrorOptions,
  work: (workDatabase: WorkDatabase) => Promise<Done>,
): Promise<Done> {
  return closing(await openAccountsDatabase(mirrorOptions), work);
}

/**
 * Reads the accounts, and makes no tables for that.
 * @returns `none` where nobody has made them yet.
 * @throws SyncError
 */
export async function readAccountsDatabase<Done>(
  mirrorOptions: MirrorOptions,
  { read, none }: { read: (workDatabase: WorkDatabase) => Promise<Done>; none: Done },
): Promise<Done> {
  return closing(await connectTo(mirrorOptions), async (database) => {
    if (!(await hasAccounts(database))) return none;
    await migrateAccounts(database);
    return read(database);
  });
}

async function closing<Done>(
  workDatabase: WorkDatabase,
  work: (workDatabase: WorkDatabase) => Promise<Done>,
): Promise<Done> {
  try {
    return await work(workDatabase);
  } catch (error) {
    throw workDatabase.explain(error);
  } finally {
    await workDatabase.close();
  }
}

async function connectTo(mirrorOptions: MirrorOptions, workConnections?: WorkConnections): Promise<WorkDatabase> {
  const address = addressOf(givenAddress(mirrorOptions));
  if (address.kind === 'file')
    throw new OptionError(
      mirrorOptions.dbFile === undefined ? 'db' : 'dbFile',
      `accounts are kept in PostgreSQL, and ${address.display} is a file: name the database with --db postgres://user@host/database`,
    );
  // Says what is wrong with the server, if anything is, and tries again if the connection is lost.
  await (await openConnection(address)).close();
  return openWorkDatabase(address, workConnections);
}

/**
 * The address of the mirror in another schema of the same database. It may hold a password.
 * @throws SyncError `usage` for no valid name
 */
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
