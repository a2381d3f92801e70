import { performance } from 'node:perf_hooks';
import { accountKey } from '../../state/account-key.ts';
import { fileKeeper, machineTime, quotaFilePath } from '../../state/quota-file.ts';
import type { QuotaKeeper } from '../core/quota-keeper.ts';
import { memoryKeeper } from '../source/memory-keeper.ts';
import type { SyncSettings } from './sync-settings.ts';

/** The keeper of the account's quota that the settings ask for. `onUnshared` is told once if this process has to count alone. */
export function openQuotaKeeper(
  { baseUrl, token, shareQuota }: Pick<SyncSettings, 'baseUrl' | 'token' | 'shareQuota'>,
  onUnshared: (reason: string) => void,
): QuotaKeeper | undefined {
  if (!shareQuota) return undefined;
  const account = accountKey({ baseUrl, token });
  return sharedIfPossible(fileKeeper({ path: quotaFilePath, account, now: machineTime }), onUnshared);
}

/** A quota that cannot be shared is no reason to fail: a state folder may be missing or read-only. */
function sharedIfPossible(shared: QuotaKeeper, onUnshared: (reason: string) => void): QuotaKeeper {
  const alone = memoryKeeper(() => performance.timeOrigin + performance.now());
  let used = shared;
  return {
    async change(quotaChange) {
      if (used === alone) return alone.change(quotaChange);
      try {
        return await shared.change(quotaChange);
      } catch (error) {
        if (used !== alone) onUnshared(error instanceof Error ? error.message : String(error));
        used = alone;
        return alone.change(quotaChange);
      }
    },
    close: () => shared.close(),
  };
}
