import { describe, expect, onTestFinished, test } from 'vitest';
import { withSchema } from '../../src/api/accounts-database.ts';
import { status } from '../../src/index.ts';
import { startApiServer } from '../support/api-server.ts';
import { testDatabase } from '../support/postgres/database.ts';
import { servedWorld } from '../support/served-world.ts';
import { obsync, refusal, type Started, start, TOKEN } from './setup.ts';

const SELDOM = '0 0 29 2 *';

async function setUp() {
  const database = await testDatabase();
  const env = { OBSYNC_DB: database.url, SHOP_TOKEN: TOKEN };
  const until = async (sql: string): Promise<void> => {
    while (Object.values((await database.ask(`select ${sql}`))[0] ?? {})[0] !== 't')
      await new Promise((resolve) => setTimeout(resolve, 50));
  };
  const add = async (name: string, baseUrl: string, ...more: string[]): Promise<void> => {
    const args = [
      'accounts',
      'add',
      name,
      '--base-url',
      baseUrl,
      '--token-env',
      'SHOP_TOKEN',
      '--cron',
      SELDOM,
      ...more,
    ];
    expect((await obsync(args, { env })).code).toBe(0);
  };
  const startWorker = (...args: string[]): Started => {
    const worker = start(['worker', ...args], { env });
    onTestFinished(() => worker.kill('SIGKILL'));
    return worker;
  };
  return { ...database, env, until, add, startWorker };
}

const ALL_DONE = `count(*) filter (where status = 'done' and worker is null) = count(*) from obsync_accounts.account_environments`;

