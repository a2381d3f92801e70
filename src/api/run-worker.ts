import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { AlertChannel } from '../core/alerts/alert.ts';
import type { SourceEvent } from '../core/ports/source.ts';
import { givenAddress } from '../settings/addresses/mirror-address.ts';
import { type AlertSettings, alertSettings } from '../settings/alert-settings.ts';
import { checkOptions } from '../settings/check-options.ts';
import { readNumber } from '../settings/option-error.ts';
import type { CollectionsEvent, OptionsNamed, ProgressOptions, SyncEvent } from '../settings/options.ts';
import { watchOf } from '../settings/sync-settings.ts';
import { nextTick } from '../sync/schedule-cron.ts';
import type { WorkerEvent, WorkerPorts } from '../workers/perform-job.ts';
import { workUntilStopped } from '../workers/worker.ts';
import { createWorkerMetrics } from '../workers/worker-metrics.ts';
import { settingsOfAccount } from './account-settings.ts';
import { openAccountsDatabase } from './accounts-database.ts';
import { serveMetrics } from './serve-metrics.ts';
import { requestEnvironments } from './session.ts';
import { type RunThread, startRunThread } from './thread/in-thread.ts';

/** `concurrency` is the number of parallel syncs. A worker that is stopped releases unfinished jobs. */
export interface WorkOptions
  extends ProgressOptions<WorkEvent>,
    OptionsNamed<'db' | 'dbFile' | 'concurrency' | 'metricsPort' | 'metricsHost' | 'alerts'> {}

export type WorkEvent =
  | WorkerEvent
  | { readonly type: 'started'; readonly worker: string; readonly metrics: string | null }
  | ({ readonly account: string; readonly environment: string } & (
      | { readonly type: 'source'; readonly event: SourceEvent }
      | Extract<CollectionsEvent, { type: 'alerts' }>
    ));

/** Syncs a database's accounts with other workers until `signal` is aborted. @throws SyncError if it can never work */
export async function runWorker(options: WorkOptions): Promise<void> {
  checkOptions(options);
  const concurrency = readNumber('concurrency', options.concurrency);
  const alerts = options.alerts === undefined ? null : alertSettings(options.alerts);
  const { signal, onProgress } = watchOf<WorkEvent>(options);
  const database = await openAccountsDatabase(options, ({ message }) =>
    onProgress({ type: 'trouble', message: `a connection was lost: ${message}` }),
  );
  const threads = threadPool();
  const metrics = createWorkerMetrics(database);
  const identity = { worker: randomUUID(), host: hostname(), pid: process.pid, concurrency };
  const emit = (event: WorkEvent): void => {
    metrics.onEvent(event);
    onProgress(event);
  };
  const opened: { close(): Promise<void> }[] = [threads];
  try {
    const endpoint = await serveMetrics(options, metrics);
    if (endpoint !== null) opened.push(endpoint);
    // One check cannot follow the runs of many mirrors.
    const sent = alerts && { ...alerts, channels: alerts.channels.filter((channel) => !isPing(channel)) };
    const ports: WorkerPorts = {
      database,
      next: nextTick,
      onEvent: emit,
      ...createPorts(givenAddress(options), { alerts: sent, threads, emit }),
    };
    emit({ type: 'started', worker: `${identity.host} ${identity.pid}`, metrics: endpoint?.url ?? null });
    for (const { name } of alerts?.channels.filter(isPing) ?? [])
      emit({ type: 'trouble', message: `workers send nothing to ${name}: a ping channel watches one mirror` });
    await workUntilStopped(ports, identity, signal);
  } catch (error) {
    throw database.explain(error);
  } finally {
    await Promise.allSettled(opened.map((each) => each.close()));
    await database.close();
  }
}

const isPing = ({ type }: AlertChannel): boolean => type === 'ping';

/** Syncs an environment in a thread, and lists environments, each time with the current token (R25). */
function createPorts(
  address: string,
  { alerts, threads, emit }: { alerts: AlertSettings | null; threads: ThreadPool; emit: (event: WorkEvent) => void },
): Pick<WorkerPorts, 'sync' | 'list'> {
  return {
    sync: async (account, environment, signal) => {
      const settings = { ...settingsOfAccount(account, address), environments: [environment.id], alerts };
      const about = { account: account.name, environment: environment.name };
      const onProgress = (event: SyncEvent): void => {
        if (event.type === 'alerts') emit({ ...about, ...event });
        else if (event.type !== 'environments' && event.type !== 'stream' && event.type !== 'ended')
          emit({ type: 'source', ...about, event });
      };
      return threads.use((thread) => thread.run('sync', settings, { signal, onProgress }));
    },
    list: async (account, signal) =>
      (await requestEnvironments(settingsOfAccount(account, address), watchOf({ signal }))).listed,
  };
}

type ThreadPool = ReturnType<typeof threadPool>;

/** Keeps threads for later syncs: starting one takes longer than a sync without changes. */
function threadPool() {
  const all: RunThread[] = [];
  const idle: RunThread[] = [];
  const begin = (): RunThread => {
    const thread = startRunThread();
    all.push(thread);
    return thread;
  };
  return {
    async use<Done>(work: (thread: RunThread) => Promise<Done>): Promise<Done> {
      const thread = idle.pop() ?? begin();
      try {
        return await work(thread);
      } finally {
        idle.push(thread);
      }
    },
    close: async () => void (await Promise.all(all.map((thread) => thread.close()))),
  };
}
