export { EXPORT_FORMATS } from '../export/formats.ts';

/** The default values of the options. The help of the commands shows them. */
export const DEFAULTS = {
  db: 'obsync.db',
  full: false,
  fullEvery: 7,
  overlap: 3600,
  history: false,
  pageSize: 2000,
  concurrency: 4,
  retries: 5,
  timeout: 60,
  statementTimeout: 600,
  maxWait: 900,
  shareQuota: true,
  allowShrink: false,
  allowHttp: false,
  delay: 600,
  replace: false,
  drop: false,
  metricsHost: '127.0.0.1',
  all: false,
  citus: false,
  depth: 'rows',
  repair: false,
  host: '127.0.0.1',
  port: 8484,
  rateLimit: '120/1m',
  format: 'parquet',
  views: false,
  keep: 1,
} as const;

/** What a verification may compare. */
export const DEPTHS = ['count', 'ids', 'rows'] as const;
