import type { Options as YargsOption } from 'yargs';
import { DEFAULTS, DEPTHS } from '../settings/defaults.ts';
import { STREAM_NAMES } from '../settings/select-streams.ts';

/** Every option of every command, by the name of its flag: `--full-every`, `OBSYNC_FULL_EVERY`, `fullEvery` in a config file. */
export const OPTIONS = {
  'base-url': { type: 'string', describe: 'address of the service, before /public/beta' },
  db: {
    type: 'string',
    default: DEFAULTS.db,
    describe: 'the mirror: a file, or postgres://user@host/database?schema=name',
  },
  'db-file': {
    type: 'string',
    describe: 'file that holds the address of the mirror with its password, instead of --db',
  },
  'token-file': { type: 'string', describe: 'file that holds the access token (or set OBSYNC_TOKEN)' },
  'token-env': {
    type: 'string',
    describe: 'variable of the workers that holds the access token of the account, such as SHOP_TOKEN',
  },
  env: {
    type: 'string',
    array: true,
    describe: 'only these environments, by id or name (repeatable, or separated by commas)',
  },
  stream: {
    type: 'string',
    array: true,
    choices: STREAM_NAMES,
    coerce: splitAtCommas,
    describe: 'only these streams (repeatable, or separated by commas)',
  },
  full: {
    type: 'boolean',
    default: DEFAULTS.full,
    describe: 'scan every stream in full instead of reading its changes',
  },
  'full-every': { type: 'number', default: DEFAULTS.fullEvery, describe: 'days between full scans of a stream' },
  overlap: {
    type: 'number',
    default: DEFAULTS.overlap,
    describe: 'seconds by which each read of changes overlaps the previous one',
  },
  history: { type: 'boolean', default: DEFAULTS.history, describe: 'also mirror the history of test executions' },
  'page-size': { type: 'number', default: DEFAULTS.pageSize, describe: 'rows per request, 1 to 2000' },
  concurrency: {
    type: 'number',
    default: DEFAULTS.concurrency,
    describe: 'number of requests in flight at the same time',
  },
  retries: { type: 'number', default: DEFAULTS.retries, describe: 'number of retries of a failed request' },
  timeout: { type: 'number', default: DEFAULTS.timeout, describe: 'seconds until a request times out' },
  'statement-timeout': {
    type: 'number',
    default: DEFAULTS.statementTimeout,
    describe: 'seconds that the statement may take in PostgreSQL; 0: as long as it takes',
  },
  'max-wait': {
    type: 'number',
    default: DEFAULTS.maxWait,
    describe: 'seconds that a run waits for quota before it ends',
  },
  'max-requests': { type: 'number', describe: 'stop after this number of requests (exit 5); the next run continues' },
  'allow-shrink': {
    type: 'boolean',
    default: DEFAULTS.allowShrink,
    describe: 'apply the deletions that were held back',
  },
  'allow-http': {
    type: 'boolean',
    default: DEFAULTS.allowHttp,
    describe: 'send the token over plain http to other machines',
  },
  'log-level': {
    type: 'string',
    default: 'info',
    choices: ['fatal', 'error', 'warn', 'info', 'debug', 'trace'],
    describe: 'how much is logged',
  },
  verbose: { type: 'boolean', default: false, describe: 'also show the streams in which nothing changed' },
  json: { type: 'boolean', default: false, describe: 'print one JSON document on stdout' },
  config: { type: 'string', describe: 'JSON file of options, such as {"baseUrl": "https://…", "fullEvery": 14}' },
  cron: {
    type: 'string',
    describe: 'cron expression (UTC) for all environments; default: the cron expression of each environment',
  },
  delay: {
    type: 'number',
    default: DEFAULTS.delay,
    describe: 'seconds to wait after the time of an environment’s own cron expression, because the service syncs first',
  },
  schema: { type: 'string', describe: 'schema of the account’s mirror; default: obsync_ and the name of the account' },
  replace: { type: 'boolean', default: DEFAULTS.replace, describe: 'change the account if there is one of this name' },
  drop: { type: 'boolean', default: DEFAULTS.drop, describe: 'also drop the account’s mirror, with all its rows' },
  'metrics-port': {
    type: 'number',
    describe: 'port that serves metrics for Prometheus; 0 picks a free one; default: none',
  },
  'metrics-host': { type: 'string', default: DEFAULTS.metricsHost, describe: 'address that serves metrics' },
  all: { type: 'boolean', default: DEFAULTS.all, describe: 'show every account of the database, and its workers' },
  citus: {
    type: 'boolean',
    default: DEFAULTS.citus,
    describe: 'also distribute the tables over the nodes of Citus, by environment',
  },
  host: { type: 'string', default: DEFAULTS.host, describe: 'address to listen on' },
  port: { type: 'number', default: DEFAULTS.port, describe: 'port to listen on; 0 picks a free one' },
  tokens: {
    type: 'string',
    describe: 'JSON file of the accepted tokens and what each may see (see docs/serve.md); read again on SIGHUP',
  },
  'rate-limit': {
    type: 'string',
    default: DEFAULTS.rateLimit,
    describe: 'requests per token and window of seconds, minutes or hours (10/1s, 120/1m, 5000/1h), or off',
  },
  'dimension-weights': {
    type: 'string',
    describe: 'weight of each dimension in a total score, such as completeness=2,freshness=0.5 (default: 1 each)',
  },
  file: { type: 'string', alias: 'f', describe: 'file that holds the SQL statement; - reads it from stdin' },
  format: {
    type: 'string',
    choices: ['table', 'csv', 'json', 'ndjson'],
    describe: 'how rows are printed (default: table on a terminal, else csv)',
  },
  depth: {
    type: 'string',
    default: DEFAULTS.depth,
    choices: DEPTHS,
    describe:
      'what to compare: the number of tables (count, one request per environment), all ids (ids), or every field (rows); ' +
      'only rows finds every difference',
  },
  to: { type: 'string', describe: 'folder of the export; it is made if it does not exist' },
  against: {
    type: 'string',
    describe: 'folder of an export to compare with the mirror, instead of comparing the mirror with the source',
  },
  table: {
    type: 'string',
    array: true,
    coerce: splitAtCommas,
    describe: 'only these tables and views (repeatable, or separated by commas); default: all mirrored tables',
  },
  'max-failing': {
    type: 'number',
    describe: 'exit 1 if more tests fail than this number; the report is written nevertheless',
  },
  views: { type: 'boolean', default: DEFAULTS.views, describe: 'also export all views' },
  keep: {
    type: 'number',
    default: DEFAULTS.keep,
    describe: 'number of earlier exports whose files are kept, for readers that still go by their manifests',
  },
  repair: {
    type: 'boolean',
    default: DEFAULTS.repair,
    describe: 'repair the differences in the mirror, under the same lock as a sync',
  },
} as const satisfies Record<string, YargsOption>;

/** Takes strings only. A config file may hold other values; they are refused elsewhere. */
function splitAtCommas(given: readonly string[] | string): string[] {
  return [given].flat().flatMap((text) => text.split(',').map((part) => part.trim()));
}

/** Given instead of an SQL statement or of its file: the statement is read from stdin. */
export const STDIN = '-';

export type OptionName = keyof typeof OPTIONS;

/** The flags of a command, for yargs. */
export function pick<Name extends OptionName>(...names: readonly Name[]): Pick<typeof OPTIONS, Name> {
  return Object.fromEntries(names.map((name) => [name, OPTIONS[name]])) as Pick<typeof OPTIONS, Name>;
}
