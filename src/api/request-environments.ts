import { closeAfter } from '../core/close-after.ts';
import type { SourceEvent } from '../core/ports/source.ts';
import { reconcile } from '../core/schedule/environments.ts';
import { clock, type SyncSettings, type WorkWatch } from '../settings/sync-settings.ts';
import { openStore } from './open-store.ts';
import { resumeSource } from './session.ts';

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
