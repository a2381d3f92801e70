import { performance } from 'node:perf_hooks';
import { accountKey } from '../../state/account-key.ts';
import { fileKeeper, machineTime, quotaFilePath } from '../../state/quota-file.ts';
import type { QuotaKeeper } from '../core/quota-keeper.ts';
import { type QuotaRowOptions, rowKeeper } from '../destination/postgres/quota-row.ts';
import { memoryKeeper } from '../source/memory-keeper.ts';
import type { SyncSettings } from './sync-settings.ts';

export interface QuotaSettings extends Pick<SyncSettings, 'baseUrl' | 'token' | 'shareQuota'> {
  /** Does work in a transaction of the mirror's database; left out for a mirror in a file. */
  readonly transaction?: QuotaRowOptions['transaction'];
}

/** The keeper of the account's quota that the settings ask for. `onUnshared` is told once if this process has to count alone. */
export function openQuotaKeeper(
  { baseUrl, token, shareQuota, transaction }: QuotaSettings,
  onUnshared: (reason: string) => void,
): QuotaKeeper | undefined {
  if (!shareQuota) return undefined;
  const account = accountKey({ baseUrl, token });
  const shared =
    transaction === undefined
      ? fileKeeper({ path: quotaFilePath, account, now: machineTime })
      : rowKeeper({ transaction, account, nowMs: () => performance.now() });
  return sharedIfPossible(shared, onUnshared);
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
