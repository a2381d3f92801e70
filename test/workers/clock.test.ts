import { expect, onTestFinished, test } from 'vitest';
import { secondsBetween } from '../../src/core/time/instant.ts';
import { loadWorkStatus } from '../../src/workers/work-status.ts';
import { shiftingProxy } from '../support/postgres/shifting-proxy.ts';
import { postgresServer } from '../support/postgres.ts';
import { environments, workTest } from './setup.ts';

const DAY = 86_400;

test.each([
  ['a day ahead', DAY],
  ['a day behind', -DAY],
])(
  'on a server whose clock is %s, workers run due jobs once, and status shows all times by that clock',
  async (_, seconds) => {
    const proxy = await shiftingProxy(await postgresServer(), seconds);
    onTestFinished(() => proxy.close());
    const work = await workTest(undefined, proxy.url);
    const serverMs = async () => Number((await work.ask('select extract(epoch from now()) * 1000 as ms'))[0]?.['ms']);
    const fromMs = await serverMs();
    for (const name of ['a', 'b']) {
      await work.add(name, { listed: environments('e1', 'e2') });
    }
    const started = [await work.start(), await work.start()];
    await work.until(
      `e.status = 'done' and e.worker is null and e.due_at > now() and (select count(*) from obsync_accounts.workers) = 2
        and (select count(*) from obsync_accounts.account_environments) = 4`,
    );
    expect(work.service.begun.toSorted()).toEqual(['a/e1', 'a/e2', 'b/e1', 'b/e2']);
    expect(started.flatMap(({ events }) => events).filter(({ type }) => type === 'trouble')).toEqual([]);

    const { checked_at, accounts, workers } = await loadWorkStatus(work.database);
    const toMs = await serverMs();
    expect(workers).toHaveLength(2);
    const found = accounts.flatMap((account) => account.environments);
    expect(found).toHaveLength(4);
    for (const { synced_at, age_seconds } of found)
      expect(age_seconds).toBe(Math.round(secondsBetween(String(synced_at), checked_at)));
    const told = [...found.flatMap(({ synced_at, ended_at }) => [synced_at, ended_at]), checked_at];
    const times = [...told, ...workers.flatMap(({ started_at, seen_at }) => [started_at, seen_at])];
    for (const time of times.map((each) => Date.parse(String(each)))) {
      // Reported times have milliseconds at most.
      expect(time).toBeGreaterThanOrEqual(Math.floor(fromMs));
      expect(time).toBeLessThanOrEqual(toMs);
    }
  },
);

test('after a server clock that ran a day ahead is set back, everything is due as usual and no time is in the future', async () => {
  const proxy = await shiftingProxy(await postgresServer(), DAY);
  onTestFinished(() => proxy.close());
  const work = await workTest(undefined, proxy.url);
  await work.add('a', { listed: environments('e1', 'e2'), cron: '0 0 * * *' });
  const worker = await work.start();
  await work.until("e.status = 'done' and (select count(*) from obsync_accounts.account_environments) = 2");
  await worker.stop();
  work.service.begun.length = 0;
  // One that is still due and waits for a retry.
  await work.ask(`update obsync_accounts.account_environments set last_started_at = null, due_at = '2020-01-01',
    retry_at = now() + interval '10 minutes' where env_id = 'e2'`);
  await work.ask(
    "insert into obsync_accounts.workers (worker, host, pid, concurrency, seen_at) values ('gone', 'h', 1, 1, now())",
  );
  proxy.shift(0);
  await work.start();
  const inTime = 'greatest(e.last_started_at, e.synced_at, e.ended_at) <= now()';
  await work.until(`${inTime} and e.due_at between now() and now() + interval '1 day' and e.retry_at is null`);
  expect(work.service.begun).toEqual(['a/e2']);
  const late =
    await work.ask(`select name from obsync_accounts.accounts where listing_due_at > now() + interval '1 hour'
    union all select worker from obsync_accounts.workers where seen_at > now()`);
  expect(late).toEqual([]);
});
