/** Two clocks of a machine, read at the same moment, in milliseconds. */
export interface MachineTime {
  /** Since 1970. It may be wrong, and may be set at any time. */
  readonly wallMs: number;
  /** Since the machine started. It cannot be set. */
  readonly uptimeMs: number;
}

/** Two clocks of one machine that were not set differ by less, even if one counts whole seconds. */
const TOLERANCE_MS = 1500;

/**
 * How far the wall clock jumped between two moments, beyond the time that passed. In doubt, less time has passed, so a
 * wait gets longer, never too short (R1, R23). After a restart, only the wall clock tells how much has.
 */
export function clockJumpMs(before: MachineTime, now: MachineTime): number {
  const wallMs = now.wallMs - before.wallMs;
  const uptimeMs = now.uptimeMs - before.uptimeMs;
  if (wallMs < 0) return wallMs;
  if (uptimeMs < 0) return 0;
  return wallMs - uptimeMs > TOLERANCE_MS ? wallMs - uptimeMs : 0;
}
