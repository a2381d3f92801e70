import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { nextTick } from '../../src/sync/schedule-cron.ts';
import { type ClaimedSync, claimListing, claimSync, endSync } from '../../src/workers/job-queue.ts';
import { recordEnvironments } from '../../src/workers/record-listing.ts';
import { recordHeartbeat } from '../../src/workers/worker-identity.ts';
import { environments, GOOD, SELDOM, workTest } from './setup.ts';

/** A queue of accounts whose environments have different due times; 0 is the earliest. */
async function queueTest() {
  const { ask, add, database } = await workTest();
  const newWorker = async () => {
    const worker = randomUUID();
    await recordHeartbeat(database, { worker, host: 'test', pid: 1, concurrency: 1 });
    return worker;
  };
  return {
    ask,
    newWorker,
    async due(account: string, second: number, ids: readonly string[]) {
      await add(account);
      const found = { name: account, cron: SELDOM, delay_seconds: 0, options: {} } as ClaimedSync['account'];
      const listed = environments(...ids);
      await database.transaction((transaction) => recordEnvironments(transaction, found, { listed, next: nextTick }));
      await database.query(`update obsync_accounts.account_environments set queue_at = '2026-01-01'::timestamptz + (queue_at - due_at)
        + interval '${second} s', due_at = '2026-01-01'::timestamptz + interval '${second} s' where account = '${account}'`);
    },
    async claim(worker: string, without: readonly string[] = []) {
      const claimed = await claimSync(database, { worker, without });
      return claimed === null ? null : { claimed, key: `${claimed.account.name}/${claimed.environment.id}` };
    },
    list: async (worker: string, without: readonly string[] = []) =>
      (await claimListing(database, { worker, without }))?.account.name ?? null,
    end: (claimed: ClaimedSync, worker: string) =>
      endSync(database, claimed, { worker, outcome: GOOD, next: nextTick }),
  };
}

test('the queue is ordered by due time, with environments of one account that are due together a minute apart', async () => {
  const { due, newWorker, claim, end } = await queueTest();
  await due('large', 0, ['e1', 'e2', 'e3', 'e4']);
  await due('small', 30, ['e1']);
  await due('later', 90, ['e1']);
  const worker = await newWorker();
  const order = [];
  for (let next = await claim(worker); next !== null; next = await claim(worker)) {
    order.push(next.key);
    await end(next.claimed, worker);
  }
  expect(order).toEqual(['large/e1', 'small/e1', 'large/e2', 'later/e1', 'large/e3', 'large/e4']);
});

test('after a sync, environments of one account that are due together again are queued a minute apart', async () => {
  const { due, newWorker, claim, end, ask } = await queueTest();
  await due('a', 0, ['e1', 'e2', 'e3']);
  const worker = await newWorker();
  for (let next = await claim(worker); next !== null; next = await claim(worker)) await end(next.claimed, worker);
  const apart = await ask(`select env_id, extract(epoch from queue_at - due_at)::int as seconds
    from obsync_accounts.account_environments order by 1`);
  expect(apart).toEqual([
    { env_id: 'e1', seconds: '0' },
    { env_id: 'e2', seconds: '60' },
    { env_id: 'e3', seconds: '120' },
  ]);
});

test('the queue hands out one sync per account at a time, and its listing in parallel', async () => {
  const { due, newWorker, claim, list, end } = await queueTest();
  await due('a', 0, ['e1', 'e2']);
  await due('b', 500, ['e1']);
  const [first, second] = [await newWorker(), await newWorker()];
  const taken = await claim(first);
  expect(taken?.key).toBe('a/e1');
  expect((await claim(second))?.key).toBe('b/e1');
  expect(await claim(second, ['b'])).toBeNull();
  expect(await list(second)).toBe('a');
  expect(await list(second, ['a'])).toBe('b');
  expect(await list(first)).toBeNull();
  await end((taken as { claimed: ClaimedSync }).claimed, first);
  expect((await claim(second, ['b']))?.key).toBe('a/e2');
});

test('workers that claim at the same time never get the same sync', async () => {
  const { due, newWorker, claim } = await queueTest();
  for (const account of Array.from({ length: 30 }, (_, i) => `a${i}`)) await due(account, 0, ['e1']);
  const workers = await Promise.all(Array.from({ length: 3 }, newWorker));
  const claims = await Promise.all(
    workers.map(async (worker) => {
      const mine: string[] = [];
      const accounts: string[] = [];
      for (let next = await claim(worker); next !== null; next = await claim(worker, accounts)) {
        mine.push(next.key);
        accounts.push(next.claimed.account.name);
      }
      return mine;
    }),
  );
  expect(claims.flat()).toHaveLength(30);
  expect(new Set(claims.flat()).size).toBe(30);
});

test('a claim skips excluded accounts, and returns nothing if nothing else is due', async () => {
  const { due, newWorker, claim, list } = await queueTest();
  await due('a', 0, ['e1']);
  await due('b', 500, ['e1']);
  const worker = await newWorker();
  expect((await claim(worker, ['a']))?.key).toBe('b/e1');
  expect(await claim(worker, ['a', 'b'])).toBeNull();
  expect(await list(worker, ['a', 'b'])).toBeNull();
});
