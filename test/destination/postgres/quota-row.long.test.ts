import type { ChildProcess } from 'node:child_process';
import { expect, onTestFinished, test } from 'vitest';
import type { QuotaKeeper } from '../../../src/core/ports/quota-keeper.ts';
import { type QuotaState, UNKNOWN_QUOTA } from '../../../src/core/quota/quota-state.ts';
import { resumedWindow } from '../../../src/core/quota/rate-window.ts';
import { rowKeeper } from '../../../src/destination/postgres/quota-row.ts';
import type { PostgresConnection } from '../../../src/destination/postgres/transaction.ts';
import { pgliteConnection, pgliteDatabase } from '../../support/pglite-mirror.ts';
import { shiftingProxy } from '../../support/postgres/shifting-proxy.ts';
import { postgresServer } from '../../support/postgres.ts';
import { startQuotaServer } from '../../support/quota-server.ts';
import { answered, ended, startQuotaProcess } from '../../support/start-quota-process.ts';

const put = (keeper: QuotaKeeper, state: QuotaState) => keeper.change(() => ({ state, result: undefined }));
const seen = (keeper: QuotaKeeper) => keeper.change((state, atMs) => ({ state, result: { state, atMs } }));

/** A database in this process; `asked` are the statements so far. */
async function database() {
  const server = await pgliteConnection();
  onTestFinished(() => server.close());
  const asked: string[] = [];
  const watched: PostgresConnection = {
    query(text, values) {
      asked.push(text);
      return server.query(text, values);
    },
  };
  const { transaction, session } = pgliteDatabase(watched, 'public');
  const open = (account: string, nowMs = () => performance.now()) =>
    rowKeeper({ transaction, session, account, nowMs });
  return { db: server, open, asked };
}

test('a process reads the quota that another one recorded; each account has its own row (R23)', async () => {
  const { open } = await database();
  const spent = { window: resumedWindow(0, 50_000), inFlight: [] };
  expect((await seen(open('a'))).state).toEqual(UNKNOWN_QUOTA);
  await put(open('a'), spent);
  expect((await seen(open('a'))).state).toEqual(spent);
  expect((await seen(open('b'))).state).toEqual(UNKNOWN_QUOTA);
});

test('the time of the quota is the database’s and never runs backwards (R1, R23)', async () => {
  const { db, open } = await database();
  const clock = async () =>
    (await db.query('select (extract(epoch from clock_timestamp()) * 1000)::float8 as ms')).rows[0]?.['ms'];
  const keeper = open('a');
  const before = Number(await clock());
  const { atMs } = await seen(keeper);
  expect(atMs).toBeGreaterThanOrEqual(before);
  expect(atMs).toBeLessThanOrEqual(Number(await clock()));
  // As if the clock had been an hour ahead until now.
  await db.query('update obsync_accounts.account_quotas set at_ms = at_ms + 3600000');
  const later = await seen(open('a'));
  expect(later.atMs).toBe(atMs + 3_600_000);
  expect((await seen(keeper)).atMs).toBeGreaterThanOrEqual(later.atMs);
});

test('a failed change leaves the row as it was, and a row unused for eight days is deleted', async () => {
  const { db, open } = await database();
  const spent = { window: resumedWindow(0, 50_000), inFlight: [] };
  const keeper = open('a');
  await put(keeper, spent);
  const failing = keeper.change(() => {
    throw new Error('no');
  });
  await expect(failing).rejects.toThrow('no');
  expect((await seen(keeper)).state).toEqual(spent);
  await db.query("update obsync_accounts.account_quotas set used_at = used_at - interval '8 days'");
  await put(open('b'), spent);
  expect((await db.query('select account from obsync_accounts.account_quotas')).rows).toEqual([{ account: 'b' }]);
});

