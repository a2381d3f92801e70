import { randomUUID } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import pg from 'pg';
import { withSchema } from '../src/api/accounts-database.ts';
import { startRunThread } from '../src/api/thread/in-thread.ts';
import { addressOf } from '../src/settings/addresses/mirror-address.ts';
import { syncSettings, watchOf } from '../src/settings/sync-settings.ts';
import { nextTick } from '../src/sync/schedule-cron.ts';
import { openWorkDatabase, type WorkDatabase } from '../src/workers/database.ts';
import { migrateAccounts } from '../src/workers/migrate.ts';
import { workUntilStopped } from '../src/workers/worker.ts';
import { furnish } from '../test/model/furnish.ts';
import { createWorld } from '../test/model/world.ts';
import { startServer } from '../test/support/postgres/server.ts';
import { serveWorld } from '../test/support/world-server.ts';

/** Counts the statements that this process sends, including begin and commit. */
const statements = countStatements();

function countStatements(): () => number {
  let count = 0;
  const { query } = pg.Client.prototype;
  pg.Client.prototype.query = function counted(this: pg.Client, ...args: unknown[]) {
    count++;
    return Reflect.apply(query, this, args);
  } as typeof query;
  return () => count;
}

export interface WorkCosts {
  /** Empty jobs on one worker. */
  readonly jobs: { readonly perSecond: number; readonly statementsEach: number };
  /** One idle worker. */
  readonly idle: { readonly statementsPerSecond: number; readonly connections: number };
  /** A sync without changes. */
  readonly sync: {
    readonly cpuSeconds: number;
    readonly requests: number;
    readonly transactions: number;
    readonly connections: number;
  };
}

const ENVIRONMENTS = 10_000;

/** Measures the inputs of the simulation on a real server on this machine. */
export async function measureCosts(): Promise<WorkCosts> {
  const server = await startServer();
  try {
    const address = addressOf(server.url);
    if (address.kind === 'file') throw new Error('no server');
    const database = openWorkDatabase(address);
    await migrateAccounts(database);
    await fillQueue(database);
    const jobs = await measureJobs(database);
    const idle = await measureIdle(database);
    await database.close();
    console.error(JSON.stringify({ jobs, idle }));
    const sync = await measureSync(server.url);
    console.error(JSON.stringify({ sync }));
    return { jobs, idle, sync };
  } finally {
    await server.remove();
  }
}

/** All accounts are due at once. */
async function fillQueue(database: WorkDatabase): Promise<void> {
  await database.query(
    `insert into obsync_accounts.accounts (name, base_url, token_env, mirror_schema, cron, delay_seconds, options, listing_due_at)
      select 'a' || n, 'https://x.example', 'A', 'a' || n, '0 * * * *', 0, '{}', now() + interval '1 hour' from generate_series(1, ${ENVIRONMENTS}) n`,
  );
  await database.query(
    `insert into obsync_accounts.account_environments (account, env_id, name, due_at, queue_at)
      select 'a' || n, 'e', 'e', now() - interval '1 s', now() - interval '1 s' from generate_series(1, ${ENVIRONMENTS}) n`,
  );
  await database.query('analyze');
}

/** Takes jobs from the full queue for a while. */
async function measureJobs(database: WorkDatabase): Promise<WorkCosts['jobs']> {
  const [jobs, before, begun] = [1000, statements(), performance.now()];
  await workUntil(database, (done) => done >= jobs);
  return { perSecond: jobs / seconds(begun), statementsEach: (statements() - before) / jobs };
}

async function measureIdle(database: WorkDatabase): Promise<WorkCosts['idle']> {
  await database.query(
    "update obsync_accounts.account_environments set due_at = now() + interval '1 day', queue_at = now() + interval '1 day'",
  );
  const before = statements();
  const begun = performance.now();
  await workUntil(database, () => seconds(begun) > 20);
  const { rows } = await database.query(
    `select count(*)::int as n from pg_stat_activity where datname = current_database() and backend_type = 'client backend'`,
  );
  return { statementsPerSecond: (statements() - before) / seconds(begun), connections: Number(rows[0]?.['n']) };
}

/** Runs a worker whose syncs do nothing until it has done enough. */
async function workUntil(database: WorkDatabase, isEnough: (done: number) => boolean): Promise<void> {
  const stopping = new AbortController();
  let done = 0;
  const timer = setInterval(() => isEnough(done) && stopping.abort(), 100);
  await workUntilStopped(
    {
      database,
      next: nextTick,
      sync: async () => {
        if (isEnough(++done)) stopping.abort();
        return { status: 'done', error: null, recovery: null };
      },
      list: async () => [],
      onEvent: (event) => event.type === 'trouble' && console.error(event.message),
    },
    { worker: randomUUID(), host: 'bench', pid: process.pid, concurrency: 4 },
    stopping.signal,
  );
  clearInterval(timer);
}

async function measureSync(url: string): Promise<WorkCosts['sync']> {
  const world = createWorld(['e1']);
  for (const place of world.environments.values()) furnish(place);
  const service = await serveWorld(world);
  const db = withSchema(url, 'measured');
  // What a sync costs in which no scan is due (R13).
  const settings = syncSettings({ db, baseUrl: service.url, token: 'the-token', env: ['e1'], fullEvery: 7 });
  // Reused, as a worker does.
  const thread = startRunThread();
  const sync = () => thread.run('sync', settings, watchOf({}));
  const admin = new pg.Client(url);
  await admin.connect();
  const watcher = new pg.Client(url);
  await watcher.connect();
  const ask = (sql: string): Promise<number> => count(admin, sql);
  try {
    await sync();
    world.advance(3600);
    await sync();
    const runs = 10;
    let most = 0;
    let isAsking = false;
    const timer = setInterval(async () => {
      if (isAsking) return;
      isAsking = true;
      most = Math.max(most, await count(watcher, CONNECTIONS));
      isAsking = false;
    }, 20);
    const [cpu, before] = [process.cpuUsage(), await ask(TRANSACTIONS)];
    let requests = 0;
    for (let run = 0; run < runs; run++) {
      // Scores are read once an hour.
      world.advance(3600);
      const summary = await sync();
      if (summary.status !== 'done') throw new Error(summary.error ?? summary.status);
      requests += summary.requests;
    }
    clearInterval(timer);
    const { user, system } = process.cpuUsage(cpu);
    const transactions = (await ask(TRANSACTIONS)) - before;
    return {
      cpuSeconds: (user + system) / 1e6 / runs,
      requests: requests / runs,
      transactions: transactions / runs,
      connections: most,
    };
  } finally {
    await thread.close();
    await admin.end();
    await watcher.end();
    await service.close();
  }
}

async function count(client: pg.Client, sql: string): Promise<number> {
  return Number(Object.values((await client.query(sql)).rows[0])[0]);
}

const TRANSACTIONS = 'select xact_commit from pg_stat_database where datname = current_database()';
const CONNECTIONS = `select count(*) from pg_stat_activity where backend_type = 'client backend' and application_name = 'obsync'`;

function seconds(sinceMs: number): number {
  return (performance.now() - sinceMs) / 1000;
}

if (import.meta.main) console.log(JSON.stringify(await measureCosts(), null, 2));
