/** What a process reads to tell the account's time. */
export interface AccountTimeReading {
  /** The clock that all processes share. It may be set at any time. */
  readonly clockMs: number;
  /** How far that clock is ahead of the account's time, because it was set. */
  readonly offsetMs: number;
  /** The last account time that was stored. */
  readonly writtenMs: number;
  /** The monotonic clock of this process. */
  readonly ownMs: number;
  /** The same reading by this process last time; null the first time. */
  readonly seen: { readonly atMs: number; readonly ownMs: number } | null;
}

/** The most that reading the shared clock may take. */
export const TOLERANCE_MS = 1500;

/** The account's time, unaffected when the clock is set. In doubt, less time has passed: waits get longer (R1, R23). */
export function accountTime(reading: AccountTimeReading): { readonly atMs: number; readonly offsetMs: number } {
  const { clockMs, offsetMs, writtenMs, ownMs, seen } = reading;
  const statedMs = clockMs - offsetMs;
  const passedMs = seen === null ? statedMs : seen.atMs + ownMs - seen.ownMs;
  const atMs = Math.max(writtenMs, statedMs - passedMs > TOLERANCE_MS ? passedMs : statedMs);
  return { atMs, offsetMs: clockMs - atMs };
}