test('an existing table is not created again, and a change takes four messages', async () => {
  const { open, asked } = await database();
  await put(open('a'), UNKNOWN_QUOTA);
  asked.length = 0;
  await put(open('a'), UNKNOWN_QUOTA);
  expect(asked.filter((text) => /create|lock\(/.test(text))).toEqual([]);
  expect(asked).toHaveLength(4);
});

test('a process that finds the row as it left it changes it with one message, and sees what others change (R23)', async () => {
  const { open, asked } = await database();
  const [own, other] = [open('a'), open('a')];
  const spent = { window: resumedWindow(0, 50_000), inFlight: [] };
  const messages: number[] = [];
  for (let i = 0; i < 20; i += 1) {
    asked.length = 0;
    await put(own, UNKNOWN_QUOTA);
    messages.push(asked.length);
  }
  // The fastest statement so far arrives before its time, and is repeated with the row locked.
  expect(new Set(messages.slice(1))).toContain(1);
  await put(other, spent);
  asked.length = 0;
  expect((await seen(own)).state).toEqual(spent);
  // It tries, and then locks the row; now that others change it, it locks it at once.
  expect(asked).toHaveLength(1 + 4);
  await put(other, UNKNOWN_QUOTA);
  asked.length = 0;
  await put(own, spent);
  expect(asked).toHaveLength(4);
});

test('a process whose clock is ahead of the server’s does not change the quota by it (R1, R23)', async () => {
  const { open } = await database();
  let aheadMs = 0;
  const keeper = open('a', () => performance.now() + aheadMs);
  await put(keeper, UNKNOWN_QUOTA);
  const { atMs } = await seen(keeper);
  aheadMs = 3_600_000;
  expect((await seen(keeper)).atMs - atMs).toBeLessThan(60_000);
});

/** Starts a process that sends this many requests and stores the quota in the row. */
function start(url: string, requests: number, serverUrl: string): ChildProcess {
  return startQuotaProcess([url, String(requests), 'row'], { OBSYNC_TEST_SERVER: serverUrl });
}

test('four processes that share one row use every window up without a 429 (R23)', async () => {
  const server = await startQuotaServer({ limit: 40, windowMs: 1000 });
  onTestFinished(() => server.close());
  const database = await postgresServer();
  const codes = await Promise.all([20, 20, 20, 20].map((requests) => ended(start(server.url, requests, database))));
  expect(codes).toEqual([0, 0, 0, 0]);
  expect({ accepted: server.accepted, refused: server.refused() }).toEqual({ accepted: [40, 40], refused: 0 });
});

test('requests of a killed process count as sent, and the others that share the row continue (R23)', async () => {
  const server = await startQuotaServer({ limit: 30, windowMs: 1000 });
  onTestFinished(() => server.close());
  const database = await postgresServer();
  const [first, ...others] = [200, 30, 30].map((requests) => start(server.url, requests, database)) as [ChildProcess];
  await server.received(25);
  first.kill('SIGKILL');
  expect(await Promise.all(others.map(ended))).toEqual([0, 0]);
  expect(server.refused()).toBe(0);
});

const DAY = 86_400;

/** A service with a quota, and a database server whose clock can jump. */
async function jumping() {
  const server = await startQuotaServer({ limit: 40, windowMs: 1000 });
  const proxy = await shiftingProxy(await postgresServer());
  onTestFinished(async () => {
    await server.close();
    await proxy.close();
  });
  return { server, proxy, startOne: (requests: number) => start(server.url, requests, proxy.url) };
}

test('two processes keep to the quota while the server’s clock jumps a day ahead and back (R1, R23)', async () => {
  const { server, proxy, startOne } = await jumping();
  const both = [startOne(60), startOne(60)];
  const ends = both.map(ended);
  await Promise.all(both.map(answered));
  proxy.shift(DAY);
  await server.received(70);
  proxy.shift(0);
  // A process fails if it would have to wait for more than 15 minutes.
  expect(await Promise.all(ends)).toEqual([0, 0]);
  expect({ accepted: server.accepted, refused: server.refused() }).toEqual({ accepted: [40, 40, 40], refused: 0 });
});

test('a process that starts after a clock jump waits no day, and is refused once at most (R1, R23)', async () => {
  const { server, proxy, startOne } = await jumping();
  for (const shift of [0, DAY, 0]) {
    proxy.shift(shift);
    expect(await ended(startOne(40))).toBe(0);
  }
  expect(server.refused()).toBeLessThanOrEqual(1);
});
