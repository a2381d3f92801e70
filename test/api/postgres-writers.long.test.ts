import { once } from 'node:events';
import { describe, expect, onTestFinished, test } from 'vitest';
import { openStore } from '../../src/api/open-store.ts';
import { accountKey } from '../../src/api/quota-keeper.ts';
import { NO_PROGRESS } from '../../src/core/checkpoint.ts';
import { LEASE_MS } from '../../src/core/schedule/lease.ts';
import type { Stream } from '../../src/core/stream.ts';
import { openPool } from '../../src/destination/postgres/pool.ts';
import { openQuotaDatabase } from '../../src/destination/postgres/store.ts';
import type { PostgresConnection } from '../../src/destination/postgres/transaction.ts';
import { sync } from '../../src/index.ts';
import { addressOf } from '../../src/settings/addresses/mirror-address.ts';
import { CATALOGUE } from '../../src/streams/catalogue.ts';
import { HOUR } from '../model/world.ts';
import { transactionPooler } from '../support/postgres/transaction-pooler.ts';
import { postgresServer, temporarySchema } from '../support/postgres.ts';
import { servedWorld } from '../support/served-world.ts';
import { startHoldProcess } from '../support/start-hold-process.ts';

const START = '2026-11-20T04:10:00.000000Z';

/** Two environments mirrored in PostgreSQL, with later changes at the source. */
async function setUp(host?: string) {
  const quota = () => ({ 'ratelimit-limit': '1000', 'ratelimit-remaining': '900', 'ratelimit-reset': '60' });
  const { world, server } = await servedWorld(['e1', 'e2'], quota);
  const schema = await temporarySchema();
  const db = new URL(schema.url);
  db.host = host ?? db.host;
  const options = { baseUrl: server.url, token: 'the-token', db: db.href };
  expect(await sync(options)).toMatchObject({ status: 'done', error: null });
  world.advance(2 * HOUR);
  return { world, schema, options };
}

const neverStop = new AbortController().signal;

async function openMirror(db: string) {
  return (await openStore(db)).open(neverStop);
}

/** Opens a mirror and takes the leases of environments. */
async function holdMirror(db: string, ...envIds: string[]) {
  const mirror = await openMirror(db);
  await mirror.hold(envIds);
  return mirror;
}

function onePool(db: string) {
  const address = addressOf(db);
  if (address.kind !== 'postgres') throw new Error('not in PostgreSQL');
  return openPool({ ...address, maxConnections: 1 });
}

/** Syncs the environments of a live process as if its heartbeat were overdue; it may still send one in between. */
async function takeOver({ schema, options }: Pick<Awaited<ReturnType<typeof setUp>>, 'schema' | 'options'>) {
  const lapseAndSync = async () => {
    await schema.ask('update lease_owners set until_ms = 0');
    return sync(options);
  };
  await expect.poll(lapseAndSync, { interval: 20 }).toMatchObject({ status: 'done' });
}

