/**
 * The refusals (429) that one request met. While everything is refused it is the account that is, and no refusal is a failed
 * try (R23); a request that is refused while others pass is refused by itself, and its list fails as any other (R9).
 */
export interface RefusalState {
  /** When the last one came; null before the first. */
  readonly lastMs: number | null;
  /** In a row, while no other request passed. */
  readonly inRow: number;
  /** Others have passed between two of them. */
  readonly isSingledOut: boolean;
}

export const NO_REFUSALS: RefusalState = { lastMs: null, inRow: 0, isSingledOut: false };

/** Without a request that passed, so many refusals leave open whether the account is refused or this request alone. */
const DOUBTFUL_REFUSALS = 2;

/** One more refusal. `lastPassMs` is when the last request was sent that passed; null while none has. */
export function refusedAgain(before: RefusalState, nowMs: number, lastPassMs: number | null): RefusalState {
  const isAlone = hasPassedSince(before, lastPassMs);
  return {
    lastMs: nowMs,
    inRow: isAlone ? 1 : before.inRow + 1,
    isSingledOut: before.isSingledOut || isAlone,
  };
}

/** Whether the refusal that comes now is a failed try: since the one before it, another request was sent and passed. */
export function isFailedTry(before: RefusalState, lastPassMs: number | null): boolean {
  return hasPassedSince(before, lastPassMs);
}

/** Whether another request has to be sent in place of the refused one, to tell who is refused. */
export function needsProbe(refusalState: RefusalState, lastPassMs: number | null): boolean {
  if (refusalState.lastMs === null || hasPassedSince(refusalState, lastPassMs)) return false;
  return refusalState.isSingledOut || refusalState.inRow >= DOUBTFUL_REFUSALS;
}

function hasPassedSince({ lastMs }: RefusalState, lastPassMs: number | null): boolean {
  return lastMs !== null && lastPassMs !== null && lastPassMs > lastMs;
}
