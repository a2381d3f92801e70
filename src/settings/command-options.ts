import type { OptionEntry } from './option-table.ts';

export const COMMAND_OPTIONS = {
  logLevel: {
    type: 'string',
    default: 'info',
    choices: ['fatal', 'error', 'warn', 'info', 'debug', 'trace'],
    describe:
      'how much is logged; warn: only problems, like --quiet on commands that have it; debug: also every request and the ' +
      'stack of an error; trace: also the query of each request',
  },
  logFormat: {
    type: 'string',
    default: 'text',
    choices: ['text', 'json'],
    describe: 'how the log is written: as text, or as one JSON object per line',
  },
  quiet: {
    type: 'boolean',
    default: false,
    alias: 'q',
    describe: 'the same as --log-level warn: print nothing unless something is wrong; --json still prints its document',
  },
  verbose: { type: 'boolean', default: false, describe: 'also show unchanged streams' },
  json: { type: 'boolean', default: false, describe: 'print one JSON document on stdout' },
  all: {
    type: 'boolean',
    default: false,
    describe: 'show every account of the database and its workers, instead of one mirror',
  },
  file: {
    type: 'string',
    alias: 'f',
    stdio: true,
    describe: 'file that contains the SQL statement; - reads it from stdin',
  },
  follow: {
    type: 'boolean',
    default: false,
    describe:
      'keep a replica of a mirror in PostgreSQL in the file --to until stopped; commits arrive within two seconds, and only obsync may ' +
      'write it',
  },
  config: { type: 'string', describe: 'JSON file of options, such as {"baseUrl": "https://…", "fullEvery": 14}' },
} as const satisfies Readonly<Record<string, OptionEntry>>;

/** The options that only the library has, with their types. */
export const LIBRARY_OPTIONS = {
  token: 'string',
  tokenFrom: 'string',
  shareQuota: 'boolean',
  signal: 'signal',
  onProgress: 'function',
  name: 'string',
  tool: 'string',
  logger: 'object',
  sql: 'string',
  parameters: 'object',
  bigints: 'boolean',
} as const;
