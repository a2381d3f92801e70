import { closeAfter } from '../../core/close-after.ts';
import type { Source } from '../../core/ports/source.ts';
import { reconcile } from '../../core/schedule/environments.ts';
import { chooseEnvironments } from '../../core/schedule/wanted-environments.ts';
import { secondsBetween } from '../../core/time/instant.ts';
import { clock, type SyncSettings } from '../../settings/sync-settings.ts';
import { CATALOGUE } from '../../streams/catalogue.ts';
import { openSource, resumeSource } from '../session.ts';
import { type FactError, type FoundFact, factOf, type LocalFacts } from './local-facts.ts';

/** A list of each scope, and that of the scores, whose scope the service doesn't state. */
const ASKED = CATALOGUE.filter(({ name }) => ['assets', 'tests', 'asset_health_scores'].includes(name));

/** For the quota, or while other processes' requests are in flight. */
const LONGEST_WAIT_MS = 10_000;

export type ServiceFacts = Awaited<ReturnType<typeof askService>>;

/** Lists the environments and, of one of them, one row of each list. */
export async function askService(
  { store, mirror, database }: Pick<LocalFacts, 'store' | 'mirror' | 'database'>,
  given: SyncSettings,
  signal: AbortSignal,
) {
  let unshared: string | null = null;
  const onProgress = (event: { type: string; reason?: string }): void => {
    if (event.type === 'unshared') unshared = event.reason ?? '';
  };
  const maxWaitMs = Math.min(LONGEST_WAIT_MS, given.timeoutMs);
  const shareQuota = given.shareQuota && !(database && 'error' in database);
  const settings = { ...given, retries: 0, concurrency: 1, maxWaitMs, shareQuota };
  const isReadable = mirror && 'value' in mirror && mirror.value.found === mirror.value.last;
  const source = isReadable
    ? await resumeSource(settings, { signal, onProgress })
    : openSource(store, settings, { signal, onProgress });
  const facts = await closeAfter(source, () => askSource(source, given));
  return {
    ...facts,
    /** Why the quota is not shared with other processes; null if it is. */
    unshared: unshared as string | null,
  };
}

async function askSource(source: Source, { baseUrl, environments: wanted }: SyncSettings) {
  const startedMs = performance.now();
  let aheadSeconds: number | null = null;
  /** Looks at the clock as soon as there is an answer: the next request may wait long for one. */
  const answer = async <Value>(request: () => Promise<Value>): Promise<FoundFact<Value>> => {
    const before = source.times().newestReading;
    const fact = await factOf(request);
    const { newestReading } = source.times();
    if (newestReading !== null && newestReading !== before) aheadSeconds = secondsBetween(newestReading, clock());
    return fact;
  };
  const listed = await answer(() => source.environments());
  const seconds = (performance.now() - startedMs) / 1000;
  const environments = 'value' in listed ? reconcile(listed.value, [], clock()).listed : [];
  const chosen = await factOf(() => chooseEnvironments(environments, wanted));
  const environment = 'value' in chosen ? chosen.value[0] : undefined;
  const lists: { stream: string; error: FactError | null }[] = [];
  for (const { name: stream, path } of environment === undefined ? [] : ASKED) {
    const request = { path: [String(environment?.id), ...path], query: { limit: 1 }, cursor: null };
    lists.push({ stream, error: errorOf(await answer(() => source.page(request))) });
  }
  return {
    host: new URL(baseUrl).host,
    /** Why the environments could not be listed. */
    error: errorOf(listed),
    seconds,
    requests: source.requests(),
    environments,
    /** Why those of `--env` cannot be read. */
    choiceError: errorOf(chosen)?.message ?? null,
    /** The environment whose lists were asked for. */
    environment: environment?.name ?? null,
    lists,
    /** How far this machine's clock is ahead of the service's; null if no answer had a `Date`. */
    aheadSeconds: aheadSeconds as number | null,
    quota: source.quota?.() ?? null,
  };
}

const errorOf = (fact: FoundFact<unknown>): FactError | null => ('error' in fact ? fact.error : null);
