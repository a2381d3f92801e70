import { SyncError } from '../core/errors.ts';
import { closestName } from './closest-name.ts';
import { OptionError } from './option-error.ts';

/** What each option of the library takes. One object of options may be given to several functions. */
export const OPTION_KINDS = {
  db: 'a string',
  dbFile: 'a string',
  baseUrl: 'a string',
  token: 'a string',
  tokenFrom: 'a string',
  tokenFile: 'a string',
  allowHttp: 'true or false',
  env: 'an array of strings',
  stream: 'an array of strings',
  overlap: 'a number',
  pageSize: 'a number',
  concurrency: 'a number',
  retries: 'a number',
  timeout: 'a number',
  statementTimeout: 'a number',
  maxWait: 'a number',
  maxRequests: 'a number',
  shareQuota: 'true or false',
  signal: 'an AbortSignal',
  full: 'true or false',
  fullEvery: 'a number',
  history: 'true or false',
  allowShrink: 'true or false',
  onProgress: 'a function',
  depth: 'a string',
  repair: 'true or false',
  cron: 'a string',
  delay: 'a number',
  name: 'a string',
  tokenEnv: 'a string',
  schema: 'a string',
  replace: 'true or false',
  drop: 'true or false',
  metricsPort: 'a number',
  metricsHost: 'a string',
  citus: 'true or false',
  host: 'a string',
  port: 'a number',
  tokens: 'a string',
  rateLimit: 'a string',
  dimensionWeights: 'a string',
  logger: 'an object',
  to: 'a string',
  tool: 'a string',
  maxFailing: 'a number',
  against: 'a string',
  format: 'a string',
  table: 'an array of strings',
  views: 'true or false',
  keep: 'a number',
  sql: 'a string',
  parameters: 'an object',
  bigints: 'true or false',
} as const;

const FITS: Readonly<Record<(typeof OPTION_KINDS)[keyof typeof OPTION_KINDS], (value: unknown) => boolean>> = {
  'a string': (value) => typeof value === 'string',
  // A text that is a number is taken, as from a flag.
  'a number': (value) => typeof value === 'number' || typeof value === 'string',
  'true or false': (value) => typeof value === 'boolean',
  'an array of strings': (value) => Array.isArray(value) && value.every((each) => typeof each === 'string'),
  'an object': (value) => typeof value === 'object' && value !== null,
  'an AbortSignal': isAbortSignal,
  'a function': (value) => typeof value === 'function',
};

/** A signal of another realm, as of `node:vm` or a test's DOM, is no instance of this one's class. */
function isAbortSignal(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const { aborted, addEventListener } = value as Partial<Record<keyof AbortSignal, unknown>>;
  return typeof aborted === 'boolean' && typeof addEventListener === 'function';
}

/** Whether the library has an option of this name. */
export function isOptionName(name: string): name is keyof typeof OPTION_KINDS {
  return Object.hasOwn(OPTION_KINDS, name);
}

/** Checks the names and types of options that a JavaScript program gives. @throws OptionError @throws SyncError `usage` */
export function checkOptions(options: unknown): void {
  if (typeof options !== 'object' || options === null)
    throw new SyncError('usage', 'the options are not an object: write them as { name: value }');
  for (const [name, value] of Object.entries(options)) {
    if (!isOptionName(name)) throw new OptionError(name, `there is no option ${name}${suggestion(name)}`);
    const kind = OPTION_KINDS[name];
    if (value !== undefined && !FITS[kind](value)) throw new OptionError(name, `the option ${name} needs ${kind}`);
  }
}

function suggestion(name: string): string {
  const meant = closestName(name, Object.keys(OPTION_KINDS));
  return meant === null ? '' : `, did you mean ${meant}?`;
}
