import type { QuotaState } from '../quota/quota-state.ts';

/**
 * Changes the state of an account's quota, and tells what came of it. It may be made again, and with a newer state,
 * when nobody knows whether it was made.
 */
export type QuotaChange<Result> = (
  state: QuotaState,
  nowMs: number,
) => { readonly state: QuotaState; readonly result: Result };

/** Where the state of one account's quota is kept (R23). */
export interface QuotaKeeper {
  /**
   * Takes the state, changes it and puts it back. Nobody else has it meanwhile. `nowMs` is by the keeper's own clock.
   */
  change<Result>(quotaChange: QuotaChange<Result>): Promise<Result>;
  close(): Promise<void>;
}
