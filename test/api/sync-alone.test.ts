import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { syncAlone } from '../../src/api/sync.ts';
import type { SyncEvent } from '../../src/index.ts';
import { folder } from '../cli/setup.ts';
import { temporarySchema } from '../support/postgres.ts';
import { servedWorld } from '../support/served-world.ts';

/** A service, the options of a sync from it, and how many threads this process has started since. */
async function setUp() {
  const { server } = await servedWorld();
  let threads = 0;
  const count = (): void => {
    threads += 1;
  };
  process.on('worker', count);
  onTestFinished(() => void process.off('worker', count));
  return { options: { baseUrl: server.url, token: 'the-token' }, threads: () => threads };
}

test('a program that only syncs into PostgreSQL starts no thread, and writes the metrics afterwards', async () => {
  const { options, threads } = await setUp();
  const { url: db } = await temporarySchema();
  const textfile = join(folder(), 'obsync.prom');
  expect(await syncAlone({ ...options, db, textfile })).toMatchObject({ status: 'done', error: null });
  expect(readFileSync(textfile, 'utf8')).toContain('obsync_last_run_timestamp_seconds');
  expect(threads()).toBe(0);
});

test('a sync into a file has a thread even in a program that only syncs, because SQLite blocks (R27)', async () => {
  const { options, threads } = await setUp();
  expect(await syncAlone({ ...options, db: join(folder(), 'm.db') })).toMatchObject({ status: 'done' });
  expect(threads()).toBe(1);
});

test('a sync in the thread of its program stops when its signal is aborted, and the next run resumes (R27)', async () => {
  const { options } = await setUp();
  const { url: db } = await temporarySchema();
  const stop = new AbortController();
  const onProgress = ({ type }: SyncEvent): void => (type === 'environments' ? stop.abort() : undefined);
  const stopped = await syncAlone({ ...options, db, concurrency: 1, pageSize: 1, signal: stop.signal, onProgress });
  expect(stopped).toMatchObject({ recovery: 'signal' });
  expect(await syncAlone({ ...options, db })).toMatchObject({ status: 'done' });
});
