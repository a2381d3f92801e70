import { performance } from 'node:perf_hooks';
import { setTimeout as sleepFor } from 'node:timers/promises';
import { openQuotaKeeper } from '../../src/api/quota-keeper.ts';
import { openPool } from '../../src/destination/postgres/pool.ts';
import { rowKeeper } from '../../src/destination/postgres/quota-row.ts';
import { createHttpSource } from '../../src/source/http-source.ts';

/** Runs as its own process: sends requests to the server within the account's quota, and reports the first response. */
const [baseUrl = '', count = '0', keeper = 'file', concurrency = '4'] = process.argv.slice(2);
const token = 'the-token-of-them-all';
const server = process.env['OBSYNC_TEST_SERVER'] ?? '';
const database = openPool({ client: { connectionString: server }, schema: 'public', maxConnections: 1 });
const onUnshared = (reason: string) => {
  throw new Error(reason);
};
const nowMs = () => performance.now();
const source = createHttpSource({
  baseUrl,
  token,
  quotaKeeper: openQuotaKeeper(
    {
      baseUrl,
      token,
      shareQuota: keeper !== 'memory',
      openInDatabase: (account) => (keeper === 'row' ? rowKeeper({ ...database, account, nowMs }) : null),
    },
    onUnshared,
  ),
  userAgent: 'obsync/test',
  concurrency: Number(concurrency),
  retries: 0,
  timeoutMs: 60_000,
  maxWaitMs: 900_000,
  maxRequests: null,
  signal: new AbortController().signal,
  clock: { nowMs, utcMs: () => Date.now() },
  sleep: (delayMs, signal) => sleepFor(delayMs, undefined, { signal }),
  random: Math.random,
  lists: [['assets']],
});
const page = () => source.page({ path: ['env', 'assets'], query: { limit: 1 }, cursor: null });
const pages = Array.from({ length: Number(count) }, page);
await Promise.race(pages);
process.stdout.write('answered\n');
await Promise.all(pages);
await source.close();
await database.close();
