import { wantedOf } from '../core/schedule/wanted-environments.ts';
import type { Instant } from '../core/time/instant.ts';
import { givenAddress } from '../settings/addresses/mirror-address.ts';
import { checkOptions } from '../settings/check-options.ts';
import type { MirrorOptions, OptionsNamed } from '../settings/options.ts';
import { clock, watchOf } from '../settings/sync-settings.ts';
import { nextTick } from '../sync/schedule-cron.ts';
import {
  deleteAccount,
  findAccount,
  loadAccounts,
  noAccount,
  requestListing,
  type SyncAccount,
  storeAccount,
} from '../workers/account-store.ts';
import { dueAfter } from '../workers/due-time.ts';
import { type AccountOptions, accountFrom, checkAccountName, settingsOfAccount } from './account-settings.ts';
import { readAccountsDatabase, withAccountsDatabase } from './accounts-database.ts';
import { dropMirror } from './drop-mirror.ts';
import { requestEnvironments } from './session.ts';

export interface AddAccountOptions extends AccountOptions, OptionsNamed<'db' | 'dbFile' | 'replace'> {}

export interface NamedAccountOptions extends MirrorOptions {
  readonly name: string;
}

export interface RemoveAccountOptions extends NamedAccountOptions, OptionsNamed<'drop'> {}

/** An account; `accounts add --json` prints it. */
export interface AccountReport {
  readonly account: string;
  readonly base_url: string;
  /** The variable that contains the token; null if a file does. */
  readonly token_env: string | null;
  readonly token_file: string | null;
  readonly schema: string;
  readonly cron: string | null;
  readonly delay: number;
  /** The options of its syncs, named as in a config file. */
  readonly options: Readonly<Record<string, unknown>>;
}

export interface ListedAccount extends AccountReport {
  readonly added_at: Instant;
  /** The number of its environments; null until a worker has listed them. */
  readonly environments: number | null;
  /** Why the last listing of its environments failed; null if it succeeded. */
  readonly error: string | null;
}

export interface AccountListReport {
  readonly accounts: readonly ListedAccount[];
}

/** The environments that the service lists for an account; `accounts test --json` prints it. */
export interface AccountTestReport {
  readonly account: string;
  readonly base_url: string;
  readonly environments: readonly TestedEnvironment[];
  /** The selected environments that the service does not list. */
  readonly unknown: readonly string[];
}

export interface TestedEnvironment {
  readonly env_id: string;
  readonly environment: string;
  /** Its own cron expression. */
  readonly cron: string | null;
  /** Whether the account selects it. */
  readonly wanted: boolean;
  /** When workers sync it next; null if they never do. */
  readonly next_run: Instant | null;
}

/** Adds an account for workers to sync. The token is not looked up. @throws SyncError */
export async function addAccount(options: AddAccountOptions): Promise<AccountReport & { readonly replaced: boolean }> {
  checkOptions(options);
  const account = accountFrom(options, givenAddress(options));
  const replaced = await withAccountsDatabase(options, (database) =>
    storeAccount(database, account, { replace: options.replace ?? false }),
  );
  return { ...reportOf(account), replaced };
}

/** Lists the accounts that workers sync. Creates nothing if there are none. @throws SyncError */
export async function listAccounts(options: MirrorOptions = {}): Promise<AccountListReport> {
  checkOptions(options);
  const accounts = await readAccountsDatabase(options, { read: loadAccounts, none: [] });
  return {
    accounts: accounts.map(({ added_at, environments, listing_error: error, ...account }) => ({
      ...reportOf(account),
      ...{ added_at, environments, error },
    })),
  };
}

/** Removes an account. Its mirror stays unless `drop` is set. @throws SyncError */
export async function removeAccount(
  options: RemoveAccountOptions,
): Promise<AccountReport & { readonly dropped: boolean }> {
  checkOptions(options);
  const [name, drop] = [checkAccountName(options.name), options.drop ?? false];
  const account = await withAccountsDatabase(options, (database) =>
    deleteAccount(database, name, drop ? dropMirror : null),
  );
  return { ...reportOf(account), dropped: drop };
}

/** Lists an account's environments at the service with its token, in one request. @throws SyncError */
export async function testAccount(options: NamedAccountOptions): Promise<AccountTestReport> {
  checkOptions(options);
  const name = checkAccountName(options.name);
  const account = await readAccountsDatabase(options, { read: (database) => findAccount(database, name), none: null });
  if (account === null) throw noAccount(name);
  const settings = settingsOfAccount(account, givenAddress(options));
  const { listed: environments } = await requestEnvironments(settings, watchOf({}));
  // Earlier failures should no longer delay the workers' next listing.
  await withAccountsDatabase(options, (database) => requestListing(database, name));
  const { chosen, unknown } = wantedOf(environments, settings.environments);
  const now = clock();
  const tested = environments.map((environment) => {
    const { id, name: environmentName, cron } = environment;
    const wanted = chosen.includes(environment);
    const next_run = wanted ? dueAfter(account, environment, now, { now, next: nextTick }) : null;
    return { env_id: id, environment: environmentName, cron, wanted, next_run };
  });
  return { account: name, base_url: account.base_url, environments: tested, unknown };
}

function reportOf(account: SyncAccount): AccountReport {
  return {
    account: account.name,
    base_url: account.base_url,
    token_env: account.token_env,
    token_file: account.token_file,
    schema: account.mirror_schema,
    cron: account.cron,
    delay: account.delay_seconds,
    options: account.options,
  };
}
