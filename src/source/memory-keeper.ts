import type { QuotaKeeper } from '../core/ports/quota-keeper.ts';
import { type QuotaState, UNKNOWN_QUOTA } from '../core/quota/quota-state.ts';

/** Stores the state of the quota in memory, for one source alone. */
export function memoryKeeper(nowMs: () => number): QuotaKeeper {
  let kept: QuotaState = UNKNOWN_QUOTA;
  return {
    async change(quotaChange) {
      const { state, result } = quotaChange(kept, nowMs());
      kept = state;
      return result;
    },
    async close() {},
  };
}
