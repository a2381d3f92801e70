import { pick } from './options.ts';

/** Options of the commands that sync. */
export const SYNC_OPTIONS = pick(
  'base-url',
  'db',
  'db-file',
  'token-file',
  'env',
  'stream',
  'full',
  'full-every',
  'overlap',
  'history',
  'page-size',
  'concurrency',
  'retries',
  'timeout',
  'max-wait',
  'max-requests',
  'allow-shrink',
  'allow-http',
  'log-level',
  'config',
);
