/** What is known of an account's time at the moment of a look. */
export interface AccountTimeReading {
  /** The clock that all processes share. It may be set at any time. */
  readonly clockMs: number;
  /** By how much that clock is ahead of the account's time, because it was set. */
  readonly offsetMs: number;
  /** The account's time that was written last. */
  readonly writtenMs: number;
  /** The monotonic clock of this process. */
  readonly ownMs: number;
  /** What this process saw at its last look; null at its first. */
  readonly seen: { readonly atMs: number; readonly ownMs: number } | null;
}

/** An answer may take so long from the shared clock to this process. */
const TOLERANCE_MS = 1500;

/**
 * The account's time: that of a shared clock, as if nobody ever set it. In doubt less time has passed, so that a wait
 * becomes longer and never too short (R1, R23).
 */
export function accountTime(look: AccountTimeReading): { readonly atMs: number; readonly offsetMs: number } {
  const { clockMs, offsetMs, writtenMs, ownMs, seen } = look;
  const statedMs = clockMs - offsetMs;
  const passedMs = seen === null ? statedMs : seen.atMs + ownMs - seen.ownMs;
  const atMs = Math.max(writtenMs, statedMs - passedMs > TOLERANCE_MS ? passedMs : statedMs);
  return { atMs, offsetMs: clockMs - atMs };
}
