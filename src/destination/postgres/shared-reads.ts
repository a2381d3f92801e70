import type { PostgresTransaction, TransactionWork } from './transaction.ts';

/** A read, and what its caller learns. */
interface WaitingRead {
  run(inside: PostgresTransaction): Promise<unknown>;
  fail(error: unknown): void;
}

/**
 * Reads that wait for a connection at the same time share one transaction, and what several of them ask is asked once.
 * If a statement fails, its own read fails, and so do those that the server then refuses; they may be retried.
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
      // It may have failed before any read has begun.
      stopWaiting();
      for (const { fail } of batch) fail(error);
    });
  };
  return <Done>(work: TransactionWork<Done>) =>
    new Promise<Done>((resolve, reject) => {
      const isFirst = waiting.push({ run: (inside) => work(inside).then(resolve, reject), fail: reject }) === 1;
      if (isFirst) begin(waiting);
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
