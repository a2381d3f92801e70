import { hash } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import { errorMessage } from '../core/errors.ts';
import type { QuotaChange, QuotaKeeper } from '../core/ports/quota-keeper.ts';
import { detach, mergeQuotaStates, UNKNOWN_QUOTA } from '../core/quota/quota-state.ts';
import type { SyncSettings } from '../settings/sync-settings.ts';

export interface QuotaSettings extends Pick<SyncSettings, 'baseUrl' | 'token' | 'shareQuota'> {
  /** Keeps the quota in the mirror's database; null if a file on this machine keeps it. */
  readonly openInDatabase?: (account: string, nowMs: () => number) => QuotaKeeper | null;
  /** A monotonic clock of this process. */
  readonly nowMs?: () => number;
}

/** Creates the keeper of the account's quota. Calls `onUnshared` when this process starts counting alone. */
export function openQuotaKeeper(
  { baseUrl, token, shareQuota, openInDatabase, nowMs = () => performance.now() }: QuotaSettings,
  onUnshared: (reason: string) => void,
): QuotaKeeper | undefined {
  if (!shareQuota) return undefined;
  const account = accountKey({ baseUrl, token });
  const shared = openInDatabase?.(account, nowMs) ?? keeperInFile(account);
  return withUnsharedFallback(shared, { nowMs, onUnshared });
}

/**
 * The name of an account where its quota is stored (R23). The token cannot be computed from it, but whoever has the key
 * can test a list of tokens against it, so a token must not be guessable (R25).
 */
export function accountKey({ baseUrl, token }: Pick<QuotaSettings, 'baseUrl' | 'token'>): string {
  return hash('sha256', JSON.stringify([baseUrl, token]));
}

/** Loads SQLite at the first change, because a run with a mirror in PostgreSQL needs none of it. */
function keeperInFile(account: string): QuotaKeeper {
  let loading: Promise<QuotaKeeper> | null = null;
  const load = async (): Promise<QuotaKeeper> => {
    const { fileKeeper, machineTime, quotaFilePath } = await import('../../state/quota-file.ts');
    return fileKeeper({ path: quotaFilePath, account, now: machineTime });
  };
  return {
    async change(apply) {
      loading ??= load();
      return (await loading).change(apply);
    },
    close: async () => (await loading)?.close(),
  };
}

/** How long a process counts alone before it retries sharing. */
const RETRY_MS = 30_000;

/**
 * A quota that cannot be shared must not fail the run: the state folder may be missing or read-only. The process
 * continues with the last known state, and merges what it has counted since once sharing works again.
 */
function withUnsharedFallback(
  shared: QuotaKeeper,
  { nowMs, onUnshared }: { readonly nowMs: () => number; readonly onUnshared: (reason: string) => void },
): QuotaKeeper {
  /** The last state that this process saw, and how far the keeper's clock is ahead of its own. */
  let known = { state: UNKNOWN_QUOTA, aheadMs: performance.timeOrigin };
  /** Null while the quota is shared. */
  let retryAtMs: number | null = null;
  const changeAlone = <Result>(apply: QuotaChange<Result>): Result => {
    const { state, result } = apply(known.state, nowMs() + known.aheadMs);
    known = { ...known, state };
    return result;
  };
  const changeShared = async <Result>(apply: QuotaChange<Result>): Promise<Result> => {
    const isReturning = retryAtMs !== null;
    let changed = known;
    const result = await shared.change((state, atMs) => {
      const change = apply(isReturning ? mergeQuotaStates(state, known.state) : state, atMs);
      changed = { state: change.state, aheadMs: atMs - nowMs() };
      return change;
    });
    if (isReturning) retryAtMs = null;
    if (retryAtMs === null) known = changed;
    return result;
  };
  return {
    async change(apply) {
      if (retryAtMs !== null && nowMs() < retryAtMs) return changeAlone(apply);
      try {
        return await changeShared(apply);
      } catch (error) {
        if (retryAtMs === null) {
          onUnshared(errorMessage(error));
          known = { ...known, state: detach(known.state, nowMs() + known.aheadMs) };
        }
        retryAtMs = nowMs() + RETRY_MS;
        return changeAlone(apply);
      }
    },
    close: () => shared.close(),
  };
}
