import type { Socket } from 'node:net';
import { setTimeout as sleepFor } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import { isTransient } from '../../../src/destination/postgres/lost-connection.ts';
import { migratePostgres } from '../../../src/destination/postgres/migrations.ts';
import { openConnection } from '../../../src/destination/postgres/open-connection.ts';
import { openPool } from '../../../src/destination/postgres/pool.ts';
import { openLastingConnection } from '../../../src/destination/postgres/presence.ts';
import { queryPostgres } from '../../../src/destination/postgres/query.ts';
import { addressOf } from '../../../src/settings/addresses/mirror-address.ts';
import { openWorkDatabase } from '../../../src/workers/database.ts';
import { type CuttingProxy, cuttingProxy } from '../../support/postgres/cutting-proxy.ts';
import { tcpProxy } from '../../support/postgres/tcp-proxy.ts';
import { transactionPooler } from '../../support/postgres/transaction-pooler.ts';
import { postgresServer, testSchema } from '../../support/postgres.ts';

/** Sends statements one at a time over one connection. */
interface Asker {
  ask(sql: string): Promise<unknown>;
  close(): Promise<unknown>;
}

type Address = Exclude<ReturnType<typeof addressOf>, { kind: 'file' }>;

const KINDS: Readonly<Record<string, (address: Address) => Asker | Promise<Asker>>> = {
  'a pool'(address) {
    const pool = openPool({ ...address, maxConnections: 1 });
    return { ask: (sql) => pool.transaction((inside) => inside.query(sql)), close: pool.close };
  },
  async 'a lease'(address) {
    const lasting = await openLastingConnection(address);
    return { ask: (sql) => lasting.transaction((inside) => inside.query(sql)), close: lasting.close };
  },
  async 'a command'(address) {
    const open = await openConnection(address);
    return { ask: (sql) => open.query(sql), close: open.close };
  },
  'a worker'(address) {
    const database = openWorkDatabase(address);
    return { ask: (sql) => database.query(sql), close: database.close };
  },
};

function addressAt(url: string, answerTimeoutMs: number): Address {
  const address = addressOf(url);
  if (address.kind === 'file') throw new Error(`${url} is a file`);
  return { ...address, answerTimeoutMs };
}

async function askerAt(kind: string, url: string, answerTimeoutMs: number): Promise<Asker> {
  const asker = await KINDS[kind]?.(addressAt(url, answerTimeoutMs));
  if (asker === undefined) throw new Error(kind);
  let closing: Promise<unknown> | undefined;
  const close = (): Promise<unknown> => {
    closing ??= asker.close();
    return closing;
  };
  onTestFinished(async () => void (await close()));
  return { ...asker, close };
}

describe.each(Object.keys(KINDS))('the connection of %s', (kind) => {
  test('it is closed when the server falls silent, before a statement or before its answer', async () => {
    for (const when of ['before', 'after'] as const) {
      let isDue = false;
      const proxy: CuttingProxy = await cuttingProxy(await postgresServer(), () => {
        if (isDue) proxy.silenceAll(when);
      });
      onTestFinished(() => proxy.close());
      const asker = await askerAt(kind, proxy.url, 200);
      await asker.ask('select 1');
      isDue = true;
      await expect(asker.ask('select 1')).rejects.toThrow();
    }
  });

  test('it closes without waiting for a server that fell silent', async () => {
    const clients: Socket[] = [];
    const proxy = await tcpProxy(await postgresServer(), (client, upstream) => {
      clients.push(client);
      client.pipe(upstream).pipe(client);
    });
    const asker = await askerAt(kind, proxy.url, 3_600_000);
    await asker.ask('select 1');
    // The proxy does not notice that the client hangs up, either.
    for (const client of clients) client.unpipe().pause();
    await asker.close();
    await proxy.close();
  });
});

/** Long enough that even a slow machine opens a connection in half the time. */
const ENOUGH_MS = 3000;

describe.each(['direct', 'behind a pooler'])('a long-running statement, %s', (way) => {
  test('it keeps its connection however long the server works on it', async () => {
    const schema = await testSchema();
    const [locking, lock] = [openPool({ ...addressAt(schema.serverUrl, ENOUGH_MS), maxConnections: 1 }), 7_171_717];
    const pooler = way === 'direct' ? null : await transactionPooler(schema.serverUrl, 20);
    let sent = 0;
    const proxy = await cuttingProxy(pooler?.url ?? schema.serverUrl, () => {
      sent += 1;
    });
    onTestFinished(async () => {
      await locking.close();
      await proxy.close();
      await pooler?.close();
    });
    const askers = await Promise.all(Object.keys(KINDS).map((kind) => askerAt(kind, proxy.url, ENOUGH_MS)));
    const asked = await locking.transaction(async (inside) => {
      await inside.query('select pg_advisory_xact_lock($1)', [lock]);
      const answers = askers.map(({ ask }) => ask(`select pg_advisory_xact_lock_shared(${lock})`));
      const settled = Promise.allSettled(answers);
      let isCut = false;
      for (const answer of answers)
        answer.catch(() => {
          isCut = true;
        });
      // Each check whether the server is still working takes several messages on a separate connection.
      const before = sent;
      const enough = before + askers.length * 3 * QUESTIONS;
      await expect.poll(() => isCut || sent > enough, { interval: 50 }).toBe(true);
      return { settled };
    });
    expect((await asked.settled).map(({ status }) => status)).toEqual(askers.map(() => 'fulfilled'));
  });
});

/** If one of them gets no answer, the connection is given up before the second one. */
const QUESTIONS = 3;

const SILENCE_MS = 1000;

test('a slow reader of a result keeps its connection', async () => {
  const schema = await testSchema();
  onTestFinished(() => schema.drop());
  const proxy = await cuttingProxy(schema.serverUrl);
  onTestFinished(() => proxy.close());
  const pool = openPool({ ...addressAt(schema.url, ENOUGH_MS), maxConnections: 1 });
  onTestFinished(() => pool.close());
  await pool.session((connection) => migratePostgres(connection, schema.schema));
  const through = addressAt(schema.url.replace(new URL(schema.serverUrl).host, new URL(proxy.url).host), SILENCE_MS);
  const sql = 'select n from generate_series(1, 5000) as n';
  const result = await queryPostgres(through, { sql, parameters: [], bigints: false, timeoutSeconds: 0 });
  let rows = 0;
  for await (const portion of result.portions) {
    // Longer than the allowed silence.
    if (rows === 0) await sleepFor(2 * SILENCE_MS);
    rows += portion.length;
  }
  expect(rows).toBe(5000);
});

test('a connection lost to silence is a transient failure', async () => {
  const proxy = await cuttingProxy(await postgresServer());
  onTestFinished(() => proxy.close());
  const asker = await askerAt('a pool', proxy.url, 200);
  await asker.ask('select 1');
  proxy.silenceAll('before');
  const error = await asker.ask('select 1').catch((reason: unknown) => reason);
  expect(isTransient(error)).toBe(true);
});
