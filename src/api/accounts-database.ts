import { closeAfter } from '../core/close-after.ts';
import { translateErrors } from '../core/errors.ts';
import { openConnection } from '../destination/postgres/open-connection.ts';
import { WAITING, withRetry } from '../destination/postgres/retry.ts';
import { addressOf, givenAddress } from '../settings/addresses/mirror-address.ts';
import { OptionError } from '../settings/option-error.ts';
import type { MirrorOptions } from '../settings/options.ts';
import { openWorkDatabase, type WorkDatabase } from '../workers/database.ts';
import { accountsVersion, migrateAccounts } from '../workers/migrate.ts';

/** Opens the accounts' database, with their tables; the caller closes it. @throws SyncError */
export async function openAccountsDatabase(
  options: MirrorOptions,
  onLost?: (error: Error) => void,
): Promise<WorkDatabase> {
  const database = await connectTo(options, onLost);
  try {
    await withRetry(WAITING, () => migrateAccounts(database));
    return database;
  } catch (error) {
    await database.close();
    throw database.explain(error);
  }
}

export async function withAccountsDatabase<Done>(
  options: MirrorOptions,
  work: (database: WorkDatabase) => Promise<Done>,
): Promise<Done> {
  return closeExplained(await openAccountsDatabase(options), work);
}

/** Reads the accounts without creating their tables; `none` if there are no tables. @throws SyncError */
export async function readAccountsDatabase<Done>(
  options: MirrorOptions,
  { read, none }: { read: (database: WorkDatabase) => Promise<Done>; none: Done },
): Promise<Done> {
  return closeExplained(await connectTo(options), async (database) => {
    if ((await accountsVersion(database)) === 0) return none;
    await migrateAccounts(database);
    return read(database);
  });
}

function closeExplained<Done>(database: WorkDatabase, work: (database: WorkDatabase) => Promise<Done>): Promise<Done> {
  return translateErrors(closeAfter(database, work), database.explain);
}

async function connectTo(options: MirrorOptions, onLost?: (error: Error) => void): Promise<WorkDatabase> {
  const address = addressOf(givenAddress(options));
  if (address.kind === 'file')
    throw new OptionError(
      options.dbFile === undefined ? 'db' : 'dbFile',
      `accounts are kept in PostgreSQL, and ${address.display} is a file: name the database with --db postgres://user@host/database`,
    );
  // Explains what is wrong with the server, if anything is, and retries if the connection is lost.
  await (await openConnection(address)).close();
  return openWorkDatabase(address, onLost);
}

/** The same address with another schema. It may contain a password. @throws SyncError `usage` for an invalid schema */
export function withSchema(address: string, schema: string): string {
  const [place = '', ...query] = address.trim().split('?');
  const given = query.join('?').split('&');
  const others = given.filter((each) => each !== '' && !each.startsWith('schema='));
  const named = `${place}?${[...others, `schema=${schema}`].join('&')}`;
  addressOf(named);
  return named;
}
