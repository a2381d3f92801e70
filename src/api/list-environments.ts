import type { SourceEvent } from '../core/ports/source.ts';
import type { AccountQuota } from '../core/quota/quota.ts';
import { type ListedEnvironment, reconcile } from '../core/schedule/environments.ts';
import { clock, type SyncSettings, type WorkWatch } from '../settings/sync-settings.ts';
import type { RunOpening } from '../sync/forecast.ts';
import { openStore } from './open-store.ts';
import { resumeSource } from './session.ts';

/** The list of environments, and the account's quota as its responses stated it. */
export interface EnvironmentListing {
  readonly opening: RunOpening;
  /** The environments that the token may see. */
  readonly listed: readonly ListedEnvironment[];
  readonly quota: AccountQuota | null;
}

/** Requests the list of environments outside of a run. @throws SyncError */
export async function requestEnvironments(
  settings: SyncSettings,
  watch: WorkWatch<SourceEvent>,
): Promise<EnvironmentListing> {
  const { limits } = await openStore(settings.db);
  const source = await resumeSource(settings, watch);
  try {
    const environments = await source.environments();
    const { listed } = reconcile(environments, [], clock(), limits);
    return { opening: { environments, times: source.times() }, listed, quota: source.quota?.() ?? null };
  } finally {
    await source.close();
  }
}

/** The environments that the token may see. @throws SyncError */
export async function listEnvironments(
  settings: SyncSettings,
  signal: AbortSignal,
): Promise<readonly ListedEnvironment[]> {
  return (await requestEnvironments(settings, { signal, onProgress: () => {} })).listed;
}