describe('one writer per environment of a mirror in PostgreSQL (R26)', () => {
  test('a live process is never displaced; other environments are free', async () => {
    const { schema, options } = await setUp();
    const mirror = await holdMirror(schema.url, 'e1');
    const refused = await sync(options);
    expect(refused).toMatchObject({ run: null, recovery: 'locked', error: expect.stringContaining('environment e1') });
    expect(await sync({ ...options, env: ['e2'] })).toMatchObject({ status: 'done' });
    await mirror.close();
    expect(await sync(options)).toMatchObject({ status: 'done' });
  });

  test('the environments of a killed process are taken over immediately', async () => {
    const { schema, options } = await setUp();
    const child = await startHoldProcess(schema.url, ['e1', 'e2']);
    expect(await sync(options)).toMatchObject({ recovery: 'locked' });
    child.kill('SIGKILL');
    await once(child, 'exit');
    // The server notices a moment later that its client is gone.
    await expect.poll(() => sync(options), { interval: 20 }).toMatchObject({ status: 'done' });
  });

  test('a process with an expired lease commits nothing after another one has taken the environment', async () => {
    const { schema, options } = await setUp();
    const mirror = await holdMirror(schema.url, 'e1', 'e2');
    await takeOver({ schema, options });
    const before = await schema.ask('select * from sync_checkpoints order by env_id, stream');
    const [assets] = CATALOGUE;
    const commit = { kind: 'page', checkpoint: NO_PROGRESS } as const;
    const lost = mirror.destination('e1', 1).commit(assets as Stream, commit, new Set());
    await expect(lost).rejects.toMatchObject({ recovery: 'locked' });
    expect(await schema.ask('select * from sync_checkpoints order by env_id, stream')).toEqual(before);
    await mirror.close();
  });

  test('a process whose environment was taken writes nothing more, not even the end of its run', async () => {
    const { schema, options } = await setUp();
    const mirror = await openMirror(schema.url);
    const id = await mirror.state.beginRun(START, 'sync');
    await mirror.hold(['e1', 'e2']);
    await takeOver({ schema, options });
    const everything = async () => {
      const tables = await schema.ask(
        "select relname from pg_class where relnamespace = current_schema()::regnamespace and relkind = 'r' and relname <> 'lease_owners' order by 1",
      );
      return Promise.all(
        tables.map(async ({ relname }) => [relname, await schema.ask(`select * from ${relname} t order by t::text`)]),
      );
    };
    const before = await everything();
    const none = { rows_written: 0, rows_deleted: 0, rows_rejected: 0, requests: 0 };
    const times = { started_at: START, ended_at: START };
    const stream = {
      ...none,
      ...times,
      run_id: id,
      env_id: 'e1',
      stream: 'assets',
      mode: 'scan',
      reason: 'first',
      status: 'done',
      pages: 1,
      rows_late: 0,
      requests: 1,
      error: null,
    } as const;
    const end = { ...none, status: 'done', error: null, server_time: null, ended_at: START, left_over: null } as const;
    for (const write of [
      () => mirror.state.recordStreamRun(stream),
      () =>
        mirror.state.saveListLengths([
          { env_id: 'e1', stream: 'assets', variant: '{}', rows: 1, pages: 1, page_size: 9 },
        ]),
      () => mirror.state.endRun({ id, cycle: id }, end),
      () => mirror.state.forgetRun(id),
    ])
      await expect(write()).rejects.toMatchObject({ recovery: 'locked' });
    expect(await everything()).toEqual(before);
    await mirror.close();
  });

  test('a process that loses only its connection renews its leases immediately and keeps its environments', async () => {
    const { schema, options } = await setUp();
    const mirror = await holdMirror(schema.url, 'e1');
    const backend = async () => String((await schema.ask('select backend from lease_owners'))[0]?.['backend']);
    const before = await backend();
    await schema.ask(`select pg_terminate_backend(${Number.parseInt(before, 10)})`);
    await expect.poll(backend, { interval: 20 }).not.toBe(before);
    expect(await sync(options)).toMatchObject({ recovery: 'locked' });
    await mirror.close();
  });

  test('a process that waits for another one’s commit is refused like any second writer', async () => {
    const { schema, options } = await setUp();
    const mirror = await holdMirror(schema.url, 'e1');
    const pool = onePool(schema.url);
    const refused = await pool.transaction(async (connection) => {
      await connection.query("update mirror_environments set last_mark = last_mark where env_id = 'e1'");
      return sync(options);
    });
    expect(refused).toMatchObject({ recovery: 'locked', error: expect.stringContaining('environment e1') });
    await pool.close();
    await mirror.close();
  });

  test('a process that hangs in a transaction keeps its row locks up to its lease, and a quota for ten seconds', async () => {
    const { schema } = await setUp();
    const pool = onePool(schema.url);
    const quotas = openQuotaDatabase(pool, { schema: schema.schema, signal: neverStop });
    const longestMs = async (inside: PostgresConnection) =>
      (
        await inside.query(
          "select extract(epoch from current_setting('idle_in_transaction_session_timeout')::interval) * 1000 as ms",
        )
      ).rows;
    expect(await pool.transaction(longestMs)).toEqual([{ ms: LEASE_MS }]);
    expect(await quotas.transaction(longestMs)).toEqual([{ ms: 10_000 }]);
    await quotas.close();
  });

  test('after the server clock is set back, earlier leases expire in time and no other lease early', async () => {
    const { schema, options } = await setUp();
    await schema.ask("insert into lease_owners values ('gone', 9999999999999, null)");
    // A heartbeat recorded while this process was checking.
    const soon = `(extract(epoch from now()) * 1000)::bigint + ${LEASE_MS + 10_000}`;
    await schema.ask(`insert into lease_owners values ('alive', ${soon}, null)`);
    const untilOf = (owner: string) => schema.ask(`select until_ms from lease_owners where owner = '${owner}'`);
    const before = await untilOf('alive');
    await schema.ask("update mirror_environments set lease_owner = 'gone'");
    expect(await sync(options)).toMatchObject({ recovery: 'locked' });
    const [{ left_ms } = {}] = await schema.ask(
      "select until_ms - extract(epoch from now()) * 1000 as left_ms from lease_owners where owner = 'gone'",
    );
    expect(Number(left_ms)).toBeLessThanOrEqual(LEASE_MS);
    expect(await untilOf('alive')).toEqual(before);
  });

  test('lookups of a displaced process leave nothing behind for the process that took its environment', async () => {
    const { schema, options } = await setUp();
    const mirror = await holdMirror(schema.url, 'e1', 'e2');
    await takeOver({ schema, options });
    const marks = { lastMark: 0, run: 1, settledBefore: null };
    const query = { about: 'candidates', mode: 'scan', after: '', before: null, ...marks } as const;
    const [assets] = CATALOGUE;
    await expect(mirror.destination('e1', 1).backlog(assets as Stream, query)).rejects.toMatchObject({
      recovery: 'locked',
    });
    await mirror.close();
  });

  test('behind a pooler in transaction mode a sync works and no process is presumed dead', async () => {
    const pooler = await transactionPooler(await postgresServer());
    onTestFinished(() => pooler.close());
    const { schema, options } = await setUp(new URL(pooler.url).host);
    const mirror = await holdMirror(options.db, 'e1');
    expect(await schema.ask('select backend from lease_owners')).toEqual([{ backend: null }]);
    expect(await sync(options)).toMatchObject({ recovery: 'locked' });
    await mirror.close();
    expect(await sync(options)).toMatchObject({ status: 'done' });
  });
});

test('all processes of a database share the account’s quota in one row (R23)', async () => {
  const { schema, options } = await setUp();
  const account = accountKey(options);
  const rows = await schema.ask(`select account from obsync_accounts.account_quotas where account = '${account}'`);
  expect(rows).toHaveLength(1);
});
