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
  readonly default?: string | number | boolean;
  readonly range?: NumberRange;
  readonly choices?: readonly string[];
  /** Whether one value may contain several, separated by commas. */
  readonly commas?: boolean;
  readonly alias?: string;
  /** Whether - stands for stdin or stdout. */
  readonly stdio?: boolean;
  readonly describe: string;
}

const PORTS = { min: 0, max: 65_535 } as const;

/**
 * The options of the commands and of the library. Flags, variables, keys of a config file, help, validation and the
 * library's types derive from this table: `fullEvery` is `--full-every` and `OBSYNC_FULL_EVERY`.
 */
export const OPTIONS = {
  baseUrl: { type: 'string', describe: 'address of the service, with or without /public/beta at its end' },
  db: {
    type: 'string',
    default: 'obsync.db',
    describe: 'the mirror: a file, or postgres://user@host/database?schema=name',
  },
  dbFile: {
    type: 'string',
    describe: 'file that contains the address of the mirror with its password, instead of --db',
  },
  replica: {
    type: 'string',
    describe:
      'file of the local replica of a mirror in PostgreSQL, which the command refreshes first; default: one per mirror in the cache ' +
      'folder of this user',
  },
  tokenFile: { type: 'string', describe: 'file that contains the access token, instead of OBSYNC_TOKEN' },
  tokenEnv: {
    type: 'string',
    describe:
      'name, in capitals, of the workers’ variable that contains the access token of the account, such as SHOP_TOKEN; ' +
      'never the token itself',
  },
  env: { type: 'array', describe: 'only these environments, by id or name (repeatable, or separated by commas)' },
  stream: {
    type: 'array',
    choices: STREAM_NAMES,
    commas: true,
    describe: 'only these streams (repeatable, or separated by commas); default: all but those that --history adds',
  },
  full: { type: 'boolean', default: false, describe: 'scan every stream in full instead of reading its changes' },
  fullEvery: {
    type: 'number',
    default: 'auto',
    range: { min: 0, whole: false, word: 'auto' },
    describe:
      'days between full scans of a stream; auto: ten minutes per page of its last scan, at least an hour and at most seven ' +
      'days; only a full scan finds rows that a change of permissions revealed or hid, so no difference lasts longer',
  },
  overlap: {
    type: 'number',
    default: 3600,
    range: { min: 0, max: 30 * DAY_SECONDS },
    describe: 'seconds by which each read of changes overlaps the previous one',
  },
  history: {
    type: 'boolean',
    default: false,
    describe:
      'also mirror every execution of every test: one request per test the first time, later only for tests with new ' +
      'executions',
  },
  pageSize: { type: 'number', default: 2000, range: { min: 1, max: 2000 }, describe: 'rows per request' },
  concurrency: {
    type: 'number',
    default: 4,
    range: { min: 1, max: 64 },
    describe: 'number of requests in flight at the same time; never more than the quota has left',
  },
  retries: {
    type: 'number',
    default: 5,
    range: { min: 0, max: 100 },
    describe: 'number of retries of a failed request',
  },
  timeout: {
    type: 'number',
    default: 60,
    range: { min: 0.001, max: DAY_SECONDS, whole: false },
    describe: 'seconds until a request times out',
  },
  statementTimeout: {
    type: 'number',
    default: 600,
    range: { min: 0, max: DAY_SECONDS, whole: false },
    describe: 'seconds that the statement may take in PostgreSQL; 0: no limit, as in a file',
  },
  maxWait: {
    type: 'number',
    default: 900,
    range: { min: 0, max: 7 * DAY_SECONDS, whole: false },
    describe: 'seconds that a run waits for quota; one that would wait longer ends (exit 1) and says when to try again',
  },
  maxRequests: {
    type: 'number',
    // The first request of every run lists the environments and mirrors no rows.
    range: { min: 2 },
    describe: 'stop after this number of requests (exit 5); a run within 24 hours continues it',
  },
  allowShrink: {
    type: 'boolean',
    default: false,
    describe: 'apply the deletions that were held back, after asking for as many by id as fit in 20 requests',
  },
  grace: {
    type: 'string',
    default: '24h',
    describe:
      'how long a stream that was live may answer 404 before runs exit 1, counted from when it was last read; a number ' +
      'with its unit: s, m, h or d',
  },
  thinScores: {
    type: 'string',
    default: '90d',
    describe: 'age from which only the last health score of each day is kept, at least 8d; or off',
  },
  keepScores: { type: 'string', describe: 'how long health scores are kept, at least 8d; default: off (kept forever)' },
  keepExecutions: {
    type: 'string',
    describe: 'how long executions of tests are kept, at least 90d; default: off (kept forever)',
  },
  keepRuns: { type: 'string', default: '90d', describe: 'how long the log of runs is kept, at least 7d' },
  maxAge: {
    type: 'string',
    describe: 'exit 1 if a stream is older than this, or if the last run failed; a number with its unit: s, m, h or d',
  },
  allowHttp: { type: 'boolean', default: false, describe: 'send the token over plain http to other machines' },
  caFile: {
    type: 'string',
    describe:
      'PEM file of additional certificate authorities to trust, for example your company’s; the variable ' +
      'NODE_EXTRA_CA_CERTS does the same for every connection',
  },
  allowNetworkFs: {
    type: 'boolean',
    default: false,
    describe:
      'write a mirror in a file on a network file system (NFS, SMB, …), which only one machine may open; detected on Linux',
  },
  alerts: {
    type: 'object',
    describe: 'rules for alerts and the channels that they are sent to, only in the config file (see docs/alerts.md)',
  },
  for: { type: 'string', default: '24h', describe: 'snooze: how long; a number with its unit: s, m, h or d' },
  cron: {
    type: 'string',
    describe: 'cron expression (UTC) for all environments; default: the cron expression of each environment',
  },
  delay: {
    type: 'number',
    default: 600,
    range: { min: 0, max: 7 * DAY_SECONDS },
    describe: 'seconds to wait after the time of an environment’s own cron expression, because the service syncs first',
  },
  schema: {
    type: 'string',
    describe:
      'schema of the account’s mirror, in lower-case letters, digits and _; no two accounts share one; default: ' +
      'obsync_ and the name of the account',
  },
  replace: { type: 'boolean', default: false, describe: 'add: change the account if one with this name exists' },
  drop: { type: 'boolean', default: false, describe: 'remove: also drop the account’s mirror, with all its rows' },
  metricsPort: {
    type: 'number',
    range: PORTS,
    describe: 'port that serves /metrics for Prometheus and, for schedule, /healthz; 0 picks a free one; default: none',
  },
  metricsHost: { type: 'string', default: '127.0.0.1', describe: 'address that serves metrics' },
  textfile: {
    type: 'string',
    describe:
      'file for the textfile collector of node_exporter, such as obsync.prom: each run replaces it with the metrics of the mirror',
  },
  citus: {
    type: 'boolean',
    default: false,
    describe: 'also distribute the tables of a mirror in PostgreSQL over the nodes of Citus, by environment',
  },
  serve: {
    type: 'boolean',
    default: false,
    describe:
      'also serve the mirror, like obsync serve: with --host, --port, --tokens, --rate-limit and --dimension-weights',
  },
  host: { type: 'string', default: '127.0.0.1', describe: 'address to listen on' },
  port: { type: 'number', default: 8484, range: PORTS, describe: 'port to listen on; 0 picks a free one' },
  tokens: {
    type: 'string',
    describe:
      'JSON file of the accepted tokens and what each may see (see docs/serve.md), besides or instead of ' +
      'OBSYNC_SERVE_TOKEN; reloaded on SIGHUP',
  },
  rateLimit: {
    type: 'string',
    default: '120/1m',
    describe: 'requests per token and window of seconds, minutes or hours (10/1s, 120/1m, 5000/1h), or off',
  },
  dimensionWeights: {
    type: 'string',
    describe: 'weight of each dimension in a total score, such as completeness=2,freshness=0.5 (default: 1 each)',
  },
  depth: {
    type: 'string',
    default: 'rows',
    choices: ['count', 'ids', 'rows'],
    describe:
      'what to compare: the number of tables (count, one request per environment), all ids (ids), or every field (rows); ' +
      'only rows finds every difference',
  },
  repair: {
    type: 'boolean',
    default: false,
    describe: 'repair the differences in the mirror, under the same lock as a sync',
  },
  against: {
    type: 'string',
    describe:
      'folder or s3://BUCKET/PREFIX of an export to compare with the mirror, instead of comparing the mirror with the ' +
      'source; needs no service and no token',
  },
  to: { type: 'string', describe: 'folder of the export, created if it does not exist, or s3://BUCKET/PREFIX' },
  format: {
    type: 'string',
    default: 'parquet',
    choices: EXPORT_FORMATS,
    describe: 'format of the files; delta: Delta tables over Parquet files',
  },
  table: {
    type: 'array',
    commas: true,
    describe: 'only these tables and views (repeatable, or separated by commas); default: all mirrored tables',
  },
  views: { type: 'boolean', default: false, describe: 'also export all views' },
  semantic: {
    type: 'boolean',
    default: false,
    describe: 'for dbt: also models and metrics for its semantic layer',
  },
  pageUrl: {
    type: 'string',
    describe: 'address of the page that serve shows, which lists in dashboards then link to',
  },
  keep: {
    type: 'number',
    default: 1,
    range: { min: 0, max: 1000 },
    describe: 'number of earlier exports whose files are kept, for readers that still use their manifests',
  },
  targetSize: {
    type: 'number',
    default: 8,
    range: { min: 1, max: 1024 },
    describe: 'size in MiB at which a table continues in a new file',
  },
  maxFailing: {
    type: 'number',
    range: { min: 0 },
    describe: 'exit 1 if more tests fail than this number; the report is written anyway',
  },
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
