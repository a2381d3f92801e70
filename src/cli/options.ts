import type { Options as YargsOption } from 'yargs';
import { STREAM_NAMES } from '../core/stream.ts';
import { DEFAULTS, DEPTHS } from '../library/defaults.ts';

/** Every option of every command, by the name of its flag: `--full-every`, `OBSYNC_FULL_EVERY`, `fullEvery` in a config file. */
export const OPTIONS = {
  'base-url': { type: 'string', describe: 'address of the service, before /public/beta' },
  db: { type: 'string', default: DEFAULTS.db, describe: 'the mirror file' },
  'token-file': { type: 'string', describe: 'file that holds the access token (or set OBSYNC_TOKEN)' },
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
  full: { type: 'boolean', default: DEFAULTS.full, describe: 'scan everything anew instead of reading the changes' },
  'full-every': { type: 'number', default: DEFAULTS.fullEvery, describe: 'days after which a stream is scanned anew' },
  overlap: {
    type: 'number',
    default: DEFAULTS.overlap,
    describe: 'seconds that each read of changes reaches back beyond the last',
  },
  history: { type: 'boolean', default: DEFAULTS.history, describe: 'mirror the history of test executions as well' },
  'page-size': { type: 'number', default: DEFAULTS.pageSize, describe: 'rows per request, 1 to 2000' },
  concurrency: { type: 'number', default: DEFAULTS.concurrency, describe: 'requests in flight at once' },
  retries: { type: 'number', default: DEFAULTS.retries, describe: 'further tries of a request that failed' },
  timeout: { type: 'number', default: DEFAULTS.timeout, describe: 'seconds a request may take' },
  'max-wait': {
    type: 'number',
    default: DEFAULTS.maxWait,
    describe: 'seconds a run waits for quota before it gives up',
  },
  'max-requests': { type: 'number', describe: 'requests after which a run stops (exit 5); the next one goes on' },
  'allow-shrink': { type: 'boolean', default: DEFAULTS.allowShrink, describe: 'let removals go that were held back' },
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
  verbose: { type: 'boolean', default: false, describe: 'show the streams in which nothing changed as well' },
  json: { type: 'boolean', default: false, describe: 'print one JSON document on stdout' },
  config: { type: 'string', describe: 'JSON file of options, such as {"baseUrl": "https://…", "fullEvery": 14}' },
  cron: {
    type: 'string',
    describe: 'when to sync, as a cron expression (UTC), for every environment; otherwise on each one’s own',
  },
  delay: {
    type: 'number',
    default: DEFAULTS.delay,
    describe: 'seconds to wait after the environment’s own cron: the service syncs first',
  },
  host: { type: 'string', default: DEFAULTS.host, describe: 'address to listen on' },
  port: { type: 'number', default: DEFAULTS.port, describe: 'port to listen on; 0 picks a free one' },
  tokens: {
    type: 'string',
    describe: 'JSON file of the tokens that are let in and what each may see (see the README), read again on SIGHUP',
  },
  'rate-limit': {
    type: 'string',
    default: DEFAULTS.rateLimit,
    describe: 'requests of each token in a window of seconds, minutes or hours (10/1s, 120/1m, 5000/1h), or off',
  },
  'dimension-weights': {
    type: 'string',
    describe: 'how much each dimension counts in a total, such as completeness=2,freshness=0.5 (default: 1 each)',
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
      'how closely to look: how many tables there are (a request per environment), the ids of everything, or every field; ' +
      'only rows answers the whole question',
  },
  repair: { type: 'boolean', default: DEFAULTS.repair, describe: 'write what was found, under the lock of a sync' },
} as const satisfies Record<string, YargsOption>;

/** Of texts alone: what else a config file may hold is refused for itself. */
function splitAtCommas(given: readonly string[] | string): string[] {
  return [given].flat().flatMap((text) => text.split(',').map((part) => part.trim()));
}

/** In place of an SQL statement, or of its file: it is read from stdin. */
export const STDIN = '-';

export type OptionName = keyof typeof OPTIONS;

/** The flags of a command, for yargs. */
export function pick<Name extends OptionName>(...names: readonly Name[]): Pick<typeof OPTIONS, Name> {
  return Object.fromEntries(names.map((name) => [name, OPTIONS[name]])) as Pick<typeof OPTIONS, Name>;
}
