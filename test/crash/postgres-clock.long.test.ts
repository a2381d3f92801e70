import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { describe, expect, onTestFinished, test } from 'vitest';
import { openStore } from '../../src/api/open-store.ts';
import { LEASE_MS } from '../../src/core/schedule/lease.ts';
import { putAsset, removeAsset } from '../model/environment.ts';
import { HOUR } from '../model/world.ts';
import { shiftingProxy } from '../support/postgres/shifting-proxy.ts';
import { transactionPooler } from '../support/postgres/transaction-pooler.ts';
import { postgresServer, type TestSchema, testSchema } from '../support/postgres.ts';
import { startHoldProcess } from '../support/start-hold-process.ts';
import { expectMirrored, quiet, rowsOf, standing } from './postgres-reference.ts';
import { startSync } from './postgres-writer.ts';
import { freshPath } from './scenes.ts';
import { serveWorld } from './served-world.ts';
import { syncFile } from './sync-file.ts';

const DAY = 86_400;

/** A service, and a mirror on a server whose clock is off by this many seconds. */
async function setUp(seconds: number) {
  const proxy = await shiftingProxy(await postgresServer(), seconds);
  const schema = await testSchema(proxy.url);
  onTestFinished(async () => {
    await schema.drop();
    await proxy.close();
  });
  const world = standing(['e1']);
  let meet = async (): Promise<void> => {};
  const url = await serveWorld(world, async (_, path) => {
    const met = meet;
    // Only requests after the environment was claimed count.
    if (path[0] !== 'environments') meet = async () => {};
    if (path[0] !== 'environments') await met();
    return true;
  });
  return {
    proxy,
    schema,
    world,
    url,
    sync: () => startSync(url, schema.url, 'e1').ended,
    /** Runs an action in the middle of the next sync, before the service replies. */
    inTheMiddle(act: () => Promise<void>) {
      meet = act;
    },
  };
}

const DONE = { code: 0, stderr: '' };

const REFUSED = {
  code: 4,
  stderr: expect.stringMatching(
    /^obsync: another process syncs environment e1 [^\n]+ its lease expires 30 s after its last heartbeat\n$/,
  ),
};

async function kill(child: ChildProcess): Promise<void> {
  child.kill('SIGKILL');
  await once(child, 'exit');
}

/**
 * Resolves when the only process with a lease has renewed it, which it does at once because it loses its connection.
 */
async function nextSign({ ask }: TestSchema): Promise<void> {
  const look = async () => String((await ask('select backend from lease_owners'))[0]?.['backend']);
  const before = await look();
  await ask(`select pg_terminate_backend(${Number.parseInt(before, 10)})`);
  await expect.poll(look, { interval: 20 }).not.toBe(before);
}

/** The first and the last of the mirror's own times. */
async function ownTimes({ ask }: TestSchema): Promise<{ first: number; last: number }> {
  const [row] =
    await ask(`select extract(epoch from min(at)) * 1000 as first, extract(epoch from max(at)) * 1000 as last
    from (select mirrored_at as at from mirror_environments union all select mirrored_at from assets union all
      select mirrored_at from columns union all select started_at from sync_runs union all
      select ended_at from sync_runs) t`);
  return { first: Number(row?.['first']), last: Number(row?.['last']) };
}

