import { DEFAULTS, EXPORT_FORMATS } from '../settings/defaults.ts';
import type { CliCommand } from './command.ts';
import { OPTIONS, pick } from './options.ts';
import { SYNC_OPTIONS } from './sync-options.ts';

const VERIFY_OPTIONS = {
  ...pick(
    'base-url',
    'db',
    'db-file',
    'token-file',
    'env',
    'stream',
    'depth',
    'repair',
    'overlap',
    'page-size',
    'concurrency',
  ),
  ...pick('retries', 'timeout', 'max-wait'),
  'max-requests': {
    ...OPTIONS['max-requests'],
    describe: 'stop after this number of requests (exit 5) and report what was found and what was not compared',
  },
  ...pick('allow-http', 'against', 'log-level', 'json', 'config'),
} as const;

const EXPORT_OPTIONS = {
  ...pick('db', 'db-file', 'to'),
  format: {
    type: 'string',
    default: DEFAULTS.format,
    choices: EXPORT_FORMATS,
    describe: 'format of the files; delta: Delta tables over Parquet files',
  },
  ...pick('table', 'views', 'env', 'keep', 'log-level', 'json', 'config'),
} as const;

const DEMO_OPTIONS = {
  db: { ...OPTIONS.db, default: 'demo.db' },
  keep: {
    type: 'boolean',
    default: false,
    describe: 'go on until stopped: the source keeps changing, syncs follow, and a page shows the mirror',
  },
  ...pick('log-level', 'config'),
} as const;

const FOLDER_OF_FILES = 'folder of the files; it is made if it does not exist';

const ACCOUNTS_OPTIONS = {
  ...pick('db', 'db-file', 'base-url', 'token-env'),
  'token-file': {
    ...OPTIONS['token-file'],
    describe: 'file on the workers’ hosts that holds the access token of the account',
  },
  ...pick('schema', 'cron', 'delay', 'env', 'stream', 'history', 'full-every', 'overlap', 'page-size', 'concurrency'),
  ...pick('retries', 'timeout', 'max-wait', 'max-requests', 'allow-http', 'replace', 'drop', 'json', 'config'),
} as const;

