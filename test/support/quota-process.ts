import { performance } from 'node:perf_hooks';
import { setTimeout as sleepFor } from 'node:timers/promises';
import { Pool } from 'pg';
import type { PostgresConnection } from '../../src/destination/postgres/connection.ts';
import { openQuotaKeeper } from '../../src/library/quota-keeper.ts';
import { createHttpSource } from '../../src/source/http-source.ts';

/** Started as a process of its own: it sends so many requests to the server, within the account's quota. */
const [baseUrl = '', count = '0', keeper = 'file', concurrency = '4'] = process.argv.slice(2);
const token = 'the-token-of-them-all';
const server = process.env['OBSYNC_TEST_SERVER'];
const pool = new Pool({ connectionString: server, max: 1, ...{ pipeline: true } });
/** As a mirror's own connection does it. */
const transaction = async <Done>(work: (connection: PostgresConnection) => Promise<Done>): Promise<Done> => {
  const client = await pool.connect();
  const query: PostgresConnection['query'] = async (text, values = []) => {
    const { rows, rowCount } = await client.query(text, [...values]);
    return { rows, changes: rowCount ?? 0 };
  };
  try {
    await client.query('begin');
    const done = await work({ query });
    await client.query('commit');
    return done;
  } finally {
    client.release();
  }
};
const onUnshared = (reason: string) => {
  throw new Error(reason);
};
const nowMs = () => performance.now();
const source = createHttpSource({
  baseUrl,
  token,
  quotaKeeper: openQuotaKeeper(
    { baseUrl, token, shareQuota: keeper !== 'memory', ...(keeper === 'row' ? { transaction } : {}) },
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
await Promise.all(Array.from({ length: Number(count) }, page));
await source.close();
await pool.end();
