import { sqlStateOf } from './server-error.ts';
import { type PostgresTransaction, REFUSED, type TransactionWork } from './transaction.ts';

/** A read, and how to report that it could not run. */
interface WaitingRead {
  run(inside: PostgresTransaction): Promise<unknown>;
  fail(error: unknown): void;
}

/**
 * Reads that wait for a connection at the same time share one transaction, and identical statements are sent once. If a
 * statement fails, its own read fails. Those that the server then refuses are repeated, each in its own transaction.
 */
export function shareReads(
  transact: (work: TransactionWork<unknown>) => Promise<unknown>,
): <Done>(work: TransactionWork<Done>) => Promise<Done> {
  let waiting: WaitingRead[] = [];
  const begin = (batch: readonly WaitingRead[]): void => {
    const stopWaiting = (): void => {
      if (waiting === batch) waiting = [];
    };
    const runAll: TransactionWork<unknown> = async (inside) => {
      stopWaiting();
      const shared = batch.length > 1 ? askingOnce(inside) : inside;
      await Promise.all(batch.map((read) => read.run(shared)));
    };
    transact(runAll).catch((error: unknown) => {
      stopWaiting();
      for (const { fail } of batch) fail(error);
    });
  };
  return <Done>(work: TransactionWork<Done>) =>
    new Promise<Done>((resolve, reject) => {
      let hasRun = false;
      const run: WaitingRead['run'] = (inside) => {
        hasRun = true;
        return work(inside).then(resolve, (error: unknown) => {
          if (sqlStateOf(error) !== REFUSED) reject(error);
          else transact(work).then((done) => resolve(done as Done), reject);
        });
      };
      // If the transaction fails after the read has run, the read has its own result.
      const fail = (error: unknown): void => void (hasRun || reject(error));
      if (waiting.push({ run, fail }) === 1) begin(waiting);
    });
}

function askingOnce(inside: PostgresTransaction): PostgresTransaction {
  const answers = new Map<string, ReturnType<PostgresTransaction['query']>>();
  return {
    send: inside.send,
    query(text, values) {
      const key = JSON.stringify([text, values]);
      const answer = answers.get(key) ?? inside.query(text, values);
      answers.set(key, answer);
      return answer;
    },
  };
}
