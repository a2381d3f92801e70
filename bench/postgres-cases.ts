import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { setTimeout as sleepFor } from 'node:timers/promises';
import { SyncError } from '../src/core/errors.ts';
import type { PostgresAddress } from '../src/destination/postgres/address.ts';
import { createPresence, openLastingConnection } from '../src/destination/postgres/presence.ts';
import { refreshReplica } from '../src/destination/refresh-replica.ts';
import { holdReplicaLog } from '../src/destination/sqlite/replica-file.ts';
import { loadStore } from '../src/destination/stores.ts';
import { addressOf } from '../src/settings/addresses/mirror-address.ts';
import { startQuotaServer } from '../test/support/quota-server.ts';
import { delayingProxy } from './delaying-proxy.ts';
import type { Bench } from './measure.ts';
import type { BenchServer } from './postgres-server.ts';

/** Kills a sync midway. @returns the time until another process held the environment, in ms */
export async function takeoverMs(bench: Bench, sync: readonly string[], db: string): Promise<number> {
  const address = addressOf(db) as PostgresAddress;
  const presence = createPresence({
    owner: randomUUID(),
    connect: () => openLastingConnection(address),
    nowMs: () => performance.now(),
    after: () => () => undefined,
    onLapsed: () => undefined,
    sleep: (delayMs) => sleepFor(delayMs),
    random: Math.random,
  });
  const killed = bench.kill(sync, HALF_WAY, db).then(() => performance.now());
  const takenOverMs = (async () => {
    await killed;
    for (;;) if (await isHeld(() => presence.hold(['bench'], NEVER))) return performance.now();
  })();
  const ms = (await takenOverMs) - (await killed);
  await presence.close();
  return ms;
}

/** The request at which the holder is killed. */
const HALF_WAY = 10;
const NEVER = '0001-01-01T00:00:00.000000Z';

async function isHeld(hold: () => Promise<void>): Promise<boolean> {
  try {
    await hold();
    return true;
  } catch (error) {
    if (error instanceof SyncError && error.recovery === 'locked') return false;
    throw error;
  }
}

/** How processes together used an account's quota. */
export interface QuotaUse {
  /** Requests that each window accepted, except the last one, when nothing was left to send. */
  readonly accepted: readonly number[];
  readonly refused: number;
  readonly roundTripsPerRequest: number;
}

/** What a refresh of a replica cost. */
export interface RefreshCost {
  readonly what: string;
  readonly rows: number;
  readonly clientSeconds: number;
  readonly serverSeconds: number;
  readonly wallSeconds: number;
}

/**
 * Makes a replica of the mirror, and refreshes it as a follower, without changes and after 1 % of the rows changed. The
 * first time, rows that became longer split full pages of the new file; later, pages have room. With a million rows,
 * some refreshes also copy the log into the file. The server is vacuumed first, as it does by itself within a minute.
 */
export async function refreshCosts(
  bench: Bench,
  server: Pick<BenchServer, 'cpuSeconds' | 'ask'>,
  sync: (db: string) => Promise<unknown>,
  db: string,
): Promise<RefreshCost[]> {
  await sync(db);
  await server.ask('vacuum');
  const store = await loadStore(addressOf(db), () => NEVER);
  const source = await store.openReplicaSource?.();
  if (source === undefined) throw new Error(`${store.display} has no replicas`);
  const place = { path: `${bench.db}.replica`, isOwn: true };
  let releaseLog: (() => void) | null = null;
  const measured = async (what: string): Promise<RefreshCost> => {
    const [client, wall, of] = [process.cpuUsage(), performance.now(), server.cpuSeconds()];
    const { rows } = await refreshReplica(source, place, { signal: new AbortController().signal });
    const { user, system } = process.cpuUsage(client);
    const wallSeconds = (performance.now() - wall) / 1000;
    return { what, rows, clientSeconds: (user + system) / 1e6, serverSeconds: server.cpuSeconds() - of, wallSeconds };
  };
  try {
    const costs = [await measured('a new replica')];
    releaseLog = holdReplicaLog(place.path);
    costs.push(await measured('nothing changed'));
    for (const [what, edges] of CHANGES) {
      await bench.change(edges);
      await sync(db);
      costs.push(await measured(what));
    }
    return costs;
  } finally {
    releaseLog?.();
    await source.close();
  }
}

const AGAIN = ['1 % changed, again', undefined] as const;
const REPLACED = ['1 % changed, and their edges', 'edges'] as const;
const CHANGES = [['1 % changed, for the first time', undefined], AGAIN, AGAIN, REPLACED, REPLACED] as const;

const WINDOWS = 4;
const WINDOW_MS = 2000;
export const QUOTA = 120;

/** This many processes send requests for several windows, within one quota that a row of the server keeps. */
export async function quotaUse(serverUrl: string, processes: number): Promise<QuotaUse> {
  const api = await startQuotaServer({ limit: QUOTA, windowMs: WINDOW_MS, isFixed: true });
  const proxy = await delayingProxy(serverUrl, 0);
  const requests = (QUOTA * WINDOWS) / processes;
  const started = Array.from({ length: processes }, () =>
    spawn(process.execPath, ['test/support/quota-process.ts', api.url, String(requests), 'row'], {
      env: { ...process.env, OBSYNC_TEST_SERVER: proxy.url },
      stdio: ['ignore', 'ignore', 'inherit'],
    }),
  );
  const codes = await Promise.all(started.map(async (child) => Number((await once(child, 'exit'))[0])));
  if (codes.some((code) => code !== 0)) throw new Error(`processes of the quota ended ${codes.join(', ')}`);
  const { roundTrips } = proxy.traffic();
  await Promise.all([api.close(), proxy.close()]);
  const total = api.accepted.reduce((sum, count) => sum + count, 0);
  return { accepted: api.accepted.slice(0, -1), refused: api.refused(), roundTripsPerRequest: roundTrips / total };
}
