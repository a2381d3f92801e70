import type { QuotaState } from '../quota/quota-state.ts';

/**
 * Changes an account's quota and returns a result. It may be called again, with a newer state, if it is unknown whether
 * the change was stored.
 */
export type QuotaChange<Result> = (
  state: QuotaState,
  nowMs: number,
) => { readonly state: QuotaState; readonly result: Result };

/** Stores the state of one account's quota (R23). */
export interface QuotaKeeper {
  /** Reads, changes and stores the state, with exclusive access. `nowMs` is by the keeper's own clock. */
  change<Result>(quotaChange: QuotaChange<Result>): Promise<Result>;
  close(): Promise<void>;
}
