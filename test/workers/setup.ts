import { randomUUID } from 'node:crypto';
import { setTimeout as sleepFor } from 'node:timers/promises';
import { onTestFinished } from 'vitest';
import type { ListedEnvironment } from '../../src/core/schedule/environments.ts';
import { addressOf } from '../../src/settings/addresses/mirror-address.ts';
import { nextTick } from '../../src/sync/schedule-cron.ts';
import { type SyncAccount, storeAccount } from '../../src/workers/account-store.ts';
import { openWorkDatabase, type WorkDatabase } from '../../src/workers/database.ts';
import { migrateAccounts } from '../../src/workers/migrate.ts';
import type { SyncResult, WorkerEvent, WorkerPorts } from '../../src/workers/perform-job.ts';
import { workUntilStopped } from '../../src/workers/worker.ts';
import { testDatabase } from '../support/postgres/database.ts';

/** A valid cron expression whose next time is after any test. */
export const SELDOM = '0 0 29 2 *';

export const GOOD: SyncResult = { status: 'done', error: null, recovery: null };

/** The environments that the services list for each account, and the outcome of their syncs. */
export interface TestService {
  readonly listed: Map<string, readonly ListedEnvironment[]>;
  /** Why listing fails; null if it succeeds. */
  refusal: Error | null;
  /** The started syncs, as `account/environment`. */
  readonly begun: string[];
  sync(key: string, signal: AbortSignal): Promise<SyncResult>;
  list(account: string): Promise<readonly ListedEnvironment[]>;
}

type AddedAccount = Partial<SyncAccount> & { listed?: readonly ListedEnvironment[] };

export async function workTest(sync: TestService['sync'] = async () => GOOD, serverUrl?: string) {
  const made = await testDatabase(serverUrl);
  const database = openAt(made.url);
  onTestFinished(() => database.close());
  await migrateAccounts(database);
  const listed: TestService['listed'] = new Map();
  const list: TestService['list'] = async (account) => listed.get(account) ?? [];
  const service: TestService = { listed, refusal: null, begun: [], sync, list };
  return {
    ...made,
    database,
    service,
    /** Adds an account, or changes it; its service lists the environments from then on. */
    async add(name: string, { listed: found, ...more }: AddedAccount = {}): Promise<void> {
      if (found !== undefined) listed.set(name, found);
      await storeAccount(database, { ...PLAIN, name, mirror_schema: name, ...more }, { replace: true });
    },
    /** Starts a worker in this process, with its own connections. */
    start: (concurrency = 2) => startWorker(made.url, service, concurrency),
    /** Resolves when all environments of all accounts satisfy a condition, in SQL over `e`. */
    async until(condition: string): Promise<void> {
      const sql = `select count(*) filter (where ${condition}) = count(*) and count(*) > 0 as all from obsync_accounts.account_environments e`;
      while ((await database.query(sql)).rows[0]?.['all'] !== true) await sleepFor(50);
    },
  };
}

const PLAIN: SyncAccount = {
  name: '',
  base_url: 'https://x.example',
  token_env: 'A',
  token_file: null,
  mirror_schema: '',
  cron: SELDOM,
  delay_seconds: 0,
  options: {},
};

/** Environments with these ids. */
export function environments(...ids: string[]): ListedEnvironment[] {
  return ids.map((id) => ({ id, name: id, cron: null }));
}

function openAt(url: string): WorkDatabase {
  const address = addressOf(url);
  if (address.kind === 'file') throw new Error(`${url} is a file`);
  return openWorkDatabase(address);
}

async function startWorker(url: string, service: TestService, concurrency: number) {
  const database = openAt(url);
  const events: WorkerEvent[] = [];
  const onEvent: WorkerPorts['onEvent'] = (event) => events.push(event);
  const stopping = new AbortController();
  const ports: WorkerPorts = {
    database,
    next: nextTick,
    onEvent,
    async sync(account, { id }, signal) {
      const key = `${account.name}/${id}`;
      service.begun.push(key);
      return service.sync(key, signal);
    },
    async list({ name }) {
      if (service.refusal !== null) throw service.refusal;
      return service.list(name);
    },
  };
  const identity = { worker: randomUUID(), host: 'test', pid: process.pid, concurrency };
  const ended = workUntilStopped(ports, identity, stopping.signal).finally(() => database.close());
  /** Stops the worker like a signal. */
  const stop = async (): Promise<void> => {
    stopping.abort();
    await ended;
  };
  onTestFinished(stop);
  return { events, stop };
}
