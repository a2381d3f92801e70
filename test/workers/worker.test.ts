import { describe, expect, onTestFinished, test } from 'vitest';
import { SyncError } from '../../src/core/errors.ts';
import { openJobQueue } from '../../src/workers/job-queue.ts';
import { noteListing } from '../../src/workers/note-listed.ts';
import type { SyncResult } from '../../src/workers/perform-job.ts';
import { TokenNotHereError } from '../../src/workers/token-not-here.ts';
import { environments, GOOD, SELDOM, workTest } from './setup.ts';

const interrupted: SyncResult = { status: 'interrupted', error: null, recovery: 'signal' };

/** A sync that lasts until the signal is aborted or it is let go. */
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
  test('do every sync that is due once, however many of them there are', async () => {
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
      work.service.listed.set(name, environments('e1', 'e2', 'e3'));
      await work.add(name);
    }
    const started = [await work.start(), await work.start(1), await work.start(4)];
    await work.until("e.status = 'done' and e.worker is null and e.due_at > now()");
    const all = names.flatMap((name) => ['e1', 'e2', 'e3'].map((id) => `${name}/${id}`));
    expect(work.service.begun.toSorted()).toEqual(all.toSorted());
    expect(started.flatMap(({ events }) => events).filter(({ type }) => type === 'trouble')).toEqual([]);
  });

  test('do one sync of an account at a time, and other accounts do not wait for it', async () => {
    const { sync, release } = holding();
    const work = await workTest(async (key, signal) => (key.startsWith('slow') ? sync(key, signal) : GOOD));
    work.service.listed.set('slow', environments('e1', 'e2', 'e3', 'e4'));
    work.service.listed.set('quick', environments('e1', 'e2', 'e3'));
    await work.add('slow');
    await work.add('quick');
    await work.start(2);
    const all = '(select count(*) from obsync_accounts.account_environments) = 7';
    await work.until(`${all} and (e.account = 'slow' or e.status = 'done')`);
    await expect.poll(() => work.service.begun.filter((key) => key.startsWith('slow'))).toHaveLength(1);
    release();
    await work.until("e.status = 'done'");
    expect(work.service.begun).toHaveLength(7);
  });

  test('give back what they have at hand when they stop, and another one does it (R27)', async () => {
    const { sync } = holding();
    const work = await workTest();
    work.service.listed.set('a', environments('e1'));
    work.service.listed.set('b', environments('e1'));
    await work.add('a');
    await work.add('b');
    work.service.sync = sync;
    const first = await work.start(2);
    await work.until('e.worker is not null');
    await first.stop();
    expect(first.events.filter((event) => event.type === 'job' && event.result === 'given back')).toHaveLength(2);
    expect(await work.ask('select worker from obsync_accounts.workers')).toEqual([]);
    await work.until('e.worker is null and e.started_at is null and e.due_at <= now()');
    const [queued] = await work.ask("select count(*) as n from obsync_jobs.job where state = 'created'");
    expect(queued?.['n']).toBe('2');
    work.service.sync = async () => GOOD;
    await work.start(2);
    await work.until("e.status = 'done'");
    expect(work.service.begun).toHaveLength(4);
  });

  test('give back what does not stop in time as well', async () => {
    const work = await workTest(() => new Promise(() => {}));
    work.service.listed.set('a', environments('e1'));
    await work.add('a');
    const first = await work.start(1);
    await work.until('e.worker is not null');
    await first.stop();
    await work.until('e.worker is null and e.due_at <= now()');
    expect(await work.ask("select state from obsync_jobs.job where state in ('created', 'active')")).toEqual([
      { state: 'created' },
    ]);
  });

  test('try an environment that another process holds again when its lease may have ended, without an error (R26)', async () => {
    const work = await workTest(async () => ({ status: 'refused', error: 'held', recovery: 'locked' }));
    work.service.listed.set('a', environments('e1'));
    await work.add('a');
    const { events } = await work.start();
    await work.until("e.worker is null and e.due_at <= now() and e.queue_at between now() + '20 s' and now() + '30 s'");
    const [row] = await work.ask('select status, error, synced_at from obsync_accounts.account_environments');
    expect(row).toEqual({ status: null, error: null, synced_at: null });
    await expect
      .poll(() => events.filter(({ type }) => type === 'job'))
      .toMatchObject([{ result: 'listed' }, { result: 'locked', error: null }]);
    expect(work.service.begun).toHaveLength(1);
  });

  test('note a good end although another worker was given the job, and leave the sync to the one that has it (R26)', async () => {
    const { sync, release } = holding();
    const work = await workTest(sync);
    work.service.listed.set('a', environments('e1'));
    await work.add('a');
    await work.start(1);
    await work.until('e.worker is not null');
    const holder = "select worker from obsync_accounts.account_environments where env_id = 'e1'";
    const [first] = await work.ask(holder);
    work.service.sync = async () => ({ status: 'refused', error: 'held', recovery: 'locked' });
    // As after a while without a sign of life.
    await work.ask('delete from obsync_jobs.job');
    await work.put({ account: 'a', environment: 'e1' });
    const second = await work.start(1);
    await expect.poll(() => second.events).toMatchObject([{ type: 'begun' }, { result: 'locked' }]);
    expect(await work.ask(holder)).toEqual([first]);
    const other = "update obsync_accounts.account_environments set worker = 'other', started_at = now()";
    await work.ask(other);
    release();
    await work.until("e.status = 'done' and e.synced_at is not null and e.due_at > now() and e.worker is null");
  });

  test('keep a sync at hand due when its environment is listed meanwhile, so that a killed one is not lost', async () => {
    const { sync } = holding();
    const work = await workTest(sync);
    work.service.listed.set('a', environments('e1'));
    await work.add('a');
    await work.start(2);
    await work.until('e.worker is not null');
    work.service.listed.set('a', [{ id: 'e1', name: 'Renamed', cron: null }]);
    await work.ask('update obsync_accounts.accounts set listing_due_at = now(), queue_at = now()');
    await work.start(1);
    await work.until("e.name = 'Renamed'");
    expect(await work.ask('select due_at <= now() as due from obsync_accounts.account_environments')).toEqual([
      { due: 't' },
    ]);
  });

  test('leave an account whose token they do not have to the others: it stays due, and status says why', async () => {
    const work = await workTest(async () => {
      throw new TokenNotHereError('the variable A is not set');
    });
    work.service.listed.set('a', environments('e1'));
    await work.add('a');
    const first = await work.start();
    await work.until("e.error = 'the variable A is not set' and e.worker is null and e.status is null");
    const times = "select due_at <= now() as due, queue_at > now() + '50 s' as later from obsync_accounts";
    expect(await work.ask(`${times}.account_environments`)).toEqual([{ due: 't', later: 't' }]);
    await expect.poll(() => first.events).toContainEqual(expect.objectContaining({ result: 'no token' }));
    await first.stop();
    work.service.sync = async () => GOOD;
    await work.ask('update obsync_accounts.account_environments set queue_at = now()');
    work.service.refusal = new TokenNotHereError('the file is not there');
    await work.add('b');
    await work.start();
    await work.until("e.status = 'done' and e.error is null");
    await expect
      .poll(() => work.ask("select listing_error from obsync_accounts.accounts where name = 'b'"))
      .toEqual([{ listing_error: 'the file is not there' }]);
    expect(await work.ask(`${times.replace('due_at', 'listing_due_at')}.accounts where name = 'b'`)).toEqual([
      { due: 't', later: 't' },
    ]);
  });

  test('take no jobs of an account that is left to others', async () => {
    const work = await workTest();
    await work.put({ account: 'a', environment: 'e1' }, { list: 'a' }, { account: 'b', environment: 'e1' });
    const queue = await openJobQueue(work.database, { onWarning: () => {} });
    onTestFinished(() => queue.close());
    expect((await queue.take(5, ['a'])).map(({ data }) => data)).toEqual([{ account: 'b', environment: 'e1' }]);
    expect(await queue.take(5, [])).toHaveLength(2);
  });

  test('list again a minute after a failure, and after twice the time each, an hour at most', async () => {
    const work = await workTest();
    await work.add('a');
    const minutes = 'select round(extract(epoch from listing_due_at - now()) / 60) as m from obsync_accounts.accounts';
    for (const [ago, m] of [
      ['1 s', '1'],
      ['8 min', '8'],
      ['1 day', '60'],
    ]) {
      await work.ask(`update obsync_accounts.accounts set added_at = now() - interval '${ago}'`);
      await noteListing(work.database, 'a', { error: 'no answer', isListed: false });
      expect(await work.ask(minutes)).toEqual([{ m }]);
    }
  });

  test('note what went wrong, and sync again at the next time, not at once', async () => {
    const work = await workTest(async (key) => {
      if (key === 'a/e1') throw new SyncError('usage', 'the variable A is not set');
      return { status: 'problems', error: 'a stream failed', recovery: null };
    });
    work.service.listed.set('a', environments('e1', 'e2'));
    await work.add('a');
    await work.start();
    await work.until("e.status = 'problems' and e.due_at > now()");
    const rows = await work.ask('select env_id, error, synced_at from obsync_accounts.account_environments order by 1');
    expect(rows).toEqual([
      { env_id: 'e1', error: 'the variable A is not set', synced_at: null },
      { env_id: 'e2', error: 'a stream failed', synced_at: null },
    ]);
    expect(work.service.begun.toSorted()).toEqual(['a/e1', 'a/e2']);
  });

  test('take up new accounts, environments that come and go, and other cron expressions, without a restart', async () => {
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
    // As when its environments are to be listed again.
    await work.ask('update obsync_accounts.accounts set listing_due_at = now(), queue_at = now()');
    await work.until("e.status = 'done' and e.env_id in ('e2', 'e3')");
    expect((await work.ask(dueAt)).map(({ name }) => name)).toEqual(['Second', 'Three']);
    work.service.listed.set('b', environments('e1'));
    await work.add('b');
    await work.until("e.status = 'done' and (select count(*) from obsync_accounts.account_environments) = 3");
    expect(work.service.begun).toEqual(
      ['a/e1', 'a/e2', 'a/e3', 'b/e1'].sort((x, y) => work.service.begun.indexOf(x) - work.service.begun.indexOf(y)),
    );
  });

  test('bring back a job that was lost', async () => {
    const work = await workTest();
    work.service.listed.set('a', environments('e1'));
    await work.add('a');
    const first = await work.start();
    await work.until("e.status = 'done'");
    await first.stop();
    // As if it had been in the queue for long, and the queue had lost it.
    await work.ask(
      "update obsync_accounts.account_environments set due_at = now() - interval '1 hour', queue_at = now()",
    );
    await work.ask('delete from obsync_jobs.job');
    await work.start();
    await work.until('e.due_at > now()');
    expect(work.service.begun).toEqual(['a/e1', 'a/e1']);
  });

  test('end a job of an account or an environment that was removed meanwhile', async () => {
    const work = await workTest();
    await work.put({ account: 'gone', environment: 'e1' }, { list: 'gone' });
    const { events } = await work.start();
    await expect.poll(() => events).toHaveLength(3);
    const ended = events.filter((event) => event.type === 'job');
    expect(ended.map(({ result }) => result)).toEqual(['not due', 'not due']);
    expect(work.service.begun).toEqual([]);
    expect(await work.ask("select 1 from obsync_jobs.job where state <> 'completed'")).toEqual([]);
  });
});