describe('obsync worker', () => {
  test('it syncs accounts into their mirrors, shows that in its log, status --all and metrics, and stops on SIGTERM', async () => {
    const { add, startWorker, until, url, env } = await setUp();
    const { server: shop } = await servedWorld(['e1', 'e2']);
    await add('shop', shop.url);
    await add('lost', 'http://127.0.0.1:1', '--retries', '0');
    const worker = startWorker('--metrics-port', '0');
    await worker.logged('metrics at');
    await until(`count(*) = 2 and ${ALL_DONE}`);
    await until(`listing_error is not null from obsync_accounts.accounts where name = 'lost'`);
    expect(await status({ db: withSchema(url, 'obsync_shop') })).toMatchObject({
      base_url: shop.url,
      last_run: { status: 'done' },
      environments: [{ env_id: 'e1' }, { env_id: 'e2' }],
    });
    const report = JSON.parse((await obsync(['status', '--all', '--json'], { env })).stdout);
    expect(report).toMatchObject({
      accounts: [
        { account: 'lost', error: expect.stringContaining('ECONNREFUSED'), environments: [] },
        {
          account: 'shop',
          error: null,
          environments: [
            { env_id: 'e1', status: 'done', error: null, worker: null, next_run: expect.stringMatching(/-02-29T/) },
            { env_id: 'e2', age_seconds: expect.any(Number) },
          ],
        },
      ],
      workers: [{ pid: expect.any(Number), running: 0, concurrency: 4 }],
    });
    const shown = (await obsync(['status', '--all'], { env })).stdout;
    expect(shown).toMatch(/^2 accounts, 2 environments, 1 worker\n/);
    expect(shown).toMatch(/shop .* done .*-02-29 00:00 UTC/);
    worker.kill('SIGTERM');
    const { code, stderr } = await worker.ended;
    expect(code).toBe(143);
    expect(stderr).not.toContain(TOKEN);
    expect(stderr).toContain('shop, list of environments: listed');
    expect(JSON.parse((await obsync(['status', '--all', '--json'], { env })).stdout).workers).toEqual([]);
  });

  test('it serves metrics of itself, of the queue and of every account', async () => {
    const { add, startWorker, until } = await setUp();
    await add('shop', (await servedWorld()).server.url);
    const worker = startWorker('--metrics-port', '0');
    await worker.logged('metrics at');
    await until(`count(*) = 1 and ${ALL_DONE}`);
    const logged = /metrics at (http:\S+)/;
    await worker.logged('shop, env e1: done');
    const address = logged.exec(worker.said())?.[1] ?? '';
    const text = await (await fetch(address)).text();
    expect(text).toContain('obsync_worker_jobs_total{result="done"} 1');
    expect(text).toContain('obsync_worker_jobs_total{result="listed"} 1');
    expect(text).toMatch(/obsync_worker_requests_total\{status="200"\} \d+/);
    expect(text).toMatch(/obsync_queue_waiting 0\n/);
    expect(text).toMatch(/obsync_account_age_seconds\{account="shop"\} \d/);
    expect((await fetch(address.replace('metrics', ''))).status).toBe(404);
  });

  test('SIGTERM stops a sync after its current page and releases it, and another worker resumes it (R27)', async () => {
    const { add, startWorker, until } = await setUp();
    let stop = (): void => {};
    const last = { items: [], has_more: false, next_cursor: null };
    const list = [{ id: 'e1', name: 'E', cron: null }];
    let [pages, isStopped] = [0, false];
    // The list does not end before the worker does: it may ask for more pages until the signal arrives.
    const api = await startApiServer(({ target }) => {
      if (target.endsWith('/environments')) return { body: list };
      if (isStopped) return { body: last };
      pages += 1;
      if (pages === 1) stop();
      return { body: { items: [], has_more: true, next_cursor: `next-${pages}` } };
    });
    onTestFinished(() => api.close());
    await add('shop', api.url, '--stream', 'assets');
    const first = startWorker();
    stop = () => first.kill('SIGTERM');
    const { code, stderr } = await first.ended;
    isStopped = true;
    expect(code).toBe(143);
    expect(stderr).toContain('shop, E: given back');
    await until(`count(*) = 1 from obsync_accounts.account_environments where worker is null and due_at <= now()`);
    startWorker();
    await until(`count(*) = 1 and ${ALL_DONE}`);
    expect(api.requests.some(({ target }) => target.includes('cursor=next'))).toBe(true);
  });

  test('nothing is lost when workers are killed and stopped at random, and no environment has two writers (R26)', async () => {
    const { add, startWorker, until, ask } = await setUp();
    const names = ['a', 'b', 'c', 'd', 'e', 'f'];
    for (const name of names) await add(name, (await servedWorld(['e1', 'e2'])).server.url, '--page-size', '1');
    let seed = 7;
    const random = (): number => {
      seed = (seed * 16_807) % 2_147_483_647;
      return seed / 2_147_483_647;
    };
    const begun = async (): Promise<number> =>
      Number(
        (
          await ask(
            'select count(*) as n from obsync_accounts.account_environments where worker is not null or status is not null',
          )
        )[0]?.['n'],
      );
    for (let round = 0, seen = 0; round < 4; round++) {
      const workers = [startWorker('--concurrency', '2'), startWorker('--concurrency', '2')];
      await expect.poll(begun).toBeGreaterThan(Math.min(seen, 11));
      for (const worker of workers) worker.kill(random() < 0.5 ? 'SIGKILL' : 'SIGTERM');
      await Promise.all(workers.map(({ ended }) => ended));
      seen = await begun();
    }
    startWorker();
    startWorker();
    await until(`count(*) = 12 and ${ALL_DONE}`);
    for (const name of names) {
      const rows = await ask(
        `select env_id, count(*) as n from obsync_${name}.assets where deleted_at is null group by env_id order by env_id`,
      );
      expect(rows).toEqual([
        { env_id: 'e1', n: '5' },
        { env_id: 'e2', n: '5' },
      ]);
    }
  });

  test('it refuses a mirror file and invalid numbers in one line, and exits 2', async () => {
    expect(await obsync(['worker'])).toEqual(refusal(/accounts are kept in PostgreSQL/));
    const { env } = await setUp();
    expect(await obsync(['worker', '--concurrency', '0'], { env })).toEqual(
      refusal(/--concurrency needs a whole number/),
    );
    expect(await obsync(['worker', '--metrics-port', '70000'], { env })).toEqual(
      refusal(/--metrics-port needs a whole number/),
    );
    const { server: taken } = await servedWorld();
    const port = new URL(taken.url).port;
    expect(await obsync(['worker', '--metrics-port', port], { env })).toEqual(
      refusal(/cannot serve metrics on 127\.0\.0\.1/),
    );
  });
});