describe.each([
  ['a day ahead', DAY],
  ['a day behind', -DAY],
])('a server whose clock is %s', (_, seconds) => {
  test('a mirror there has the same rows as a file, with the times of this machine (R21)', async () => {
    const { schema, world, sync } = await setUp(seconds);
    const file = freshPath();
    const place = world.environment();
    const changes = [
      () => {},
      () => putAsset(place, 'a4', { tags: ['new'] }),
      () => removeAsset(place, 'a2', 'tombstone'),
    ];
    const fromMs = Date.now();
    for (const change of changes) {
      change();
      // Scans, which are due after an hour, make marks in any order.
      world.advance(HOUR / 2);
      expect(await sync()).toMatchObject(DONE);
      expect(await syncFile(file, world)).toMatchObject({ summary: { status: 'done' } });
      await expectMirrored(schema.url, rowsOf(file));
    }
    const [{ gone } = {}] = await schema.ask('select count(*) as gone from assets where deleted_at is not null');
    expect(gone).toBe('1');
    const { first, last } = await ownTimes(schema);
    expect(first).toBeGreaterThanOrEqual(fromMs);
    expect(last).toBeLessThanOrEqual(Date.now());
  });

  test('only one process writes at a time, and another one is refused in one clear line (R26)', async () => {
    const { schema, world, sync, inTheMiddle } = await setUp(seconds);
    const { contents } = await quiet(world);
    const others: unknown[] = [];
    inTheMiddle(async () => void others.push(await sync()));
    expect(await sync()).toMatchObject(DONE);
    expect(others).toMatchObject([REFUSED]);
    await expectMirrored(schema.url, contents);
  });
});

describe('the server’s clock jumps while a process holds an environment (R26)', () => {
  test('a day ahead: another process may take it, and then the first one commits nothing and exits 4', async () => {
    const { proxy, schema, world, sync, inTheMiddle } = await setUp(0);
    const { contents } = await quiet(world);
    let after: unknown[] = [];
    let days = 0;
    // It may renew its lease right after a jump.
    const jumpAndSync = () => {
      days += 1;
      proxy.shift(days * DAY);
      return sync();
    };
    inTheMiddle(async () => {
      await expect.poll(jumpAndSync, { interval: 20 }).toMatchObject(DONE);
      after = await schema.ask('select * from sync_checkpoints order by stream');
    });
    const displaced = await sync();
    expect(displaced).toMatchObject({
      code: 4,
      stderr: expect.stringMatching(/^obsync: another process has taken environment e1[^\n]+\n$/),
    });
    expect(await schema.ask('select * from sync_checkpoints order by stream')).toEqual(after);
    await expectMirrored(schema.url, contents);
  });

  test('a day back: a live process keeps it and renews its lease by the new time', async () => {
    const { proxy, schema, sync } = await setUp(DAY);
    expect(await sync()).toMatchObject(DONE);
    const mirror = await (await openStore(schema.url)).open(new AbortController().signal);
    onTestFinished(() => mirror.close());
    await mirror.hold(['e1']);
    proxy.shift(0);
    expect(await sync()).toMatchObject(REFUSED);
    // The rest of its old lease expires just before the next check, but not a renewed one.
    proxy.shift(LEASE_MS / 1000 - 1);
    await nextSign(schema);
    proxy.shift(LEASE_MS / 1000 + 1);
    expect(await sync()).toMatchObject(REFUSED);
  });

  test('a day back: an environment held by a dead process is free at once', async () => {
    const { proxy, schema, sync } = await setUp(DAY);
    expect(await sync()).toMatchObject(DONE);
    await kill(await startHoldProcess(schema.url, ['e1']));
    // The server notices a moment later that its client is gone.
    const backends = "select 1 from pg_stat_activity, lease_owners where pid = split_part(backend, ' ', 1)::int";
    await expect.poll(() => schema.ask(backends), { interval: 20 }).toEqual([]);
    proxy.shift(0);
    expect(await sync()).toMatchObject(DONE);
  });

  test('a day back: an environment held by a dead process behind a pooler is free within one lease', async () => {
    const { proxy, schema, url, sync } = await setUp(DAY);
    const pooler = await transactionPooler(proxy.url);
    onTestFinished(() => pooler.close());
    expect(await sync()).toMatchObject(DONE);
    const pooled = new URL(schema.url);
    pooled.host = new URL(pooler.url).host;
    const syncPooled = () => startSync(url, pooled.href, 'e1').ended;
    await kill(await startHoldProcess(pooled.href, ['e1']));
    proxy.shift(0);
    expect(await syncPooled()).toMatchObject(REFUSED);
    proxy.shift(LEASE_MS / 1000);
    expect(await syncPooled()).toMatchObject(DONE);
  });
});
