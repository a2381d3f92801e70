import { resolve } from 'node:path';
import { usageError } from '../core/errors.ts';
import { cronRules } from '../settings/cron-rules.ts';
import { OptionError } from '../settings/option-error.ts';
import { OPTIONS, type OptionEntry, REQUEST_OPTIONS, RETENTION_OPTIONS } from '../settings/option-table.ts';
import type { OptionsNamed } from '../settings/options.ts';
import { readTextFile } from '../settings/read-text-file.ts';
import { type SyncSettings, syncSettings } from '../settings/sync-settings.ts';
import type { SyncAccount } from '../workers/account-store.ts';
import { TokenNotOnHostError } from '../workers/perform-job.ts';
import { withSchema } from './accounts-database.ts';

/** The options of an account's syncs: those of `sync` that do not apply to a single run. */
const ACCOUNT_SYNC_OPTIONS = [...REQUEST_OPTIONS, ...RETENTION_OPTIONS, 'history', 'fullEvery', 'grace'] as const;

/** An account: its service, where to find its token (`tokenEnv` or `tokenFile`), and how to sync it. */
export interface AccountOptions
  extends OptionsNamed<(typeof ACCOUNT_SYNC_OPTIONS)[number] | 'tokenEnv' | 'tokenFile' | 'schema' | 'cron' | 'delay'> {
  readonly name: string;
  /** Address of the service, before `/public/beta`. */
  readonly baseUrl: string;
}

/** Validates an account's options; `address` is that of the database. @throws SyncError `usage` */
export function accountFrom(given: AccountOptions, address: string): SyncAccount {
  const name = checkAccountName(given.name);
  const schema = given.schema ?? defaultSchema(name);
  withSchema(address, schema);
  if (schema === 'public')
    throw new OptionError('schema', 'any program may use the schema public: name another one with --schema');
  // Defaults are not stored: a later version may change them.
  const isSet = (option: (typeof ACCOUNT_SYNC_OPTIONS)[number]): boolean =>
    given[option] !== undefined && given[option] !== (OPTIONS[option] as OptionEntry).default;
  const options = Object.fromEntries(
    ACCOUNT_SYNC_OPTIONS.filter(isSet).map((option) => [
      option,
      // Workers run in other folders, so the path must be absolute.
      option === 'caFile' ? resolve(String(given.caFile)) : given[option],
    ]),
  );
  // Files are those of the workers' hosts.
  const { baseUrl } = syncSettings({ baseUrl: given.baseUrl, ...options, caFile: undefined, token: 'not-looked-up' });
  const { cron, delaySeconds } = cronRules(given);
  return {
    name,
    base_url: baseUrl,
    ...tokenLocation(given),
    mirror_schema: schema,
    cron,
    delay_seconds: delaySeconds,
    options,
  };
}

/** Names appear in messages, in tables and on command lines. */
const NAME = /^[\p{L}\p{N}](?:[\p{L}\p{N} ._@/-]{0,98}[\p{L}\p{N}])?$/u;

export function checkAccountName(given: unknown): string {
  if (typeof given === 'string' && NAME.test(given)) return given;
  throw new OptionError(
    'name',
    given === undefined || given === ''
      ? 'no account name: write it after the action, as in obsync accounts add shop'
      : 'the account name is invalid: use at most 100 letters, digits, blanks and . _ - @ /, with a letter or digit at both ends',
  );
}

/** @throws OptionError if the name has no letter or digit that a schema name allows */
function defaultSchema(name: string): string {
  const plain = name.normalize('NFKD').toLowerCase().replaceAll(/\p{M}/gu, '');
  const words = plain.replaceAll(/[^a-z0-9]+/g, '_').replaceAll(/^_|_$/g, '');
  if (words !== '') return `obsync_${words}`.slice(0, 63);
  throw new OptionError('schema', `cannot derive a schema name from ${name}: name one with --schema`);
}

/** Variables must be in capitals, so a token given by mistake is not stored as a name (R25). */
const VARIABLE = /^[A-Z_][A-Z0-9_]*$/;

/** Variables that may contain the database's password. */
const OTHER_SECRETS = /^(?:PG|OBSYNC_DB)/;

function tokenLocation({ tokenEnv, tokenFile }: AccountOptions): Pick<SyncAccount, 'token_env' | 'token_file'> {
  if ((tokenEnv === undefined) === (tokenFile === undefined))
    throw usageError('an account needs exactly one token location: pass --token-env or --token-file');
  if (tokenEnv !== undefined && OTHER_SECRETS.test(tokenEnv))
    throw new OptionError(
      'tokenEnv',
      `--token-env cannot be ${tokenEnv}, a secret of the database that would be sent to the service: name another variable`,
    );
  if (tokenEnv !== undefined && !VARIABLE.test(tokenEnv))
    throw new OptionError(
      'tokenEnv',
      '--token-env needs the name of a variable, in capitals, such as SHOP_TOKEN: never the token itself',
    );
  // Workers run in other folders, so the path must be absolute.
  return { token_env: tokenEnv ?? null, token_file: tokenFile === undefined ? null : resolve(tokenFile) };
}

/** The settings of an account's syncs, with its current token (R25). @throws TokenNotOnHostError */
export function settingsOfAccount(account: SyncAccount, address: string): SyncSettings {
  const { name, base_url: baseUrl, token_env: tokenEnv, token_file: tokenFile, mirror_schema, options } = account;
  const given = tokenEnv === null ? '' : (process.env[tokenEnv] ?? '');
  if (tokenEnv !== null && given.trim() === '')
    throw new TokenNotOnHostError(
      `the variable ${tokenEnv} with the token of account ${name} is not set: set it for every worker`,
    );
  try {
    if (tokenFile !== null) readTextFile(tokenFile);
  } catch (cause) {
    throw new TokenNotOnHostError(
      `the token file ${tokenFile} of account ${name} cannot be read: put it on the host of every worker`,
      { cause },
    );
  }
  return syncSettings({
    ...options,
    baseUrl,
    db: withSchema(address, mirror_schema),
    // An empty token counts as none: OBSYNC_TOKEN must not replace it.
    token: given,
    tokenFrom: tokenEnv ?? 'the account',
    tokenFile: tokenFile ?? undefined,
  });
}
