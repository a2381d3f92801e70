import { DAY_SECONDS } from '../core/time/duration.ts';
import { EXPORT_FORMATS } from '../export/formats.ts';
import { STREAM_NAMES } from '../streams/catalogue.ts';

/** The numbers that an option accepts: integers, unless it says otherwise. */
export interface NumberRange {
  readonly min: number;
  readonly max?: number;
  readonly whole?: boolean;
  /** A word that may stand for a number. */
  readonly word?: string;
}

export interface OptionEntry {
  /** An object has no flag and no variable: only the config file and programs can write it. */
  readonly type: 'string' | 'number' | 'boolean' | 'array' | 'object';
  readonly default?: string | number | boolean | undefined;
  readonly range?: NumberRange;
  readonly choices?: readonly string[];
  /** Whether one value may contain several, separated by commas. */
  readonly commas?: boolean;
  readonly alias?: string;
  /** Whether - stands for stdin or stdout. */
  readonly stdio?: boolean;
  readonly describe: string;
}

const flag = (describe: string) => ({ type: 'boolean', default: false, describe }) as const;

function text<const Details extends Pick<OptionEntry, 'default' | 'choices' | 'alias' | 'stdio'>>(
  describe: string,
  details = {} as Details,
) {
  return { type: 'string', describe, ...details } as const;
}

function number<const Default extends number | string | undefined, const Range extends NumberRange>(
  defaultValue: Default,
  range: Range,
  describe: string,
) {
  return { type: 'number', default: defaultValue, range, describe } as const;
}

const PORTS = { min: 0, max: 65_535 } as const;

/**
 * The options of the commands and of the library. Flags, variables, keys of a config file, help, validation and the
 * library's types derive from this table: `fullEvery` is `--full-every` and `OBSYNC_FULL_EVERY`.
 */
export const OPTIONS = {
  baseUrl: text('address of the service, with or without /public/beta at its end'),
  db: text('the mirror: a file, or postgres://user@host/database?schema=name', { default: 'obsync.db' }),
  dbFile: text('file that contains the address of the mirror with its password, instead of --db'),
  replica: text(
    'file of the local replica of a mirror in PostgreSQL, which the command refreshes first; default: one per mirror in the cache ' +
      'folder of this user',
  ),
  tokenFile: text('file that contains the access token, instead of OBSYNC_TOKEN'),
  tokenEnv: text(
    'name, in capitals, of the workers’ variable that contains the access token of the account, such as SHOP_TOKEN; ' +
      'never the token itself',
  ),
  env: { type: 'array', describe: 'only these environments, by id or name (repeatable, or separated by commas)' },
  stream: {
    type: 'array',
    choices: STREAM_NAMES,
    commas: true,
    describe: 'only these streams (repeatable, or separated by commas); default: all but those that --history adds',
  },
  full: flag('scan every stream in full instead of reading its changes'),
  fullEvery: number(
    'auto',
    { min: 0, whole: false, word: 'auto' },
    'days between full scans of a stream; auto: ten minutes per page of its last scan, at least an hour and at most seven ' +
      'days; only a full scan finds rows that a change of permissions revealed or hid, so no difference lasts longer',
  ),
  overlap: number(
    3600,
    { min: 0, max: 30 * DAY_SECONDS },
    'seconds by which each read of changes overlaps the previous one',
  ),
  history: flag(
    'also mirror every execution of every test: one request per test the first time, later only for tests with new ' +
      'executions',
  ),
  pageSize: number(2000, { min: 1, max: 2000 }, 'rows per request'),
  concurrency: number(
    4,
    { min: 1, max: 64 },
    'number of requests in flight at the same time; never more than the quota has left',
  ),
  retries: number(5, { min: 0, max: 100 }, 'number of retries of a failed request'),
  timeout: number(60, { min: 0.001, max: DAY_SECONDS, whole: false }, 'seconds until a request times out'),
  statementTimeout: number(
    600,
    { min: 0, max: DAY_SECONDS, whole: false },
    'seconds that the statement may take in PostgreSQL; 0: no limit, as in a file',
  ),
  maxWait: number(
    900,
    { min: 0, max: 7 * DAY_SECONDS, whole: false },
    'seconds that a run waits for quota; one that would wait longer ends (exit 1) and says when to try again',
  ),
  // The first request of every run lists the environments and mirrors no rows.
  maxRequests: number(
    undefined,
    { min: 2 },
    'stop after this number of requests (exit 5); a run within 24 hours continues it',
  ),
  allowShrink: flag('apply the deletions that were held back, after asking for as many by id as fit in 20 requests'),
  grace: text(
    'how long a stream that was live may answer 404 before runs exit 1, counted from when it was last read; a number ' +
      'with its unit: s, m, h or d',
    { default: '24h' },
  ),
  thinScores: text('age from which only the last health score of each day is kept, at least 8d; or off', {
    default: '90d',
  }),
  keepScores: text('how long health scores are kept, at least 8d; default: off (kept forever)'),
  keepExecutions: text('how long executions of tests are kept, at least 90d; default: off (kept forever)'),
  keepRuns: text('how long the log of runs is kept, at least 7d', { default: '90d' }),
  maxAge: text(
    'exit 1 if a stream is older than this, or if the last run failed; a number with its unit: s, m, h or d',
  ),
  allowHttp: flag('send the token over plain http to other machines'),
  caFile: text(
    'PEM file of additional certificate authorities to trust, for example your company’s; the variable ' +
      'NODE_EXTRA_CA_CERTS does the same for every connection',
  ),
  allowNetworkFs: flag(
    'write a mirror in a file on a network file system (NFS, SMB, …), which only one machine may open; detected on Linux',
  ),
  alerts: {
    type: 'object',
    describe: 'rules for alerts and the channels that they are sent to, only in the config file (see docs/alerts.md)',
  },
  for: text('snooze: how long; a number with its unit: s, m, h or d', { default: '24h' }),
  cron: text('cron expression (UTC) for all environments; default: the cron expression of each environment'),
  delay: number(
    600,
    { min: 0, max: 7 * DAY_SECONDS },
    'seconds to wait after the time of an environment’s own cron expression, because the service syncs first',
  ),
  schema: text(
    'schema of the account’s mirror, in lower-case letters, digits and _; no two accounts share one; default: ' +
      'obsync_ and the name of the account',
  ),
  replace: flag('add: change the account if one with this name exists'),
  drop: flag('remove: also drop the account’s mirror, with all its rows'),
  metricsPort: number(
    undefined,
    PORTS,
    'port that serves /metrics for Prometheus and, for schedule, /healthz; 0 picks a free one; default: none',
  ),
  metricsHost: text('address that serves metrics', { default: '127.0.0.1' }),
  textfile: text(
    'file for the textfile collector of node_exporter, such as obsync.prom: each run replaces it with the metrics of the mirror',
  ),
  citus: flag('also distribute the tables of a mirror in PostgreSQL over the nodes of Citus, by environment'),
  serve: flag(
    'also serve the mirror, like obsync serve: with --host, --port, --tokens, --rate-limit and --dimension-weights',
  ),
  host: text('address to listen on', { default: '127.0.0.1' }),
  port: number(8484, PORTS, 'port to listen on; 0 picks a free one'),
  tokens: text(
    'JSON file of the accepted tokens and what each may see (see docs/serve.md), besides or instead of ' +
      'OBSYNC_SERVE_TOKEN; reloaded on SIGHUP',
  ),
  rateLimit: text('requests per token and window of seconds, minutes or hours (10/1s, 120/1m, 5000/1h), or off', {
    default: '120/1m',
  }),
  dimensionWeights: text(
    'weight of each dimension in a total score, such as completeness=2,freshness=0.5 (default: 1 each)',
  ),
  depth: text(
    'what to compare: the number of tables (count, one request per environment), all ids (ids), or every field (rows); ' +
      'only rows finds every difference',
    { default: 'rows', choices: ['count', 'ids', 'rows'] },
  ),
  repair: flag('repair the differences in the mirror, under the same lock as a sync'),
  against: text(
    'folder or s3://BUCKET/PREFIX of an export to compare with the mirror, instead of comparing the mirror with the ' +
      'source; needs no service and no token',
  ),
  to: text('folder of the export, created if it does not exist, or s3://BUCKET/PREFIX'),
  format: text('format of the files; delta: Delta tables over Parquet files', {
    default: 'parquet',
    choices: EXPORT_FORMATS,
  }),
  table: {
    type: 'array',
    commas: true,
    describe: 'only these tables and views (repeatable, or separated by commas); default: all mirrored tables',
  },
  views: flag('also export all views'),
  semantic: flag('for dbt: also models and metrics for its semantic layer'),
  pageUrl: text('address of the page that serve shows, which lists in dashboards then link to'),
  keep: number(
    1,
    { min: 0, max: 1000 },
    'number of earlier exports whose files are kept, for readers that still use their manifests',
  ),
  targetSize: number(8, { min: 1, max: 1024 }, 'size in MiB at which a table continues in a new file'),
  maxFailing: number(undefined, { min: 0 }, 'exit 1 if more tests fail than this number; the report is written anyway'),
} as const satisfies Readonly<Record<string, OptionEntry>>;

