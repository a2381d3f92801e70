import { DatabaseError } from 'pg';
import { LostConnection } from '../../src/destination/postgres/lost-connection.ts';
import type { PostgresConnection } from '../../src/destination/postgres/transaction.ts';
import {
  inTransaction,
  type PostgresDatabase,
  type TransactionUse,
  type TransactionWork,
} from '../../src/destination/postgres/transaction.ts';

/**
 * The connection breaks before the statement is sent or before its result arrives, or the transaction has a conflict.
 */
export type BreakKind = 'unsent' | 'unanswered' | 'conflict';

/** A schema on one connection that breaks at some statements. */
export interface BreakingDatabase extends PostgresDatabase {
  /** How often it broke. */
  readonly breaks: () => number;
}

interface BreakOptions {
  readonly schema: string;
  readonly kind: BreakKind;
  /** It breaks at the `nth` of this many statements. The statement moves by one with every transaction. */
  readonly every: number;
  readonly nth: number;
}

class Conflict extends DatabaseError {
  override readonly code = '40001';

  constructor(message: string) {
    super(message, message.length, 'error');
  }
}

/** A retried transaction breaks at a later statement, so it succeeds after some attempts. */
export function breakingDatabase(
  server: PostgresConnection,
  { schema, kind, every, nth }: BreakOptions,
): BreakingDatabase {
  let [last, done, breaks]: [Promise<unknown>, number, number] = [Promise.resolve(), 0, 0];
  /** Failures since the last success, by use: a read between two attempts of a write must not make it break again. */
  const triesOf = new Map<TransactionUse, number>();

  async function attempt<Done>(work: TransactionWork<Done>, use: TransactionUse = 'write'): Promise<Done> {
    const tries = triesOf.get(use) ?? 0;
    const breakAt = ((nth + every - (done % every)) % every) + tries * every;
    const { rows } = await server.query(`select last_value, is_called from "${schema}".sync_runs_id_seq`);
    const connection = breakingConnection(server, { kind, breakAt });
    try {
      const result = await inTransaction(connection, { schema, use }, work);
      done += 1;
      triesOf.set(use, 0);
      return result;
    } catch (error) {
      triesOf.set(use, tries + 1);
      breaks += 1;
      await server.query('rollback');
      // Run ids must have no gaps, because SQLite's have none.
      if (!connection.isCommitted())
        await server.query(`select setval('"${schema}".sync_runs_id_seq', $1::bigint, $2::bigint <> 0)`, [
          rows[0]?.['last_value'],
          rows[0]?.['is_called'],
        ]);
      throw error;
    }
  }

  return {
    transaction(work, use) {
      const next = last.then(() => attempt(work, use));
      last = next.catch(() => undefined);
      return next;
    },
    session: (work) => work(server),
    close: async () => undefined,
    breaks: () => breaks,
  };
}

interface BreakingConnection extends PostgresConnection {
  isCommitted(): boolean;
}

/** Breaks at statement number `breakAt`, from 0, and answers nothing from then on. */
function breakingConnection(
  server: PostgresConnection,
  { kind, breakAt }: { readonly kind: BreakKind; readonly breakAt: number },
): BreakingConnection {
  let [sent, isBroken, isCommitted] = [0, false, false];
  return {
    isCommitted: () => isCommitted,
    async query(text, values) {
      const number = sent++;
      if (isBroken && kind !== 'conflict') throw new LostConnection('broken');
      // The server rolls back a transaction in which a statement failed, even at a commit.
      if (isBroken) return server.query('rollback');
      const isHere = number === breakAt;
      isBroken ||= isHere;
      if (isHere && kind === 'unsent') throw new LostConnection('broken');
      // Nobody waits for the commit of a transaction that changed nothing, so nobody would roll it back either.
      if (isHere && kind === 'conflict' && text === 'commit') await server.query('rollback');
      if (isHere && kind === 'conflict') throw new Conflict('another transaction was first');
      const answer = await server.query(text, values);
      isCommitted ||= text === 'commit';
      if (isHere) throw new LostConnection('broken');
      return answer;
    },
  };
}
