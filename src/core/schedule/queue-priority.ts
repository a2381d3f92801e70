import type { Instant } from '../time/instant.ts';

/** What has to be synced, and since when. */
export interface WaitingSync {
  /** When it was due, in seconds since 1970. */
  readonly dueSeconds: number;
  /** How many environments of its account are due as well and come before it. */
  readonly ahead: number;
}

/** By how much each further environment of an account is put back. */
const SECONDS_PER_ENVIRONMENT = 60;

/** A start of counting that leaves room: a queue keeps the turn in 32 bits. */
const FROM_SECONDS = 1_767_225_600;

/**
 * The turn of a sync: the lowest comes first. What was due first comes first, but each further environment of one
 * account comes as if it had been due a minute later. So an account with a thousand environments does not keep the
 * others waiting, and nothing waits for ever: what becomes due later has a later turn.
 */
export function turnOf({ dueSeconds, ahead }: WaitingSync): number {
  return Math.floor(dueSeconds) - FROM_SECONDS + ahead * SECONDS_PER_ENVIRONMENT;
}

/**
 * When a sync that is due and in the queue is put there again: the job may have been lost. A job that is still there
 * stays the only one.
 */
export const QUEUE_AGAIN_SECONDS = 900;

/**
 * Since when an environment is due, or when it will be: what is due stays due since then, however often its cron
 * expression is looked at.
 */
export function dueSince(scheduled: Instant | null, before: Instant | null, now: Instant): Instant | null {
  if (scheduled === null || scheduled > now) return scheduled;
  return before !== null && before <= now ? before : now;
}
