/** How long an owner keeps its environments without a sign of life, in milliseconds. */
export const LEASE_MS = 30_000;

/** How often an owner gives a sign of life, in milliseconds. */
export const HEARTBEAT_MS = LEASE_MS / 3;

/** The one writer of an environment (R26), as others know it. */
export interface LeaseHolder {
  readonly owner: string;
  /** Until when it is believed to live, in milliseconds of the database's clock. */
  readonly untilMs: number;
  /** Whether the database knows that the holder's connection has ended. */
  readonly isGone: boolean;
}

/** Whether an owner may take an environment: a holder that lives is never displaced (R26). */
export function mayTake(holder: LeaseHolder | null, owner: string, nowMs: number): boolean {
  return holder === null || holder.owner === owner || holder.isGone || holder.untilMs <= nowMs;
}
