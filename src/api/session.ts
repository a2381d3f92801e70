import { performance } from 'node:perf_hooks';
import { setTimeout as sleepFor } from 'node:timers/promises';
import { loadKeptQuota } from '../../state/quota-store.ts';
import { closeAfter } from '../core/close-after.ts';
import type { Source, SourceEvent } from '../core/ports/source.ts';
import { remainingWindow } from '../core/quota/quota.ts';
import { reconcile } from '../core/schedule/environments.ts';
import type { MirrorStore } from '../destination/mirror-store.ts';
import type { CollectionsEvent, SyncEvent } from '../settings/options.ts';
import { clock, type SyncSettings, selectStreams, type WorkWatch } from '../settings/sync-settings.ts';
import { createHttpSource } from '../source/http-source.ts';
import { CATALOGUE } from '../streams/catalogue.ts';
import { runSync } from '../sync/run.ts';
import type { RunSummary } from '../sync/summary.ts';
import { openStore } from './open-store.ts';
import { openQuotaKeeper } from './quota-keeper.ts';
import { openReporter } from './run-alerts.ts';

export async function runOnce(settings: SyncSettings, watch: WorkWatch<SyncEvent>): Promise<RunSummary> {
  const store = await openStore(settings.db);
  const source = openSource(store, settings, watch);
  const reporter = settings.alerts && openReporter(settings.alerts, settings, watch);
  let summary: RunSummary | null = null;
  // The run does not wait for it.
  const begun = reporter?.begin();
  try {
    const ports = {
      source,
      keptQuota: settings.keptQuota ?? null,
      mirrorExists: await store.exists(),
      openMirror: () => store.open(watch.signal, { quietMs: BATCH_MS, alertRules: settings.alerts?.rules ?? [] }),
      clock,
      signal: watch.signal,
      onProgress: (event: CollectionsEvent) => watch.onProgress(event),
      ...(reporter && { onEnd: reporter.send }),
    };
    const options = { ...settings, limits: store.limits, catalogue: CATALOGUE, streams: selectStreams(settings) };
    summary = await runSync(ports, options);
    return summary;
  } catch (error) {
    throw store.explain(error);
  } finally {
    await source.close();
    await begun;
    await reporter?.end(summary);
  }
}

/** The service, for requests outside of a run. They stay within the quota that earlier runs and requests left (R23). */
export async function resumeSource(settings: SyncSettings, watch: WorkWatch<SourceEvent>): Promise<Source> {
  const store = await openStore(settings.db);
  const source = openSource(store, settings, watch);
  const ofLastRun = (await store.exists()) ? await store.read(loadKeptQuota) : null;
  const left = remainingWindow([ofLastRun, settings.keptQuota ?? null], clock());
  if (left !== null) source.resumeQuota?.(left);
  return source;
}

/** The list of environments, and the account's quota as its responses stated it. */
export type EnvironmentListing = Awaited<ReturnType<typeof requestEnvironments>>;

/** Requests the list of environments that the token may see, outside of a run. @throws SyncError */
export async function requestEnvironments(settings: SyncSettings, watch: WorkWatch<SourceEvent>) {
  const { limits } = await openStore(settings.db);
  return closeAfter(await resumeSource(settings, watch), async (source) => {
    const environments = await source.environments();
    const { listed } = reconcile(environments, [], clock(), limits);
    return { opening: { environments, times: source.times() }, listed, quota: source.quota?.() ?? null };
  });
}

/** The service, without what earlier runs left of its quota. */
export function openSource(
  store: MirrorStore,
  settings: SyncSettings,
  { signal, onProgress }: WorkWatch<SourceEvent>,
): Source {
  return createHttpSource({
    ...settings,
    quotaKeeper: openQuotaKeeper(
      { ...settings, openInDatabase: (account, nowMs) => store.openQuotaKeeper(account, nowMs, signal) },
      (reason) => onProgress({ type: 'unshared', reason }),
    ),
    userAgent: 'obsync',
    signal,
    clock: { nowMs: () => performance.now(), utcMs: () => Date.now() },
    sleep: (delayMs, stop) => sleepFor(delayMs, undefined, { signal: stop }),
    random: Math.random,
    lists: LISTS,
    onEvent: onProgress,
  });
}

/** The lists of a whole environment; a history belongs to one test. */
const LISTS = CATALOGUE.map((stream) => stream.path).filter((path) => !path.includes('{id}'));

/** How long checkpoints of pages without changes wait to be committed together: an idle run writes almost nothing. */
const BATCH_MS = 1000;
