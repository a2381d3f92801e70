import {
  type AccountReport,
  type AccountTestReport,
  type AddAccountOptions,
  addAccount,
  type ListedAccount,
  listAccounts,
  type NamedAccountOptions,
  type RemoveAccountOptions,
  removeAccount,
  type TestedEnvironment,
  testAccount,
} from '../api/accounts.ts';
import { counted } from '../core/counted.ts';
import { usageError } from '../core/errors.ts';
import { type CommandArguments, commandOfActions } from './command.ts';
import { libraryOptions } from './library-options.ts';
import { printingCommand } from './print.ts';
import { type FittingColumn, renderFitting } from './rows-view.ts';
import { secondText } from './words.ts';

const add = printingCommand(
  (args) => addAccount({ ...libraryOptions<AddAccountOptions>(args), name: nameIn(args) }),
  (report) => {
    const { account, schema, replaced } = report;
    const next = `workers sync it into the schema ${schema}; run obsync accounts test ${account} to check it now`;
    return [`account ${account} ${replaced ? 'changed' : 'added'}: ${next}`, ...aboutToken(report), ''].join('\n');
  },
);

function aboutToken({ token_env, token_file }: AccountReport): string[] {
  if (token_file !== null) return [`each worker reads its token from ${token_file} on its own host`];
  if (token_env === null || (process.env[token_env] ?? '').trim() !== '') return [];
  return [`the variable ${token_env} is not set here: set it for every worker`];
}

const list = printingCommand(
  (args) => {
    if (args['account'] === undefined) return listAccounts(libraryOptions(args));
    throw usageError('accounts list takes no name: it lists all accounts');
  },
  ({ accounts: all }, width) =>
    all.length === 0 ? 'there are no accounts: add one with obsync accounts add\n' : renderAccounts(all, width),
);

const remove = printingCommand(
  (args) => removeAccount({ ...libraryOptions<RemoveAccountOptions>(args), name: nameIn(args) }),
  ({ account, schema, dropped }) =>
    dropped
      ? `account ${account} removed, with its mirror in the schema ${schema}\n`
      : `account ${account} removed; its mirror stays in the schema ${schema}\n`,
);

const test = printingCommand(
  (args) => testAccount({ ...libraryOptions<NamedAccountOptions>(args), name: nameIn(args) }),
  renderTest,
  ({ environments, unknown }) =>
    environments.some(({ next_run }) => next_run !== null) && unknown.length === 0 ? 0 : 1,
);

export const accountsCommand = commandOfActions('accounts', { add, list, remove, test });

/** The library reports a missing name. */
const nameIn = (args: CommandArguments) => args['account'] as string;

function renderAccounts(all: readonly ListedAccount[], width: number | null): string {
  const failures = all.flatMap(({ account, error }) => (error === null ? [] : [`${account}: ${error}`]));
  return [renderFitting(COLUMNS, all, width), ...failures, ''].join('\n');
}

const COLUMNS: readonly FittingColumn<ListedAccount>[] = [
  { head: 'account', cell: ({ account }) => account },
  { head: 'service', cell: ({ base_url }) => base_url },
  { head: 'token in', cell: ({ token_env, token_file }) => token_env ?? token_file ?? '', spare: 2 },
  { head: 'schema', cell: ({ schema }) => schema },
  { head: 'cron', cell: ({ cron }) => cron ?? 'of each environment', spare: 1 },
  { head: 'environments', cell: ({ environments }) => environments ?? 'not listed yet' },
];

function renderTest({ account, base_url, environments, unknown }: AccountTestReport, width: number | null): string {
  return [
    `${base_url} lists ${counted(environments.length, 'environment')} for account ${account}`,
    ...(environments.length === 0
      ? ['check the permissions of the token']
      : [renderFitting(TEST_COLUMNS, environments, width)]),
    ...unknown.map((name) => `the service lists no environment ${name}: correct --env`),
    '',
  ].join('\n');
}

const TEST_COLUMNS: readonly FittingColumn<TestedEnvironment>[] = [
  { head: 'environment', cell: ({ environment }) => environment },
  { head: 'id', cell: ({ env_id }) => env_id, spare: 1 },
  { head: 'cron', cell: ({ cron }) => cron ?? '' },
  { head: 'next run', cell: nextRunOf },
];

function nextRunOf({ wanted, next_run }: TestedEnvironment): string {
  if (!wanted) return 'never: not selected';
  return next_run === null ? 'never: no cron expression' : secondText(next_run);
}
