import { describe, expect, test } from 'vitest';
import { SyncError } from '../../src/core/errors.ts';
import type { SyncResult } from '../../src/workers/perform-job.ts';
import { TokenNotOnHostError } from '../../src/workers/perform-job.ts';
import { recordListing } from '../../src/workers/record-listing.ts';
import { environments, GOOD, SELDOM, workTest } from './setup.ts';

const interrupted: SyncResult = { status: 'interrupted', error: null, recovery: 'signal' };

/** A sync that runs until the signal is aborted or the test releases it. */
function holding() {
  const { promise: released, resolve: release } = Promise.withResolvers<SyncResult>();
  const sync = (_: string, signal: AbortSignal): Promise<SyncResult> => {
    const stopped = new Promise<SyncResult>((resolve) => {
      signal.addEventListener('abort', () => resolve(interrupted), { once: true });
    });
    return Promise.race([released, stopped]);
  };
  return { sync, release: () => release(GOOD) };
}

describe('workers', () => {
  test('they run every due sync once, however many workers there are', async () => {
    const busy = new Set<string>();
    const work = await workTest(async (key) => {
      if (busy.has(key)) throw new Error(`${key} is synced twice at once`);
      busy.add(key);
      await new Promise((resolve) => setImmediate(resolve));
      busy.delete(key);
      return GOOD;
    });
    const names = Array.from({ length: 12 }, (_, i) => `account${i}`);
    for (const name of names) {
      await work.add(name, { listed: environments('e1', 'e2', 'e3') });
    }
    const started = [await work.start(), await work.start(1), await work.start(4)];
    await work.until("e.status = 'done' and e.worker is null and e.due_at > now()");
    const all = names.flatMap((name) => ['e1', 'e2', 'e3'].map((id) => `${name}/${id}`));
    expect(work.service.begun.toSorted()).toEqual(all.toSorted());
    expect(started.flatMap(({ events }) => events).filter(({ type }) => type === 'trouble')).toEqual([]);
  });

  test('they run one sync of an account at a time, without delaying other accounts', async () => {
    const { sync, release } = holding();
    const work = await workTest(async (key, signal) => (key.startsWith('slow') ? sync(key, signal) : GOOD));
    await work.add('slow', { listed: environments('e1', 'e2', 'e3', 'e4') });
    await work.add('quick', { listed: environments('e1', 'e2', 'e3') });
    await work.start(2);
    const all = '(select count(*) from obsync_accounts.account_environments) = 7';
    await work.until(`${all} and (e.account = 'slow' or e.status = 'done')`);
    await expect.poll(() => work.service.begun.filter((key) => key.startsWith('slow'))).toHaveLength(1);
    release();
    await work.until("e.status = 'done'");
    expect(work.service.begun).toHaveLength(7);
  });

  test('a stopping worker releases its jobs, and another one runs them (R27)', async () => {
    const { sync } = holding();
    const work = await workTest();
    await work.add('a', { listed: environments('e1') });
    await work.add('b', { listed: environments('e1') });
    work.service.sync = sync;
    const first = await work.start(2);
    await work.until('e.worker is not null and (select count(*) from obsync_accounts.account_environments) = 2');
    await first.stop();
    expect(first.events.filter((event) => event.type === 'job' && event.result === 'given back')).toHaveLength(2);
    expect(await work.ask('select worker from obsync_accounts.workers')).toEqual([]);
    await work.until('e.worker is null and e.started_at is null and e.due_at <= now()');
    work.service.sync = async () => GOOD;
    await work.start(2);
    await work.until("e.status = 'done'");
    expect(work.service.begun).toHaveLength(4);
  });

  test('a stopping worker also releases jobs that do not stop in time', async () => {
    const work = await workTest(() => new Promise(() => {}));
    await work.add('a', { listed: environments('e1') });
    const first = await work.start(1);
    await work.until('e.worker is not null');
    await first.stop();
    await work.until('e.worker is null and e.due_at <= now()');
    work.service.sync = async () => GOOD;
    await work.start(1);
    await work.until("e.status = 'done'");
  });

  test('an environment that another process holds is retried when its lease may have expired, without an error (R26)', async () => {
    const work = await workTest(async () => ({ status: 'refused', error: 'held', recovery: 'locked' }));
    await work.add('a', { listed: environments('e1') });
    const { events } = await work.start();
    await work.until("e.worker is null and e.due_at <= now() and e.retry_at between now() + '20 s' and now() + '30 s'");
    const [row] = await work.ask('select status, error, synced_at from obsync_accounts.account_environments');
    expect(row).toEqual({ status: null, error: null, synced_at: null });
    await expect
      .poll(() => events.filter(({ type }) => type === 'job'))
      .toMatchObject([{ result: 'listed' }, { result: 'locked', error: null }]);
    expect(work.service.begun).toHaveLength(1);
  });

  test('a sync claimed by another worker meanwhile still records success, and leaves any other end to that worker (R26)', async () => {
    const ends = new Map<string, (result: SyncResult) => void>();
    const work = await workTest((key) => new Promise((resolve) => ends.set(key, resolve)));
    await work.add('a', { listed: environments('e1') });
    await work.add('b', { listed: environments('e1') });
    const { events } = await work.start(2);
    await expect.poll(() => ends.size).toBe(2);
    // As after missing heartbeats.
    await work.ask("insert into obsync_accounts.workers (worker, host, pid, concurrency) values ('other', 'h', 1, 1)");
    await work.ask("update obsync_accounts.account_environments set worker = 'other', started_at = now()");
    ends.get('a/e1')?.(GOOD);
    ends.get('b/e1')?.({ status: 'problems', error: 'a stream failed', recovery: null });
    await work.until("e.account = 'b' or (e.status = 'done' and e.synced_at is not null and e.worker is null)");
    await expect.poll(() => events).toContainEqual(expect.objectContaining({ account: 'b', result: 'problems' }));
    expect(
      await work.ask("select worker, status, error from obsync_accounts.account_environments where account = 'b'"),
    ).toEqual([{ worker: 'other', status: null, error: null }]);
  });

  test('every event names an environment as its service does, even if the end of its sync cannot be recorded', async () => {
    const { sync, release } = holding();
    const work = await workTest(sync);
    await work.add('a', { listed: [{ id: 'e1', name: 'One', cron: null }] });
    const { events } = await work.start();
    await work.until('e.worker is not null');
    await work.ask('alter table obsync_accounts.account_environments rename column status to away');
    release();
    const ofSyncs = () => events.filter((event) => 'environment' in event && event.environment !== null);
    await expect.poll(ofSyncs).toHaveLength(2);
    expect(ofSyncs()).toMatchObject([
      { type: 'begun', environment: 'One' },
      { type: 'job', environment: 'One', result: 'not ended' },
    ]);
  });

  test('they take over claims of a worker without a heartbeat for half a minute, and none of a live one', async () => {
    const work = await workTest();
    await work.add('a', { listed: environments('e1') });
    await work.add('b', { listed: environments('e1') });
    const lister = await work.start();
    await work.until("e.status = 'done' and (select count(*) from obsync_accounts.account_environments) = 2");
    await lister.stop();
    await work.ask(`insert into obsync_accounts.workers (worker, host, pid, concurrency, seen_at) values
      ('dead', 'h', 1, 1, now() - interval '31 s'), ('alive', 'h', 2, 1, now() + interval '50 s')`);
    await work.ask(`update obsync_accounts.account_environments set status = null, due_at = '2020-01-01',
      worker = case account when 'a' then 'dead' else 'alive' end, started_at = now()`);
    work.service.begun.length = 0;
    await work.start();
    await work.until("e.account = 'b' or e.status = 'done'");
    expect(work.service.begun).toEqual(['a/e1']);
  });

  test('a sync in flight stays due when its environment is listed meanwhile, so a killed one is not lost', async () => {
    const { sync } = holding();
    const work = await workTest(sync);
    await work.add('a', { listed: environments('e1') });
    await work.start(2);
    await work.until('e.worker is not null');
    work.service.listed.set('a', [{ id: 'e1', name: 'Renamed', cron: null }]);
    await work.ask('update obsync_accounts.accounts set listing_due_at = now()');
    await work.start(1);
    await work.until("e.name = 'Renamed'");
    expect(await work.ask('select due_at <= now() as due from obsync_accounts.account_environments')).toEqual([
      { due: 't' },
    ]);
  });

  test('a worker without an account’s token leaves the account to others: it stays due, and status says why', async () => {
    const work = await workTest(async () => {
      throw new TokenNotOnHostError('the variable A is not set');
    });
    await work.add('a', { listed: environments('e1') });
    const first = await work.start();
    await work.until("e.error = 'the variable A is not set' and e.worker is null and e.status is null");
    expect(
      await work.ask(
        "select due_at <= now() as due, retry_at > now() + '50 s' as later from obsync_accounts.account_environments",
      ),
    ).toEqual([{ due: 't', later: 't' }]);
    await expect.poll(() => first.events).toContainEqual(expect.objectContaining({ result: 'no token' }));
    await first.stop();
    work.service.sync = async () => GOOD;
    await work.ask('update obsync_accounts.account_environments set retry_at = null');
    work.service.refusal = new TokenNotOnHostError('the file is not there');
    await work.add('b');
    await work.start();
    await work.until("e.status = 'done' and e.error is null");
    const listing = `select listing_error, listing_due_at between now() + '50 s' and now() + '60 s' as later, worker
      from obsync_accounts.accounts where name = 'b'`;
    await expect
      .poll(() => work.ask(listing))
      .toEqual([{ listing_error: 'the file is not there', later: 't', worker: null }]);
  });

  test('a listing without any environment is a failed one, and the environments known before stay due', async () => {
    const work = await workTest();
    await work.add('a', { listed: environments('e1') });
    const { events } = await work.start();
    await work.until("e.status = 'done'");
    work.service.listed.set('a', []);
    await work.ask('update obsync_accounts.accounts set listing_due_at = now()');
    const error = 'the token sees no environment: check its permissions';
    await expect
      .poll(() => work.ask('select listing_error from obsync_accounts.accounts'))
      .toEqual([{ listing_error: error }]);
    await expect.poll(() => events.at(-1)).toMatchObject({ result: 'not listed', error });
    expect(await work.ask('select env_id from obsync_accounts.account_environments')).toEqual([{ env_id: 'e1' }]);
  });

  test('an account that gets another mirror is synced into it at once, even if an earlier sync ends only then', async () => {
    const { sync, release } = holding();
    let isFirst = true;
    const work = await workTest(async (key, signal) => {
      if (!isFirst) return GOOD;
      isFirst = false;
      return sync(key, signal);
    });
    const ended = () => events.filter((event) => event.type === 'job' && event.environment !== null).length;
    await work.add('a', { listed: environments('e1') });
    const { events } = await work.start();
    await expect.poll(() => work.service.begun).toEqual(['a/e1']);
    await work.add('a', { mirror_schema: 'other' });
    await expect.poll(() => events.filter((event) => event.type === 'job' && event.result === 'listed').length).toBe(2);
    release();
    await expect.poll(ended).toBe(2);
    await work.until("e.status = 'done'");
    expect(work.service.begun).toEqual(['a/e1', 'a/e1']);
  });

  test('a failed listing is retried after a minute, then with exponential backoff up to an hour', async () => {
    const work = await workTest();
    await work.add('a');
    const minutes = 'select round(extract(epoch from listing_due_at - now()) / 60) as m from obsync_accounts.accounts';
    for (const [ago, m] of [
      ['1 s', '1'],
      ['8 min', '8'],
      ['1 day', '60'],
    ]) {
      await work.ask(`update obsync_accounts.accounts set added_at = now() - interval '${ago}'`);
      await recordListing(work.database, 'a', { error: 'no answer', isListed: false });
      expect(await work.ask(minutes)).toEqual([{ m }]);
    }
  });

  test('a failed sync is recorded, and repeated at its next time, not immediately', async () => {
    const work = await workTest(async (key) => {
      if (key === 'a/e1') throw new SyncError('usage', 'the variable A is not set');
      return { status: 'problems', error: 'a stream failed', recovery: null };
    });
    await work.add('a', { listed: environments('e1', 'e2') });
    await work.start();
    await work.until("e.status = 'problems' and e.due_at > now()");
    const rows = await work.ask('select env_id, error, synced_at from obsync_accounts.account_environments order by 1');
    expect(rows).toEqual([
      { env_id: 'e1', error: 'the variable A is not set', synced_at: null },
      { env_id: 'e2', error: 'a stream failed', synced_at: null },
    ]);
    expect(work.service.begun.toSorted()).toEqual(['a/e1', 'a/e2']);
  });

  test('they pick up changed accounts, environments and cron expressions without a restart', async () => {
    const work = await workTest();
    work.service.listed.set('a', [
      { id: 'e1', name: 'One', cron: SELDOM },
      { id: 'e2', name: 'Two', cron: null },
    ]);
    await work.add('a', { cron: null });
    await work.start();
    await work.until("e.status = 'done' or e.cron is null");
    const dueAt = 'select env_id, name, due_at is null as never from obsync_accounts.account_environments order by 1';
    expect(await work.ask(dueAt)).toEqual([
      { env_id: 'e1', name: 'One', never: 'f' },
      { env_id: 'e2', name: 'Two', never: 't' },
    ]);
    work.service.listed.set('a', [
      { id: 'e2', name: 'Second', cron: SELDOM },
      { id: 'e3', name: 'Three', cron: SELDOM },
    ]);
    // As when a listing of its environments is due.
    await work.ask('update obsync_accounts.accounts set listing_due_at = now()');
    await work.until("e.status = 'done' and e.env_id in ('e2', 'e3')");
    expect((await work.ask(dueAt)).map(({ name }) => name)).toEqual(['Second', 'Three']);
    await work.add('b', { listed: environments('e1') });
    await work.until("e.status = 'done' and (select count(*) from obsync_accounts.account_environments) = 3");
    expect(work.service.begun).toEqual(
      ['a/e1', 'a/e2', 'a/e3', 'b/e1'].sort((x, y) => work.service.begun.indexOf(x) - work.service.begun.indexOf(y)),
    );
  });

  test('a job is repeated if the response to its claim was lost', async () => {
    const work = await workTest();
    await work.add('a', { listed: environments('e1') });
    await work.start();
    await work.until("e.status = 'done'");
    await work.ask(`update obsync_accounts.account_environments set due_at = '2020-01-01', started_at = now(),
      worker = (select worker from obsync_accounts.workers)`);
    await work.until('e.due_at > now()');
    expect(work.service.begun).toEqual(['a/e1', 'a/e1']);
  });

  test('a listing is not recorded if its account was removed or changed meanwhile', async () => {
    const work = await workTest();
    const { promise: removed, resolve: listAll } = Promise.withResolvers<void>();
    const listed = environments('e1');
    work.service.list = async () => {
      await removed;
      return listed;
    };
    await work.add('gone');
    await work.add('changed');
    const { events } = await work.start();
    const claimed = 'select count(*) as n from obsync_accounts.accounts where worker is not null';
    await expect.poll(() => work.ask(claimed)).toEqual([{ n: '2' }]);
    await work.ask("delete from obsync_accounts.accounts where name = 'gone'");
    await work.add('changed', { cron: '0 0 1 1 *' });
    listAll();
    await work.until("e.account = 'changed' and e.status = 'done' and e.due_at::text like '%-01-01 00:00:00+00'");
    const jobs = () => events.filter((event) => event.type === 'job');
    // A job is reported after it is recorded.
    await expect
      .poll(() =>
        jobs()
          .map(({ account, result }) => `${account} ${result}`)
          .toSorted(),
      )
      .toEqual(['changed done', 'changed listed', 'changed not due', 'gone not due']);
  });
});
