import { resolve } from 'node:path';
import { SyncError } from '../core/errors.ts';
import { cronRules } from '../settings/cron-rules.ts';
import { OptionError } from '../settings/option-error.ts';
import { OPTIONS, type OptionEntry } from '../settings/option-table.ts';
import type { OptionsNamed } from '../settings/options.ts';
import { readTextFile } from '../settings/read-text-file.ts';
import { type SyncSettings, syncSettings } from '../settings/sync-settings.ts';
import type { SyncAccount } from '../workers/account-store.ts';
import { TokenNotOnHostError } from '../workers/token-not-on-host.ts';
import { inSchema } from './accounts-database.ts';

/** The options of an account's syncs: those of `sync` that are not of one run. */
const OF_SYNCS = [
  'env',
  'stream',
  'history',
  'fullEvery',
  'overlap',
  'pageSize',
  'concurrency',
  'retries',
  'timeout',
  'maxWait',
  'maxRequests',
  'allowHttp',
] as const satisfies readonly (keyof typeof OPTIONS)[];

/** An account: where its service and its token are (`tokenEnv` or `tokenFile`), and how to sync it. */
export interface AccountOptions
  extends OptionsNamed<(typeof OF_SYNCS)[number] | 'tokenEnv' | 'tokenFile' | 'schema' | 'cron' | 'delay'> {
  /** What it is called here. */
  readonly name: string;
  /** Address of the service, before `/public/beta`. */
  readonly baseUrl: string;
}

/** Checks the options of an account. `address` is that of the database. @throws SyncError `usage` */
export function accountFrom(accountOptions: AccountOptions, address: string): SyncAccount {
  const name = nameOf(accountOptions.name);
  const schema = accountOptions.schema ?? usualSchema(name);
  inSchema(address, schema);
  if (schema === 'public')
    throw new OptionError('schema', 'the schema public may be used by anybody: name one of its own with --schema');
  const options = Object.fromEntries(
    OF_SYNCS.filter((option) => isSet(option, accountOptions[option])).map((option) => [
      option,
      accountOptions[option],
    ]),
  );
  const { baseUrl } = syncSettings({ baseUrl: accountOptions.baseUrl, ...options, token: 'not-looked-up' });
  const { cron, delaySeconds } = cronRules(accountOptions);
  return { name, baseUrl, ...tokenPlace(accountOptions), schema, cron, delaySeconds, options };
}

/** A default is not stored: it may be another one in a later version. */
function isSet(option: (typeof OF_SYNCS)[number], value: unknown): boolean {
  const { default: defaultValue }: OptionEntry = OPTIONS[option];
  return value !== undefined && value !== defaultValue;
}

/** A name stands in messages, in tables and on command lines. */
const NAME = /^[\p{L}\p{N}](?:[\p{L}\p{N} ._@/-]{0,98}[\p{L}\p{N}])?$/u;

export function nameOf(given: unknown): string {
  if (typeof given === 'string' && NAME.test(given)) return given;
  throw new OptionError(
    'name',
    given === undefined || given === ''
      ? 'no account: write its name after the action, as in obsync accounts add shop'
      : 'the name of the account is not valid: use letters, digits and . _ - @ / or blanks between them, 100 at most',
  );
}

/** @throws OptionError if the name has no letter or digit that a schema may have */
function usualSchema(name: string): string {
  const plain = name.normalize('NFKD').toLowerCase().replaceAll(/\p{M}/gu, '');
  const words = plain.replaceAll(/[^a-z0-9]+/g, '_').replaceAll(/^_|_$/g, '');
  if (words !== '') return `obsync_${words}`.slice(0, 63);
  throw new OptionError('schema', `no schema can be named after ${name}: name one with --schema`);
}

/** Variables are written in capitals: a token that somebody gives by mistake is not stored as one (R25). */
const VARIABLE = /^[A-Z_][A-Z0-9_]*$/;

/** Variables that may hold the password of the database. */
const OTHER_SECRETS = /^(?:PG|OBSYNC_DB)/;

function tokenPlace({ tokenEnv, tokenFile }: AccountOptions): Pick<SyncAccount, 'tokenEnv' | 'tokenFile'> {
  if ((tokenEnv === undefined) === (tokenFile === undefined))
    throw new SyncError(
      'usage',
      'an account needs one place of its token: name a variable with --token-env or a file with --token-file',
    );
  if (tokenEnv !== undefined && OTHER_SECRETS.test(tokenEnv))
    throw new OptionError('tokenEnv', `--token-env cannot be ${tokenEnv}, which is for the database: it would be sent`);
  if (tokenEnv !== undefined && !VARIABLE.test(tokenEnv))
    throw new OptionError(
      'tokenEnv',
      '--token-env needs the name of a variable, in capitals, such as SHOP_TOKEN: never the token itself',
    );
  // Workers run in other folders.
  return { tokenEnv: tokenEnv ?? null, tokenFile: tokenFile === undefined ? null : resolve(tokenFile) };
}

/**
 * The settings of an account's syncs, with its token as it is now (R25).
 * @throws TokenNotOnHostError if it is not found
 */
export function settingsOfAccount(account: SyncAccount, address: string): SyncSettings {
  const { name, baseUrl, tokenEnv, tokenFile, schema, options } = account;
  const given = tokenEnv === null ? '' : (process.env[tokenEnv] ?? '');
  if (tokenEnv !== null && given.trim() === '')
    throw new TokenNotOnHostError(
      `the variable ${tokenEnv} is not set, which holds the token of account ${name}: set it for every worker`,
    );
  if (tokenFile !== null) checkReadable(tokenFile, name);
  return syncSettings({
    ...options,
    baseUrl,
    db: inSchema(address, schema),
    // An empty token is none: another one in OBSYNC_TOKEN does not count.
    token: given,
    tokenFrom: tokenEnv ?? 'the account',
    tokenFile: tokenFile ?? undefined,
  });
}

function checkReadable(tokenFile: string, name: string): void {
  try {
    readTextFile(tokenFile);
  } catch (cause) {
    throw new TokenNotOnHostError(
      `the token file ${tokenFile} of account ${name} cannot be read: every worker needs it on its own host`,
      { cause },
    );
  }
}
