/** Two clocks of a machine, read at the same moment, in milliseconds. */
export interface MachineTime {
  /** Since 1970. It may be wrong, and it may be set at any time. */
  readonly wallMs: number;
  /** Since the machine was started. Nobody sets it. */
  readonly uptimeMs: number;
}

/** Two clocks of one machine that nobody set differ by less, even if one counts in whole seconds. */
const TOLERANCE_MS = 1500;

/**
 * By how much the wall clock jumped between two moments: what it moved without time having passed. In doubt less time
 * has passed, so that a wait becomes longer and never too short (R1, R23). After a restart the wall clock alone tells
 * how much has.
 */
export function clockJumpMs(before: MachineTime, now: MachineTime): number {
  const wallMs = now.wallMs - before.wallMs;
  const uptimeMs = now.uptimeMs - before.uptimeMs;
  if (wallMs < 0) return wallMs;
  if (uptimeMs < 0) return 0;
  return wallMs - uptimeMs > TOLERANCE_MS ? wallMs - uptimeMs : 0;
}
