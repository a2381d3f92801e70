import { type RecoveryKind, SyncError } from '../../core/errors.ts';
import type { Source } from '../../core/ports/source.ts';
import { reconcile } from '../../core/schedule/environments.ts';
import { chooseEnvironments } from '../../core/schedule/wanted-environments.ts';
import { secondsBetween } from '../../core/time/instant.ts';
import { clock, type SyncSettings } from '../../settings/sync-settings.ts';
import { CATALOGUE, type CollectionName } from '../../streams/catalogue.ts';
import { attempt } from './local-facts.ts';
import type { ListFacts, ServiceFacts } from './service-checks.ts';

/** A list of each scope, and that of the scores, whose scope the service doesn't state. */
const ASKED: readonly CollectionName[] = ['assets', 'tests', 'asset_health_scores'];

/** Lists the environments and, of one of them, one row of each list. */
export async function askService(
  source: Source,
  { baseUrl, environments: wanted }: SyncSettings,
  unshared: () => string | null,
): Promise<ServiceFacts> {
  const startedMs = performance.now();
  const listed = await settled(source.environments());
  const seconds = (performance.now() - startedMs) / 1000;
  const now = clock();
  const environments = reconcile(listed.value ?? [], [], now).listed;
  const chosen = await attempt(() => chooseEnvironments(environments, wanted));
  const environment = 'value' in chosen ? (chosen.value[0] ?? null) : null;
  const lists: ListFacts[] = [];
  for (const stream of environment === null ? [] : CATALOGUE.filter(({ name }) => ASKED.includes(name))) {
    const path = [String(environment?.id), ...stream.path];
    const { error } = await settled(source.page({ path, query: { limit: 1 }, cursor: null }));
    lists.push({ stream: stream.name, error });
  }
  const { newestReading } = source.times();
  return {
    host: new URL(baseUrl).host,
    error: listed.error,
    seconds,
    environments,
    choiceError: 'error' in chosen ? chosen.error : null,
    lists,
    environment: environment?.name ?? null,
    aheadSeconds: newestReading === null ? null : secondsBetween(newestReading, now),
    quota: source.quota?.() ?? null,
    unshared: unshared(),
  };
}

/** What a promise returned, or the error that it failed with. */
async function settled<Value>(
  promise: Promise<Value>,
): Promise<{ value: Value; error: null } | { value: null; error: { message: string; recovery: RecoveryKind } }> {
  try {
    return { value: await promise, error: null };
  } catch (error) {
    if (!(error instanceof SyncError)) throw error;
    const { message, recovery } = error;
    return { value: null, error: { message, recovery } };
  }
}
