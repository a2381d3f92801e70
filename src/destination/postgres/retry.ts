import { retryDelayMs } from '../../core/retry-delay.ts';
import type { PostgresConnection } from './connection.ts';
import { isTransient, UnknownOutcome } from './lost-connection.ts';
import { bothEnded, type PostgresDatabase } from './transaction.ts';

/** How to wait, and a random number from 0 to 1. */
export interface RetryWaiting {
  sleep(ms: number, signal?: AbortSignal): Promise<unknown>;
  random(): number;
  /** Waits no more once it is aborted. */
  readonly signal?: AbortSignal;
  /** Once the server was waited for in vain, nothing is waited for any more. */
  readonly patience?: { isOver: boolean };
}

/** With the usual delays, the last try comes some twenty seconds after the first: a server restarts in less. */
const MOST_TRIES = 7;

/** Does what may be done twice again when it met another transaction or the connection was lost. */
export async function retried<Done>(waiting: RetryWaiting, work: () => Promise<Done>): Promise<Done> {
  const { signal, patience } = waiting;
  for (let failures = 1; ; failures += 1) {
    try {
      return await work();
    } catch (error) {
      if (!isTransient(error) || signal?.aborted) throw error;
      if (failures === MOST_TRIES && patience !== undefined) patience.isOver = true;
      if (failures === MOST_TRIES || patience?.isOver) throw error;
      const delayMs = retryDelayMs({ failures, random: waiting.random(), retryAfterMs: null, maxWaitMs: 0 });
      // The error says more than that the wait was broken off.
      await waiting.sleep(delayMs, signal).catch(() => {});
    }
  }
}

/** Work of one transaction. */
type TransactionWork<Done> = (connection: PostgresConnection) => Promise<Done>;

/** Does work in a transaction that may be done twice: it only reads, or what it writes is the same each time. */
export function readOften<Done>(
  database: PostgresDatabase,
  waiting: RetryWaiting,
  work: TransactionWork<Done>,
): Promise<Done> {
  return retried(waiting, () => database.transaction(work));
}

/**
 * Does work in a transaction that takes place exactly once. If the connection is lost just when it is committed, the server is asked what
 * became of it.
 */
export function writeOnce<Done>(
  database: PostgresDatabase,
  waiting: RetryWaiting,
  work: TransactionWork<Done>,
): Promise<Done> {
  return retried(waiting, async () => {
    const done: { result: Done; transaction: unknown }[] = [];
    try {
      return await database.transaction(async (connection) => {
        // It is sent together with the first statement of the work.
        const asked = connection.query('select pg_current_xact_id()::text as transaction');
        const [{ rows }, result] = await bothEnded(asked, work(connection));
        done.push({ result, transaction: rows[0]?.['transaction'] });
        return result;
      });
    } catch (error) {
      const [last] = done;
      if (!(error instanceof UnknownOutcome) || last === undefined) throw error;
      if (await isCommitted(database, waiting, last.transaction)) return last.result;
      throw error;
    }
  });
}

/** Whether a transaction took place. It is still under way while the server has not seen that its client is gone. */
function isCommitted(database: PostgresDatabase, waiting: RetryWaiting, transaction: unknown): Promise<boolean> {
  return readOften(database, waiting, async (connection) => {
    const { rows } = await connection.query('select pg_xact_status($1::xid8) as status', [transaction]);
    const status = rows[0]?.['status'];
    if (status === 'in progress') throw new UnknownOutcome(null);
    return status === 'committed';
  });
}
