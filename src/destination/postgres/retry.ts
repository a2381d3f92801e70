import { setTimeout as sleepFor } from 'node:timers/promises';
import { retryDelayMs } from '../../core/quota/retry-delay.ts';
import { LEASE_MS } from '../../core/schedule/lease.ts';
import { isTransient, UnknownOutcome } from './lost-connection.ts';
import type { PostgresDatabase, TransactionWork } from './transaction.ts';

/** How to wait, and a random number from 0 to 1. */
export interface RetryWaiting {
  sleep(ms: number, signal?: AbortSignal): Promise<unknown>;
  random(): number;
  /** Stops waiting once aborted. */
  readonly signal?: AbortSignal;
  /** Once waiting for the server has failed, nothing waits any more. */
  readonly patience?: { isOver: boolean };
}

export const WAITING: RetryWaiting = {
  sleep: (delayMs, signal) => sleepFor(delayMs, undefined, { signal }),
  random: Math.random,
};

/** With the usual delays, the last try comes some twenty seconds after the first; a server restarts in less. */
const MAX_ATTEMPTS = 7;

/** Does repeatable work, and retries it if it conflicted with another transaction or the connection was lost. */
export async function withRetry<Done>(waiting: RetryWaiting, work: () => Promise<Done>): Promise<Done> {
  const { signal, patience } = waiting;
  for (let failures = 1; ; failures += 1) {
    try {
      return await work();
    } catch (error) {
      if (!isTransient(error) || signal?.aborted) throw error;
      if (failures === MAX_ATTEMPTS && patience !== undefined) patience.isOver = true;
      if (failures === MAX_ATTEMPTS || patience?.isOver) throw error;
      const delayMs = retryDelayMs({ failures, random: waiting.random(), retryAfterMs: null, maxWaitMs: 0 });
      // The original error says more than the aborted wait.
      await waiting.sleep(delayMs, signal).catch(() => {});
    }
  }
}

/**
 * Does work in a transaction that is committed exactly once: if the connection is lost during the commit, the server is
 * asked for its outcome.
 */
export function writeOnce<Done>(
  database: PostgresDatabase,
  waiting: RetryWaiting,
  work: TransactionWork<Done>,
): Promise<Done> {
  return withRetry(waiting, async () => {
    const done: Done[] = [];
    const noting: TransactionWork<Done> = async (inside) => {
      const result = await work(inside);
      done.push(result);
      return result;
    };
    try {
      return await database.transaction(noting, 'write-once');
    } catch (error) {
      if (!(error instanceof UnknownOutcome) || error.transaction === null || done.length === 0) throw error;
      if (await isCommitted(database, waiting, error.transaction)) return done[0] as Done;
      throw error;
    }
  });
}

/**
 * Whether a transaction was committed. It is in progress until the server notices that its client is gone; if only the
 * network failed, that is when its idle time-out ends it.
 */
async function isCommitted(database: PostgresDatabase, waiting: RetryWaiting, transaction: string): Promise<boolean> {
  for (let waitedMs = 0; ; waitedMs += POLL_MS) {
    const asking: TransactionWork<unknown> = async (inside) => {
      const { rows } = await inside.query('select pg_xact_status($1::xid8) as status', [transaction]);
      return rows[0]?.['status'];
    };
    const status = await withRetry(waiting, () => database.transaction(asking, 'read'));
    if (status !== 'in progress') return status === 'committed';
    if (waitedMs > 2 * LEASE_MS || waiting.signal?.aborted) throw new UnknownOutcome(null, transaction);
    await waiting.sleep(POLL_MS, waiting.signal).catch(() => {});
  }
}

const POLL_MS = 1000;