/** Every command. Its code is loaded when it runs: help needs none of it, and no command needs the code of another. */
export const COMMANDS: readonly CliCommand[] = [
  {
    name: 'sync',
    describe: 'bring the mirror up to date, once',
    options: { ...SYNC_OPTIONS, ...pick('verbose', 'json') },
    run: async (args, io) => (await import('./sync.ts')).sync(args, io),
  },
  {
    name: 'plan',
    describe:
      'show how many requests the next sync needs, how long it waits for quota, and why; requests only the list of environments',
    options: { ...SYNC_OPTIONS, ...pick('json') },
    run: async (args, io) => (await import('./plan.ts')).plan(args, io),
  },
  {
    name: 'schedule',
    describe: 'bring the mirror up to date on a schedule (cron expressions in UTC), until stopped',
    options: { ...SYNC_OPTIONS, ...pick('cron', 'delay') },
    run: async (args, io) => (await import('./schedule.ts')).schedule(args, io),
  },
  {
    name: 'status',
    describe: 'show what is mirrored, how fresh it is, and the last problems; reads only the file',
    options: pick('db', 'db-file', 'all', 'json', 'config'),
    run: async (args, io) => (await import('./status.ts')).status(args, io),
  },
  {
    name: 'verify',
    describe:
      'compare the mirror with the source now: what is missing, extra or unequal (exit 0 equal, 1 not); with --against, an export with the mirror',
    options: VERIFY_OPTIONS,
    run: async (args, io) =>
      args['against'] === undefined
        ? (await import('./verify.ts')).verify(args, io)
        : (await import('./verify-export.ts')).verifyAgainst(args, io),
  },
  {
    name: 'query',
    describe: 'run one read-only SQL statement on the mirror',
    options: pick('db', 'db-file', 'file', 'format', 'statement-timeout', 'config'),
    argument: { name: 'sql', describe: 'the statement, such as "select * from failing_tests"; - reads it from stdin' },
    run: async (args, io) => (await import('./query.ts')).query(args, io),
  },
  {
    name: 'describe',
    describe: 'show what the tables and views of a mirror and their columns mean; needs no mirror',
    options: pick('json', 'config'),
    argument: { name: 'table', describe: 'one table or view, with its columns' },
    run: async (args, io) => (await import('./describe.ts')).describe(args, io),
  },
  {
    name: 'export',
    describe:
      'write the tables of the mirror, as of one instant, as Parquet, CSV or NDJSON files or as Delta tables; only what has changed',
    options: EXPORT_OPTIONS,
    run: async (args, io) => (await import('./export.ts')).exportTo(args, io),
  },
  {
    name: 'copy',
    describe:
      'copy the mirror with all its state, as of one instant, into a new file or into PostgreSQL; the next sync into the copy goes on',
    options: {
      ...pick('db', 'db-file'),
      to: {
        type: 'string',
        describe: 'where the copy is made: a new file, or postgres://user@host/database?schema=name',
      },
      ...pick('log-level', 'json', 'config'),
    },
    run: async (args, io) => (await import('./copy.ts')).copyTo(args, io),
  },
  {
    name: 'migrate',
    describe:
      'bring the tables of the mirror up to date, as every sync does first; with --citus, distribute them by environment',
    options: pick('db', 'db-file', 'citus', 'json', 'config'),
    run: async (args, io) => (await import('./migrate.ts')).migrate(args, io),
  },
  {
    name: 'bi',
    describe:
      'write files by which other tools know the mirror: descriptions and tests for dbt, a semantic model, dashboards; needs no mirror',
    options: { ...pick('db', 'db-file'), to: { ...OPTIONS.to, describe: FOLDER_OF_FILES }, ...pick('json', 'config') },
    argument: { name: 'tool', describe: 'dbt, semantic, grafana, superset or metabase' },
    run: async (args, io) => (await import('./bi.ts')).bi(args, io),
  },
  {
    name: 'serve',
    describe:
      'serve the mirror as the read API of the source, to the token in OBSYNC_SERVE_TOKEN and those of --tokens',
    options: pick('db', 'db-file', 'host', 'port', 'tokens', 'rate-limit', 'dimension-weights', 'log-level', 'config'),
    run: async (args, io) => (await import('./serve-mirror.ts')).serveMirror(args, io),
  },
  {
    name: 'report',
    describe: 'write what the page of serve shows, as of one instant, as one HTML file that needs no server',
    options: {
      ...pick('db', 'db-file'),
      to: { type: 'string', describe: 'the file to write, such as report.html' },
      ...pick('env', 'max-failing', 'json', 'config'),
    },
    run: async (args, io) => (await import('./report.ts')).report(args, io),
  },
  {
    name: 'accounts',
    describe: 'keep the accounts that workers sync, in PostgreSQL: add, list, remove or test one',
    options: ACCOUNTS_OPTIONS,
    argument: [
      { name: 'action', describe: 'add, list, remove, or test (asks the service for the environments of the account)' },
      { name: 'account', describe: 'the name of the account' },
    ],
    run: async (args, io) => (await import('./accounts.ts')).accounts(args, io),
  },
  {
    name: 'worker',
    describe: 'sync the accounts of a database when they are due, together with other workers, until stopped',
    options: {
      ...pick('db', 'db-file'),
      concurrency: { ...OPTIONS.concurrency, describe: 'number of syncs at the same time' },
      ...pick('metrics-port', 'metrics-host', 'log-level', 'config'),
    },
    run: async (args, io) => (await import('./worker.ts')).worker(args, io),
  },
  {
    name: 'demo',
    describe: 'make a sample source, sync it twice with changes in between, and query the mirror',
    options: DEMO_OPTIONS,
    run: async (args, io) => (await import('./demo.ts')).demo(args, io),
  },
];
