import { expect, onTestFinished, test } from 'vitest';
import { addAccount } from '../../src/api/accounts.ts';
import { runWorker, type WorkEvent } from '../../src/api/run-worker.ts';
import type { AlertOptions } from '../../src/settings/options.ts';
import { execute } from '../model/environment.ts';
import { testDatabase } from '../support/postgres/database.ts';
import { servedWorld } from '../support/served-world.ts';
import { fileWith, startReceiver } from './setup.ts';

const DUE = `update obsync_accounts.account_environments set due_at = now() - interval '1 second'`;

async function accountsScene(names: readonly string[]) {
  const database = await testDatabase();
  const worlds = await Promise.all(
    names.map(async (name) => {
      const { world, server } = await servedWorld();
      const tokenFile = fileWith('a-token');
      await addAccount({ db: database.url, name, baseUrl: server.url, tokenFile, cron: '0 0 29 2 *' });
      return world;
    }),
  );
  /** Runs a worker until its sync of every account has ended. */
  const work = async (alerts: AlertOptions): Promise<WorkEvent[]> => {
    const [events, stop] = [[] as WorkEvent[], new AbortController()];
    onTestFinished(() => stop.abort());
    const results = () =>
      events.flatMap((event) => (event.type === 'job' && event.environment !== null ? [event.result] : []));
    const onProgress = (event: WorkEvent): void => {
      events.push(event);
      if (results().length === names.length) stop.abort();
    };
    await runWorker({ db: database.url, alerts, signal: stop.signal, onProgress });
    expect(results()).toEqual(names.map(() => 'done'));
    return events;
  };
  return { ...database, worlds, work };
}

test('a worker decides and sends the alerts of each account in its own mirror, and nothing to a ping channel', async () => {
  const { ask, worlds, work } = await accountsScene(['bank', 'shop']);
  const [receiver, pinged] = [await startReceiver(), await startReceiver()];
  const channels = {
    hook: { type: 'webhook', urlFile: fileWith(receiver.url) },
    check: { type: 'ping', urlFile: fileWith(pinged.url) },
  };
  const alerts = { channels, rules: [{ name: 'failing', when: { kind: 'test' }, to: 'hook' }] };
  const first = await work(alerts);
  expect(first).toContainEqual({
    type: 'trouble',
    message: expect.stringContaining('nothing to check: a ping channel'),
  });
  expect(receiver.posts).toEqual([]);
  for (const world of worlds) {
    world.advance(3600);
    execute(world.environment(), 't2', 't2-r2', { status: 'FAIL' });
  }
  await ask(DUE);
  const events = await work(alerts);
  expect(receiver.posts.map(({ body }) => JSON.parse(body).data.title)).toEqual(
    Array(2).fill('Test t2 fails on a1 (env e1)'),
  );
  const told = events.filter(({ type }) => type === 'alerts');
  expect(told).toHaveLength(2);
  for (const account of ['bank', 'shop']) {
    expect(told).toContainEqual({
      type: 'alerts',
      account,
      environment: 'env e1',
      delivered: 1,
      failed: 0,
      error: null,
    });
    expect(await ask(`select count(*) as n from obsync_${account}.alert_deliveries`)).toEqual([{ n: '1' }]);
  }
  expect(pinged.posts).toEqual([]);
});

test('a worker refuses a rule with an unknown channel before it starts', async () => {
  const rules = [{ name: 'failing', when: { kind: 'test' }, to: 'hook' }];
  await expect(
    runWorker({ db: 'postgres://nobody@127.0.0.1:1/none', alerts: { channels: {}, rules } }),
  ).rejects.toThrow('alerts.rules[0].to needs one of');
});
