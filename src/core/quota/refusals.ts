/**
 * The refusals (429) of one request. If every request is refused, the account is, and no refusal counts as a failed try
 * (R23). If others pass, only this request is refused, and its list fails like any other (R9).
 */
export interface RefusalState {
  /** When the last refusal came; null before the first. */
  readonly lastMs: number | null;
  /** How many came in a row while no other request passed. */
  readonly inRow: number;
  /** Whether other requests passed between two refusals. */
  readonly isSingledOut: boolean;
}

export const NO_REFUSALS: RefusalState = { lastMs: null, inRow: 0, isSingledOut: false };

/** After this many refusals in a row, it is unclear whether the account or only this request is refused. */
const DOUBTFUL_REFUSALS = 2;

/** Adds a refusal. `lastPassMs` is when the last passed request was sent; null if none has passed. */
export function addRefusal(before: RefusalState, nowMs: number, lastPassMs: number | null): RefusalState {
  const isAlone = isFailedTry(before, lastPassMs);
  return {
    lastMs: nowMs,
    inRow: isAlone ? 1 : before.inRow + 1,
    isSingledOut: before.isSingledOut || isAlone,
  };
}

/** Whether a new refusal counts as a failed try: another request was sent after the last refusal and passed. */
export function isFailedTry({ lastMs }: RefusalState, lastPassMs: number | null): boolean {
  return lastMs !== null && lastPassMs !== null && lastPassMs > lastMs;
}

/** Whether to probe before the refused request is sent again, to find out whether only this request is refused. */
export function needsProbe(state: RefusalState, lastPassMs: number | null): boolean {
  if (state.lastMs === null || isFailedTry(state, lastPassMs)) return false;
  return state.isSingledOut || state.inRow >= DOUBTFUL_REFUSALS;
}
