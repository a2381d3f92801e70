import { COMMAND_OPTIONS, OPTIONS, REQUEST_OPTIONS, RETENTION_OPTIONS } from '../settings/option-table.ts';
import type { CliCommand } from './command.ts';

export const ALL_OPTIONS = { ...OPTIONS, ...COMMAND_OPTIONS };

function pick<Name extends keyof typeof ALL_OPTIONS>(...names: readonly Name[]): Pick<typeof ALL_OPTIONS, Name> {
  return Object.fromEntries(names.map((name) => [name, ALL_OPTIONS[name]])) as Pick<typeof ALL_OPTIONS, Name>;
}

const SYNC_OPTIONS = {
  ...pick('baseUrl', 'db', 'dbFile', 'tokenFile', ...REQUEST_OPTIONS),
  ...pick('full', 'fullEvery', 'history', 'allowShrink', 'grace', ...RETENTION_OPTIONS),
  ...pick('alerts', 'allowNetworkFs', 'logLevel', 'logFormat', 'config'),
};

const SERVE_OPTIONS = pick('replica', 'host', 'port', 'tokens', 'rateLimit', 'dimensionWeights');

/** Every command. Its code is loaded only when it runs: help needs none of it, and no command needs another's. */
export const COMMANDS: readonly CliCommand[] = [
  {
    name: 'sync',
    describe: 'bring the mirror up to date, once',
    options: { ...SYNC_OPTIONS, ...pick('textfile', 'quiet', 'verbose', 'json') },
    run: async (args, io) => (await import('./sync.ts')).syncCommand(args, io),
  },
  {
    name: 'plan',
    describe:
      'show how many requests the next sync needs, how long it waits for quota, and why; requests only the list of environments',
    options: { ...SYNC_OPTIONS, ...pick('replica', 'json') },
    run: async (args, io) => (await import('./plan.ts')).planCommand(args, io),
  },
  {
    name: 'doctor',
    describe:
      'check token, service, network, clock, quota, and the place of the mirror, with advice; sends at most four requests',
    options: {
      ...pick('baseUrl', 'db', 'dbFile', 'tokenFile', 'env', 'timeout', 'allowHttp', 'caFile', 'allowNetworkFs'),
      ...pick('json', 'config'),
    },
    run: async (args, io) => (await import('./doctor.ts')).doctorCommand(args, io),
  },
  {
    name: 'schedule',
    describe: 'bring the mirror up to date on a schedule (cron expressions in UTC), until stopped',
    options: {
      ...SYNC_OPTIONS,
      ...pick('cron', 'delay', 'metricsPort', 'metricsHost', 'textfile', 'serve'),
      ...SERVE_OPTIONS,
    },
    dependents: { metricsPort: ['metricsHost'], serve: Object.keys(SERVE_OPTIONS) },
    run: async (args, io) => (await import('./schedule.ts')).scheduleCommand(args, io),
  },
  {
    name: 'status',
    describe: 'show what is mirrored, how fresh it is, and the last problems; sends no requests',
    options: pick('db', 'dbFile', 'maxAge', 'all', 'json', 'config'),
    run: async (args, io) => (await import('./status.ts')).statusCommand(args, io),
  },
  {
    name: 'verify',
    describe:
      'compare the mirror with the source now: what is missing, extra or unequal (exit 0 if equal, else 1); with --against, compare an export with the mirror',
    options: {
      ...pick('baseUrl', 'db', 'dbFile', 'replica', 'tokenFile', ...REQUEST_OPTIONS),
      maxRequests: {
        ...OPTIONS.maxRequests,
        describe: 'stop after this number of requests (exit 5) and report what was found and what was not compared',
      },
      ...pick('depth', 'repair', 'allowNetworkFs', 'against', 'quiet'),
      verbose: { ...COMMAND_OPTIONS.verbose, describe: 'also list what the next sync fetches' },
      ...pick('logLevel', 'logFormat', 'json', 'config'),
    },
    run: async (args, io) =>
      args['against'] === undefined
        ? (await import('./verify.ts')).verifyCommand(args, io)
        : (await import('./verify-export.ts')).verifyExportCommand(args, io),
  },
  {
    name: 'query',
    describe: 'run one read-only SQL statement on the mirror',
    options: {
      ...pick('db', 'dbFile', 'file'),
      format: {
        type: 'string',
        choices: ['table', 'csv', 'json', 'ndjson'],
        describe: 'output format of the rows (default: table on a terminal, else csv)',
      },
      ...pick('statementTimeout', 'config'),
    },
    positionals: [
      { name: 'sql', describe: 'the statement, such as "select * from failing_tests"; - reads it from stdin' },
    ],
    run: async (args, io) => (await import('./query.ts')).queryCommand(args, io),
  },
  {
    name: 'describe',
    describe: 'show what the tables and views of a mirror and their columns mean; needs no mirror',
    options: pick('json', 'config'),
    positionals: [{ name: 'table', describe: 'one table or view, with its columns' }],
    run: async (args, io) => (await import('./describe.ts')).describeCommand(args, io),
  },
  {
    name: 'export',
    describe:
      'write the tables of the mirror, as of one instant, as Parquet, CSV or NDJSON files or as Delta tables; rewrites only what has changed',
    options: {
      ...pick('db', 'dbFile', 'replica', 'to', 'format', 'table', 'views', 'env', 'keep', 'targetSize'),
      ...pick('quiet', 'logLevel', 'logFormat', 'json', 'config'),
    },
    run: async (args, io) => (await import('./export.ts')).exportCommand(args, io),
  },
  {
    name: 'copy',
    describe:
      'copy the mirror with all its state, as of one instant, into a new file or into PostgreSQL; the next sync into the copy continues there; with --follow, keep a local replica of a mirror in PostgreSQL up to date until stopped',
    options: {
      ...pick('db', 'dbFile'),
      to: {
        type: 'string',
        describe:
          'where the copy is made: a new file, or postgres://user@host/database?schema=name, where no mirror is yet; ' +
          'with a password only in OBSYNC_TO',
      },
      ...pick('follow', 'allowNetworkFs', 'quiet', 'logLevel', 'logFormat', 'json', 'config'),
    },
    run: async (args, io) => (await import('./copy.ts')).copyCommand(args, io),
  },
  {
    name: 'backup',
    describe:
      'copy a mirror in a file, as of one instant, into one file that replaces an earlier backup; a sync may be writing meanwhile',
    options: pick('db', 'dbFile', 'quiet', 'logLevel', 'json', 'config'),
    positionals: [{ name: 'to', describe: 'the file of the backup, such as backup.db' }],
    run: async (args, io) => (await import('./backup.ts')).backupCommand(args, io),
  },
  {
    name: 'migrate',
    describe:
      'bring the tables of the mirror up to date, as every sync does first; with --citus, distribute them by environment',
    options: pick('db', 'dbFile', 'citus', 'allowNetworkFs', 'quiet', 'logLevel', 'json', 'config'),
    run: async (args, io) => (await import('./migrate.ts')).migrateCommand(args, io),
  },
  {
    name: 'compact',
    describe: 'return the space of pruned rows to the file system, while no sync runs; readers aren’t blocked',
    options: pick('db', 'dbFile', 'allowNetworkFs', 'quiet', 'logLevel', 'json', 'config'),
    run: async (args, io) => (await import('./compact.ts')).compactCommand(args, io),
  },
  {
    name: 'bi',
    describe:
      'write files that describe the mirror to other tools: descriptions and tests for dbt, a semantic model, dashboards, alerts; needs no mirror',
    options: {
      ...pick('db', 'dbFile'),
      to: { type: 'string', describe: 'folder of the files; created if it does not exist' },
      ...pick('semantic', 'pageUrl', 'quiet', 'logLevel', 'json', 'config'),
    },
    positionals: [{ name: 'tool', describe: 'dbt, semantic, grafana, superset, metabase, datasette or prometheus' }],
    run: async (args, io) => (await import('./bi.ts')).biCommand(args, io),
  },
  {
    name: 'serve',
    describe:
      'serve the mirror as the read API of the source, to clients with the token in OBSYNC_SERVE_TOKEN or one of --tokens',
    options: { ...pick('db', 'dbFile'), ...SERVE_OPTIONS, ...pick('logLevel', 'logFormat', 'config') },
    run: async (args, io) => (await import('./serve.ts')).serveCommand(args, io),
  },
  {
    name: 'report',
    describe: 'write the page of serve with its data, as of one instant, to one HTML file that needs no server',
    options: {
      ...pick('db', 'dbFile', 'replica'),
      to: { type: 'string', stdio: true, describe: 'the file to write, such as report.html; - writes to stdout' },
      ...pick('env', 'maxFailing', 'quiet', 'logLevel', 'json', 'config'),
    },
    run: async (args, io) => (await import('./report.ts')).reportCommand(args, io),
  },
  {
    name: 'accounts',
    describe: 'manage the accounts that workers sync, in PostgreSQL: add, list, remove or test one',
    options: {
      ...pick('db', 'dbFile', 'baseUrl', 'tokenEnv'),
      tokenFile: {
        ...OPTIONS.tokenFile,
        describe: 'file on the workers’ hosts that contains the access token of the account',
      },
      ...pick('schema', 'cron', 'delay', ...REQUEST_OPTIONS),
      ...pick('history', 'fullEvery', 'grace', ...RETENTION_OPTIONS, 'replace', 'drop', 'json', 'config'),
    },
    positionals: [
      { name: 'action', describe: 'add, list, remove, or test (lists the environments of the account at the service)' },
      { name: 'account', describe: 'the name of the account' },
    ],
    run: async (args, io) => (await import('./accounts.ts')).accountsCommand(args, io),
  },
  {
    name: 'alerts',
    describe: 'list the open alerts of the mirror, send a sample to the channels, or stop the reminders of an alert',
    options: {
      ...pick('db', 'dbFile', 'caFile', 'alerts'),
      all: { ...COMMAND_OPTIONS.all, describe: 'test: send a sample to every channel' },
      ...pick('for', 'allowNetworkFs', 'json', 'config'),
    },
    positionals: [
      { name: 'action', describe: 'list, test (sends a sample), or snooze' },
      { name: 'key', describe: 'test: the name of a channel; snooze: the key of an alert, or its beginning' },
    ],
    run: async (args, io) => (await import('./alerts.ts')).alertsCommand(args, io),
  },
  {
    name: 'worker',
    describe: 'sync the accounts of a database when they are due, together with other workers, until stopped',
    options: {
      ...pick('db', 'dbFile'),
      concurrency: { ...OPTIONS.concurrency, describe: 'number of syncs at the same time' },
      ...pick('metricsPort', 'metricsHost', 'alerts', 'logLevel', 'logFormat', 'config'),
    },
    dependents: { metricsPort: ['metricsHost'] },
    run: async (args, io) => (await import('./worker.ts')).workerCommand(args, io),
  },
  {
    name: 'demo',
    describe: 'make a sample source, sync it twice with changes in between, and query the mirror',
    options: {
      db: { ...OPTIONS.db, default: 'demo.db' },
      keep: {
        type: 'boolean',
        default: false,
        describe: 'keep running until stopped: the source changes, syncs follow, and a page shows the mirror',
      },
      ...pick('allowNetworkFs', 'logLevel', 'config'),
    },
    run: async (args, io) => (await import('./demo.ts')).demoCommand(args, io),
  },
];
