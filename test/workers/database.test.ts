import { expect, test } from 'vitest';
import { createWorkerMetrics } from '../../src/workers/worker-metrics.ts';
import { workTest } from './setup.ts';

test('worker metrics show the age of every account, even if it was never listed, synced or scheduled', async () => {
  const { add, ask, database } = await workTest();
  for (const name of ['new', 'empty', 'never', 'synced', 'idle', 'ended']) await add(name);
  await ask(`update obsync_accounts.accounts set listed_at = now() where name <> 'new';
    insert into obsync_accounts.account_environments (account, env_id, name, due_at, synced_at) values
      ('never', 'e1', 'e1', now(), null), ('never', 'e2', 'e2', now(), now()), ('idle', 'e1', 'e1', null, null),
      ('ended', 'e1', 'e1', null, now() - interval '1 hour'), ('synced', 'e3', 'e3', null, null),
      ('synced', 'e1', 'e1', now(), now() - interval '1 hour'), ('synced', 'e2', 'e2', now(), now())`);
  const text = await createWorkerMetrics(database).text();
  expect(text).toMatch(/age_seconds\{account="new"\} \+Inf\n/);
  expect(text).toMatch(/age_seconds\{account="empty"\} \+Inf\n/);
  expect(text).toMatch(/age_seconds\{account="never"\} \+Inf\n/);
  expect(text).toMatch(/age_seconds\{account="synced"\} 360\d/);
  expect(text).toMatch(/age_seconds\{account="idle"\} \+Inf\n/);
  expect(text).toMatch(/age_seconds\{account="ended"\} 360\d/);
});

test('worker metrics count every result from 0, so the first failure is an increase', async () => {
  const { database } = await workTest();
  const metrics = createWorkerMetrics(database);
  const before = await metrics.text();
  metrics.onEvent({ type: 'begun', account: 'shop', environment: 'e1' });
  metrics.onEvent({ type: 'job', account: 'shop', environment: 'e1', result: 'problems', error: 'x', seconds: 1 });
  expect(before).toContain('obsync_worker_jobs_total{result="problems"} 0\n');
  expect(await metrics.text()).toContain('obsync_worker_jobs_total{result="problems"} 1\n');
});