export const COMMAND_OPTIONS = {
  logLevel: text(
    'how much is logged; warn: only problems, like --quiet on commands that have it; debug: also every request and the ' +
      'stack of an error; trace: also the query of each request',
    { default: 'info', choices: ['fatal', 'error', 'warn', 'info', 'debug', 'trace'] },
  ),
  logFormat: text('how the log is written: as text, or as one JSON object per line', {
    default: 'text',
    choices: ['text', 'json'],
  }),
  quiet: {
    ...flag('the same as --log-level warn: print nothing unless something is wrong; --json still prints its document'),
    alias: 'q',
  },
  verbose: flag('also show unchanged streams'),
  json: flag('print one JSON document on stdout'),
  all: flag('show every account of the database and its workers, instead of one mirror'),
  file: text('file that contains the SQL statement; - reads it from stdin', { alias: 'f', stdio: true }),
  follow: flag(
    'keep a replica of a mirror in PostgreSQL in the file --to until stopped; commits arrive within two seconds, and only obsync may ' +
      'write it',
  ),
  config: text('JSON file of options, such as {"baseUrl": "https://…", "fullEvery": 14}'),
} as const satisfies Readonly<Record<string, OptionEntry>>;

/** The options of everything that sends requests to the service. */
export const REQUEST_OPTIONS = [
  ...['env', 'stream', 'overlap', 'pageSize', 'concurrency'],
  ...['retries', 'timeout', 'maxWait', 'maxRequests', 'allowHttp', 'caFile'],
] as const satisfies readonly (keyof typeof OPTIONS)[];

/** How long histories are kept (R17). */
export const RETENTION_OPTIONS = [
  'thinScores',
  'keepScores',
  'keepExecutions',
  'keepRuns',
] as const satisfies readonly (keyof typeof OPTIONS)[];
