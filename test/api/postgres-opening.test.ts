import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { migrate } from '../../src/api/migrate.ts';
import { openStore } from '../../src/api/open-store.ts';
import { runWorker } from '../../src/api/run-worker.ts';
import { status } from '../../src/api/status.ts';
import { copyMirror } from '../../src/destination/copy-mirror.ts';
import { testDatabase } from '../support/postgres/database.ts';
import { tcpProxy } from '../support/postgres/tcp-proxy.ts';
import { testFolder } from '../support/test-folder.ts';

/** A mirror behind a proxy that resets the next connections while they are being opened. */
async function setUp() {
  const { url } = await testDatabase();
  await migrate({ db: url });
  let resets = 0;
  const proxy = await tcpProxy(url, (client, upstream) => {
    if (resets > 0) {
      resets -= 1;
      client.resetAndDestroy();
      return;
    }
    client.pipe(upstream).pipe(client);
  });
  onTestFinished(() => proxy.close());
  return {
    db: proxy.url,
    reset(count: number) {
      resets = count;
    },
    left: () => resets,
  };
}

const WATCH = { signal: new AbortController().signal, onProgress: () => {} };

async function startWorker(db: string): Promise<void> {
  const stopping = new AbortController();
  await runWorker({
    db,
    signal: stopping.signal,
    onProgress: ({ type }) => void (type === 'started' && stopping.abort()),
  });
}

test.each<[string, (db: string) => Promise<unknown>]>([
  ['a sync that looks for its mirror', async (db) => expect(await (await openStore(db)).exists()).toBe(true)],
  ['status', async (db) => expect(await status({ db })).toMatchObject({ last_run: null })],
  [
    'copy',
    async (db) => {
      const to = join(testFolder(), 'copy.db');
      await copyMirror(await openStore(db), await openStore(to), WATCH);
      expect(existsSync(to)).toBe(true);
    },
  ],
  ['the start of a worker', startWorker],
])('%s retries a connection that is reset while it is being opened', async (_, act) => {
  const { db, reset, left } = await setUp();
  reset(2);
  await act(db);
  expect(left()).toBe(0);
});

test('an unreachable PostgreSQL server is reported immediately, without a retry', async () => {
  const proxy = await tcpProxy((await testDatabase()).url, () => {});
  await proxy.close();
  const error = await status({ db: proxy.url }).catch((reason: unknown) => reason);
  expect(error).toMatchObject({ recovery: 'run', message: expect.stringContaining('nothing listens there') });
});

test('a refused PostgreSQL login is reported immediately, not as a lost connection', async () => {
  const { db, reset } = await setUp();
  reset(1);
  const wrong = new URL(db);
  wrong.pathname = '/no_such_database';
  const error = await status({ db: wrong.href }).catch((reason: unknown) => reason);
  expect(error).toMatchObject({ recovery: 'usage', message: expect.stringContaining('has no such database') });
});
