import type { CliCommand } from './command.ts';
import { OPTIONS, pick } from './options.ts';
import { SYNC_OPTIONS } from './sync-options.ts';

const VERIFY_OPTIONS = {
  ...pick('base-url', 'db', 'token-file', 'env', 'stream', 'depth', 'repair', 'overlap', 'page-size', 'concurrency'),
  ...pick('retries', 'timeout', 'max-wait'),
  'max-requests': {
    ...OPTIONS['max-requests'],
    describe: 'requests after which it stops (exit 5), with what it has found and what it has not looked at',
  },
  ...pick('allow-http', 'log-level', 'json', 'config'),
} as const;

/** Every command. What it does is loaded when it is run: help needs none of it, and no command that of another. */
export const COMMANDS: readonly CliCommand[] = [
  {
    name: 'sync',
    describe: 'bring the mirror up to date, once',
    options: { ...SYNC_OPTIONS, ...pick('verbose', 'json') },
    run: async (args, io) => (await import('./sync.ts')).sync(args, io),
  },
  {
    name: 'plan',
    describe: 'how many requests the next sync takes, how long and why; asks for the list of environments alone',
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
    describe: 'what is mirrored, how fresh it is, and what went wrong last; from the file alone',
    options: pick('db', 'json', 'config'),
    run: async (args, io) => (await import('./status.ts')).status(args, io),
  },
  {
    name: 'verify',
    describe: 'whether the mirror equals the source now: what is missing, extra or unequal (exit 0 equal, 1 not)',
    options: VERIFY_OPTIONS,
    run: async (args, io) => (await import('./verify.ts')).verify(args, io),
  },
  {
    name: 'query',
    describe: 'ask the mirror with one SQL statement that only reads',
    options: pick('db', 'file', 'format', 'config'),
    argument: { name: 'sql', describe: 'such as "select * from failing_tests"; - reads it from stdin' },
    run: async (args, io) => (await import('./query.ts')).query(args, io),
  },
  {
    name: 'serve',
    describe: 'serve the mirror as the read API it was made from, to OBSYNC_SERVE_TOKEN and those of --tokens',
    options: pick('db', 'host', 'port', 'tokens', 'rate-limit', 'dimension-weights', 'log-level', 'config'),
    run: async (args, io) => (await import('./serve-mirror.ts')).serveMirror(args, io),
  },
  {
    name: 'demo',
    describe: 'make a sample source, sync it twice with changes in between, and ask the mirror',
    options: { db: { ...OPTIONS.db, default: 'demo.db' }, ...pick('log-level', 'config') },
    run: async (args, io) => (await import('./demo.ts')).demo(args, io),
  },
];
