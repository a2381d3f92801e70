/** How long an owner keeps its environments without a heartbeat, in milliseconds. */
export const LEASE_MS = 30_000;

/** The interval of the owner's heartbeats, in milliseconds. */
export const HEARTBEAT_MS = LEASE_MS / 3;

/** The one writer of an environment (R26), as other processes see it. */
export interface LeaseHolder {
  readonly owner: string;
  /** Until when it is presumed alive, in milliseconds of the database's clock. */
  readonly untilMs: number;
  /** Whether the database knows that the holder's connection has ended. */
  readonly isGone: boolean;
}

/** Whether an owner may take an environment: a live holder is never displaced (R26). */
export function mayTake(holder: LeaseHolder | null, owner: string, nowMs: number): boolean {
  return holder === null || holder.owner === owner || holder.isGone || holder.untilMs <= nowMs;
}
