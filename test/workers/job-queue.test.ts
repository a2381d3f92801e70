import { expect, onTestFinished, test } from 'vitest';
import { type JobQueue, openJobQueue, type QueuedWork, type TakenJob } from '../../src/workers/job-queue.ts';
import { workTest } from './setup.ts';

async function openQueue() {
  const { database } = await workTest();
  const queue = await openJobQueue(database, { onWarning: () => {} });
  onTestFinished(() => queue.close());
  return {
    queue,
    add: (...jobs: readonly [turn: number, work: QueuedWork][]) =>
      database.transaction((transaction) =>
        queue.add(
          transaction,
          jobs.map(([turn, work]) => ({ turn, work })),
        ),
      ),
    end: (job: TakenJob) => database.transaction((transaction) => queue.end(transaction, job)),
  };
}

const take = async (queue: JobQueue, most = 1) => (await queue.take(most)).map(({ data }) => data);

test('the queue gives the lowest turns first', async () => {
  const { queue, add } = await openQueue();
  const turns = [7, -3, 2_000_000_000, 0, 12, -2_000_000];
  await add(...turns.map((turn): [number, QueuedWork] => [turn, { account: `a${turn}`, environment: 'e' }]));
  const taken = [];
  for (const _ of turns) taken.push(...(await take(queue)));
  const sorted = turns.toSorted((a, b) => a - b);
  expect(taken).toEqual(sorted.map((turn) => ({ account: `a${turn}`, environment: 'e' })));
});

test('the queue gives one job of an account at a time, and its listing beside it', async () => {
  const { queue, add, end } = await openQueue();
  const [first, second] = ['e1', 'e2'].map((environment) => ({ account: 'a', environment }));
  const other = { account: 'b', environment: 'e1' };
  await add([1, first as QueuedWork], [2, second as QueuedWork], [9, other], [10, { list: 'a' }]);
  const [job] = await queue.take(1);
  expect(job?.data).toEqual(first);
  expect(await take(queue)).toEqual([other]);
  expect(await take(queue)).toEqual([{ list: 'a' }]);
  expect(await take(queue, 4)).toEqual([]);
  await end(job as TakenJob);
  expect(await take(queue, 4)).toEqual([second]);
});

test('a job that is in the queue, or at hand, is not put in again; one that has ended is', async () => {
  const { queue, add, end } = await openQueue();
  const odd = { account: 'Käse "x"', environment: 'e/1, [日本]' };
  await add([1, odd], [1, odd]);
  await add([2, odd]);
  const [job] = await queue.take(4);
  await add([3, odd]);
  expect(await take(queue, 4)).toEqual([]);
  await end(job as TakenJob);
  await add([4, odd]);
  expect(await take(queue, 4)).toEqual([odd]);
});
